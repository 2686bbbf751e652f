"""RESULTS.md is what the command prints today, every claim is on it once, and README quotes it."""

from pathlib import Path

import pytest

from lab.catalogue import scorecard
from lab.catalogue.registry import PAPERS
from lab.catalogue.scorecard import HEADINGS, as_markdown
from lab.papers.claims import OPEN, WORDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found():
    return scorecard.score()


def test_the_page_is_the_scorecards(found):
    """Where this fails: lab scorecard --markdown > RESULTS.md"""
    assert (ROOT / "RESULTS.md").read_text(encoding="utf-8") == as_markdown(found) + "\n"


def test_every_claim_is_there_once_under_its_verdict(found):
    paper, verdict, items = None, None, []
    verdicts = {heading: word for word, heading in HEADINGS.items()}
    names = {f"{title} (`{name}`)": name for name, title in PAPERS.items()}
    for line in as_markdown(found).splitlines():
        if line.startswith("## "):
            paper = names[line.removeprefix("## ")]
        elif line.startswith("### "):
            verdict = verdicts.get(line.removeprefix("### "))
        elif line.startswith("- **") and verdict:
            items.append((paper, verdict, line))
    assert len(items) == len(found["claims"])
    for row in found["claims"]:
        (line,) = [line for _, _, line in items if f"**{row['claim']}.**" in line and f"`{row['entry']}`" in line]
        where = next((paper, verdict) for paper, verdict, one in items if one == line)
        assert where == (row["entry"].partition("/")[0], row["verdict"])
    assert {verdict for _, verdict, _ in items} <= set(WORDS) == set(HEADINGS)


def test_what_is_open_says_what_would_decide_it(found):
    lines = as_markdown(found).splitlines()
    for row in found["claims"]:
        if row["verdict"] in OPEN and row["decides"]:
            assert any(
                f"**{row['claim']}.**" in line and f"Would decide it: {row['decides']}" in line for line in lines
            )


def test_readme_quotes_the_page(found):
    """Its list of results is a choice of the page's lines."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("Some lines of RESULTS.md follow")[2].partition("\n## ")[0]
    quoted = [line for line in section.splitlines() if line.startswith("- ")]
    assert 6 <= len(quoted) <= 12
    assert set(quoted) <= set(as_markdown(found).splitlines())
