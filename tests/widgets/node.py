"""Node, to run the page's modules without a page."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import widgets

PAGE = Path(widgets.__file__).parent / "page"
NODE = shutil.which("node") or shutil.which("nodejs")
REQUIRED = os.environ.get("LAB_REQUIRE_BROWSER") == "1"  # as the browser: a machine that lacks it must not pass
needs_node = pytest.mark.skipif(
    NODE is None and not REQUIRED, reason="node is not on the PATH (on Debian: apt install nodejs)"
)


def node(script: str, cases: object) -> object:
    """What a script prints as JSON, given `cases`; it is a module that may import those of the page by their names."""
    assert NODE, "node is not on the PATH (on Debian: apt install nodejs)"
    for path in PAGE.glob("*.js"):
        script = script.replace(f'"./{path.name}"', json.dumps(path.as_uri()))
    read = 'import { readFileSync } from "node:fs";\nconst cases = JSON.parse(readFileSync(0, "utf8"));\n'
    found = subprocess.run(
        [NODE, "--input-type=module", "--eval", read + script],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)
