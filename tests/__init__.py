"""Tests of the lab."""

import sys

# What nbformat imports for a check of addresses compiles 38 grammars, for seconds; see lab/plots/page.py.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
