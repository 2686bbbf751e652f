"""docs/calibration.md: every probe is there, and says what can be written down."""

import doctest
import re
from pathlib import Path

from lab import probes

PAGE = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text(encoding="utf-8")


def test_the_page_says_what_the_probes_say():
    examples = doctest.DocTestParser().get_doctest(re.sub("```(python)?", "", PAGE), {}, "calibration.md", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.tries > 40 and not runner.failures


def test_no_probe_is_left_out_and_none_is_long():
    sections = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)[1:]
    titles = ", ".join(sections[::2]).split(", ")
    assert set(probes.__all__) <= set(titles)
    assert all(len(re.findall(r"^(?!```).+$", text, re.MULTILINE)) <= 12 for text in sections[1::2])
