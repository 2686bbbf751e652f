"""Results that need no training are what they were: plans, settings, figures, words and verdicts of the catalogue.

Figures that are shipped are drawn in tests/catalogue/test_shipped_figures.py.
"""

import pytest

from lab.catalogue.registry import PAPERS, entries
from tests import oracle

AGAIN = "if that is meant: python tests/oracle.py --write; what it is: python tests/oracle.py --show NAME"


@pytest.mark.parametrize("paper", PAPERS)
def test_nothing_has_changed(paper):
    names = oracle.digests(paper, draws=False)
    expected = {name: one for name, one in oracle.written().items() if name.startswith(f"{paper}/")}
    expected = {name: one for name, one in expected.items() if not oracle.is_drawn(name)}
    assert len(expected) > 10
    assert oracle.differences(expected, names) == [], AGAIN


def test_the_scorecard_reads_as_before():
    assert oracle.digest(oracle.scorecard()) == oracle.written()["scorecard"], AGAIN


def test_the_file_has_every_figure_that_is_shipped():
    drawn = {tuple(name.split()[:2]) for name in oracle.written() if oracle.is_drawn(name)}
    assert drawn == {(name, scale) for name in entries() for scale in oracle.shipped(name)}


def test_the_file_names_every_paper_and_nothing_else():
    assert {name.partition("/")[0] for name in oracle.written()} == {*PAPERS, "scorecard"}


def test_numbers_that_a_processor_rounds_otherwise_are_equal_and_others_not():
    values = [{"a": (0.1 + 0.2, -0.0, 2.0)}, {"a": [0.3, 0, 2]}, {"a": [0.30001, 0, 2]}]
    first, same, other = (oracle.digest(oracle.plain(value)) for value in values)
    assert first == same != other


def test_arrays_are_read_as_lists():
    packed = {"dtype": "f8", "bdata": "AAAAAAAA8D8AAAAAAAD4fw==", "shape": "2, 1"}
    assert oracle.plain(oracle.unpacked(packed)) == [[1], [None]]


def test_differences_are_named():
    lines = oracle.differences({"a": "1", "b": "1", "c": "1"}, {"b": "1", "c": "2", "d": "1"})
    assert lines == ["gone: a", "changed: c", "added: d"]
