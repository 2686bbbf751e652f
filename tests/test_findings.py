"""docs/findings.md: every number with an interval is that of a shipped table, every picture the one that ships."""

import re

import pytest

from lab.catalogue.registry import entry
from lab.catalogue.shipped import resolve_scale
from tests.findings import NUMBERS
from tests.processes import ROOT

PAGE = ROOT / "docs" / "findings.md"
SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
NUMBER = re.compile(r"-?\d[\d.]* \[[^\]]+\]")


def shown(section):
    """Names, scales and paths of its pictures."""
    return re.findall(r"!\[[^]]+\]\((\.\./data/results/(\w+/\w+)/(\w+)/figure\.png)\)", section)


def test_each_finding_has_one_picture_that_ships_and_the_command_that_draws_it():
    assert len(SECTIONS) == 12
    for section in SECTIONS:
        ((path, name, scale),) = shown(section)
        assert (PAGE.parent / path).is_file() and scale == resolve_scale(entry(name))
        assert f"*`lab figure {name} --scale best`*" in section
    assert [name for section in SECTIONS for _, name, _ in shown(section)] == list(NUMBERS)


@pytest.mark.parametrize("section", SECTIONS, ids=list(NUMBERS))
def test_each_number_is_that_of_the_shipped_table(section):
    """Where this fails, `python -m tests.findings` says what the page has to."""
    ((_, name, _),) = shown(section)
    assert NUMBER.findall(" ".join(section.split())) == NUMBERS[name]()


def test_the_readme_leads_there():
    assert "docs/findings.md" in (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[2]
