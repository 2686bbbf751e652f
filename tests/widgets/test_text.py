"""TextExplorer and PairsExplorer: what is drawn is what the probes say of the stored runs; bad input is said."""

import html
import re

import numpy as np
import pytest

from lab.api import train
from lab.data.sentences import Pair
from lab.errors import ArgumentError
from lab.plots.caption import signed
from lab.plots.style import BLUE, GREY, colour
from lab.probes.language import continuation, minimal_pairs, reader_of, token_losses
from lab.tasks import Text
from lab.widgets.text import DISAGREE, EVERY, EXAMPLE, OWN, PairsExplorer, TextExplorer, inks, typed, unseen

TEXT = Text("moby_dick", context=48)
pytestmark = pytest.mark.usefixtures("own_store")
PAIRS = [
    Pair("one", "agreement", "He sees it.", "He see it."),
    Pair("one", "agreement", "They see it.", "They sees it."),
    Pair("two", "islands", "Who left?", "Left who?"),
]


@pytest.fixture(scope="module")
def runs(own_store):
    gelu, relu = (train(TEXT, mlp=name, seeds=1, scale="smoke", progress=False)[0] for name in ("gelu", "relu"))
    return {"GELU": gelu, "ReLU": relu}


def colours(text):
    return [float(found) for found in re.findall(r"background: light-dark\(rgba\([\d, ]+, ([\d.]+)\)", text)]


def test_every_token_is_as_dark_as_its_loss(runs):
    explorer = TextExplorer(runs, "Call me Ishmael.")
    assert explorer.error.value == ""
    expected = []
    for run in runs.values():
        found = token_losses(run.model(), run.spec.task, "Call me Ishmael.")
        expected += np.minimum(np.nan_to_num(found.nats) / 6, 1).tolist()
        assert f"{found.bits:.2f} bits a character" in explorer.status.value
    shown = colours(explorer.heat.value)
    assert shown[: len(expected)] == pytest.approx(expected, abs=0.006)
    assert len(shown) == 3 * len("Call me Ishmael."), "two models, and their difference"
    assert [line.name for line in explorer.curves.data] == ["GELU", "ReLU"]


def test_a_model_has_the_colour_of_its_method(runs):
    gelu, relu = runs.values()
    named = {"baseline": gelu, "learned MLP": relu}
    explorer = TextExplorer(named, "Call me Ishmael.")
    assert [line.line.color for line in explorer.curves.data] == [colour("baseline"), colour("learned MLP")]
    explorer.first.value, explorer.second.value = "learned MLP", "baseline"
    assert [line.line.color for line in explorer.curves.data] == [colour("learned MLP"), colour("baseline")]
    pairs = PairsExplorer({"softmax attention": gelu, "HYLA": relu}, PAIRS)
    assert [bar.marker.color for bar in pairs.bars.data] == [colour("softmax"), colour("hyla")]
    assert inks(["mine", "baseline"]) == [BLUE, GREY] and inks(["mine", "other"]) == [GREY, BLUE]
    assert inks(["baseline", "ALiBi"]) == [GREY, BLUE], "two of one colour are told apart"
    assert inks(["learned MLP"] * 2) == [BLUE] * 2, "one model twice"


def test_a_text_of_ones_own_is_read_and_gone_on_with(runs):
    explorer = TextExplorer(runs)
    task = runs["GELU"].spec.task
    assert explorer.text.value == unseen(task) and len(explorer.text.value) > 100
    explorer.text.value = "The whale <b>"
    assert explorer.error.value == "" and "&lt;" not in explorer.heat.value, "the vocabulary has no such sign"
    assert "lacks a part" in explorer.status.value
    explorer.count.value, explorer.second.value = 12, "GELU"
    explorer.generate.click()
    more = continuation(runs["GELU"].model(), task, explorer.text.value, 12, 0.8, 0)
    assert f"<b>{more}</b>" in html.unescape(explorer.written.value)
    assert explorer.written.value.count("<b>GELU</b>") == 1
    explorer.text.value = "€"
    assert "give 2 to" in explorer.error.value


def test_it_is_saved_as_it_stands(runs, tmp_path):
    explorer = TextExplorer(runs, "Call me Ishmael.")
    page = explorer.save(tmp_path / "text.html").read_text()
    assert "bits a character" in page and page.count('title=\\"') >= 3 * 16
    other = TextExplorer(runs)
    other.state = explorer.state
    assert other.heat.value == explorer.heat.value


def test_only_texts_are_read():
    with pytest.raises(ArgumentError, match="memorize.*give runs that predict the next token of a text"):
        TextExplorer(train("memorize", seeds=1, scale="smoke", progress=False))
    with pytest.raises(ArgumentError, match="there are no runs"):
        TextExplorer({})


def test_pairs_have_the_scores_of_the_probe(runs):
    explorer = PairsExplorer(runs, PAIRS)
    assert explorer.error.value == ""
    everything = [*PAIRS, *typed(explorer.own.value)]
    found = [minimal_pairs(run.model(), reader_of(run.spec.task), everything, "2023") for run in runs.values()]
    margins = [signed(one.good[0, 0] - one.bad[0, 0], 2) for one in found]
    first = explorer.table.value.split("<tr>")[2]
    assert "He sees it." in first and all(one in first for one in margins)
    for bar, one in zip(explorer.bars.data, found, strict=True):
        assert list(bar.y) == ["agreement", "islands", OWN]
        assert list(bar.x) == pytest.approx([100 * one.phenomena[name][0] for name in bar.y])
    explorer.show_only.value = DISAGREE
    apart = int((found[0].right != found[1].right).sum())
    assert (
        explorer.table.value.count("<tr>") == 1 + apart
        and f"{apart} of {len(everything)} pairs" in explorer.status.value
    )
    explorer.show_only.value, explorer.phenomenon.value = "all", "islands"
    assert explorer.table.value.count("<tr>") == 2 and "Left who?" in explorer.table.value


def test_pairs_that_are_too_long_are_left_out_and_said(runs):
    long = Pair("one", "agreement", "He sees it. " * 5, "He see it. " * 5)
    explorer = PairsExplorer(runs, [*PAIRS, long])
    assert explorer.error.value == "" and "left out: 1." in explorer.status.value
    assert explorer.table.value.count("<tr>") == 1 + len(PAIRS) + len(typed(EXAMPLE))


def test_without_blimp_it_says_so_and_takes_what_is_typed(runs, monkeypatch):
    def missing(each):
        raise ArgumentError("blimp is not here; lab data fetch blimp")

    monkeypatch.setattr("lab.widgets.text.pairs", missing)
    explorer = PairsExplorer(runs)
    assert explorer.phenomenon.options == (EVERY, OWN) and "lab data fetch blimp" in explorer.status.value
    explorer.own.value = "He runs. | He run.\n\nThey run. | They runs."
    assert explorer.table.value.count("<tr>") == 3
    explorer.own.value = "He runs."
    assert "is no pair" in explorer.error.value


@pytest.mark.parametrize("line", ["abc", "|", "one |", "| two", "one | two | three"])
def test_a_line_is_one_good_sentence_and_one_bad_one(line):
    with pytest.raises(ArgumentError, match="is no pair; write a good sentence"):
        typed(line)
