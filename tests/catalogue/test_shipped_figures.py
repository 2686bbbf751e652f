"""Every figure that is shipped is drawn once, and is asked everything: whether it is the oracle's and its table's,
whether its files are whole, and whether its caption is true of its runs."""

import functools
import gzip
import json
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import lab
from lab.catalogue import scorecard
from lab.catalogue.build import check
from lab.catalogue.figure import EARLIER, WIDTH, Figure
from lab.catalogue.registry import entry
from lab.catalogue.results import SEAL, Results, every
from lab.catalogue.shipped import resolve_scale, shipped_plan
from lab.papers.claims import judged_lines
from lab.papers.entry import Entry, sizes_beside_paper
from lab.places import RESULTS
from lab.plots.caption import SMALL, counted, signed, true_minus, wrap
from lab.plots.style import SIZE
from lab.spec import key
from tests import oracle
from tests.drawings import differences
from tests.test_oracle import AGAIN

COUNTED = ("hypernetwork/figA9", "hypernetwork/tableA2", "simplicity/fig10", "simplicity/fig27")  # nothing is trained
# Those of scale laptop first, so that a number stands for the same figure in both lists: pytest then asks all of one.
SHIPPED = sorted((one.folder for one in every(RESULTS)), key=lambda path: (path.name != "laptop", path))
LAPTOP = [folder for folder in SHIPPED if folder.name == "laptop"]
LESS = re.compile(r"(?<![\w.,:)\]–/−-])[-−]0(\.0+)?(?![\d.,]*\d)")  # minus nothing
IMAGE_SETS = {"house numbers": "svhn", "SVHN": "svhn", "CIFAR": "cifar"}


def of(folders):
    """A test of each of these figures."""
    ids = ["/".join(folder.parts[-3:]) for folder in folders]
    return pytest.mark.parametrize("one", folders, ids=ids, indirect=True, scope="module")


every_figure, every_entry = of(SHIPPED), of(LAPTOP)


@dataclass(frozen=True)
class Shipped:
    """A shipped figure. entry: or the part of it that is shipped; made: drawn anew."""

    name: str
    scale: str
    entry: Entry
    facts: dict
    made: Figure

    @functools.cached_property
    def specs(self):
        return [spec for _, spec in self.entry.plan(self.scale, len(self.made.provenance["seeds"]))]


@pytest.fixture(scope="module")
def one(request):
    folder = request.param
    name, scale = "/".join(folder.parts[-3:-1]), folder.name
    facts = Results(folder).facts
    found = entry(name).for_tasks(facts["tasks"]) if "tasks" in facts else entry(name)
    return Shipped(name, scale, found, facts, lab.figure(name, scale, progress=False))


@functools.cache
def written():
    return oracle.written()


@functools.cache
def verdicts(scale):
    return scorecard.score(scale)["claims"]


@every_figure
def test_it_is_the_one_that_the_oracle_has(one):
    name = f"{one.name} {one.scale}"
    expected = {each: digest for each, digest in written().items() if each.startswith(f"{name} ")}
    expected = {each: digest for each, digest in expected.items() if oracle.is_drawn(each)}
    drawn = {f"{name} {part}": oracle.digest(value) for part, value in oracle.drawn(entry(one.name), one.made)}
    assert oracle.differences(expected, drawn) == [], AGAIN


def words(drawn):
    """What a reader of a plot reads: all texts but those of its data."""
    if isinstance(drawn, dict):
        return [word for name, part in drawn.items() if name not in ("data", "template") for word in words(part)]
    return (
        [drawn]
        if isinstance(drawn, str)
        else [w for part in drawn for w in words(part)]
        if isinstance(drawn, list)
        else []
    )


@every_figure
def test_it_is_complete_and_belongs_to_the_settings(one):
    name, scale, found, facts, made = one.name, one.scale, one.entry, one.facts, one.made
    folder = RESULTS / name / scale
    check(facts)
    assert (facts["entry"], facts["scale"]) == (name, scale)
    assert bool(facts["runs"]) == (name not in COUNTED)
    assert all(re.fullmatch("[0-9a-f]{64}", run) for run in facts["runs"])
    told = json.loads(json.dumps(found.origin.hyperparameters(scale)))
    assert (facts["hyperparameters"] != told) == (EARLIER in facts), "older settings have to be marked"
    stated = {fact: value for fact, value in facts.items() if fact != SEAL}
    assert made.provenance == stated, "what it says of its runs is not today's: draw it anew"
    table = pd.read_csv(folder / "table.csv.gz")
    drawn = json.loads(gzip.decompress((folder / "figure.json.gz").read_bytes()))
    assert differences(json.loads(made.plot.to_json())["data"], drawn["data"]) == [], "the plot is not the table's"
    assert words(json.loads(made.to_json())) == words(drawn), "its words are not today's: draw it anew"
    assert made.table.equals(table)
    assert (EARLIER in facts) == ("before these settings changed" in made.short_caption), (
        "whoever sees the picture has to know"
    )
    reported = table[table["split"] == "test"] if "split" in table else table  # other seeds chose the rates on `val`
    assert set(reported.get("seed", facts["seeds"])) <= {*facts["seeds"]}
    files = {f"{name}.csv.gz" for name in facts["tables"]} | {"figure.json.gz", "provenance.json.gz"}
    files |= {"figure.png"} if scale == resolve_scale(entry(found.name)) else set()  # of the largest scale alone
    assert {path.name for path in folder.iterdir()} == files and facts["tables"].keys() == {"table", *made.extras}
    if EARLIER not in facts:
        assert len(facts["runs"]) == len({key(spec) for _, spec in shipped_plan(found, facts)})


# What captions say is true of the runs.


@every_entry
def test_steps_are_those_that_the_runs_take(one):
    if not one.specs or EARLIER in one.made.provenance:
        return
    (told,) = re.findall(r"Steps: (.*?)\. (?:Probes|Data)", one.made.caption)
    numbers = re.findall(r"(?<![\w^])\d[\d,]*(?= and|$|, )", told)
    assert {int(number.replace(",", "")) for number in numbers} >= {spec.recipe.last for spec in one.specs}
    table = one.made.table
    if "last" in table and (table["last"] > 1).any():  # a step, and not an accuracy
        assert {f"{step:,}" for step in table["last"].unique()} <= set(re.findall(r"[\d,]*\d", told))


@every_entry
def test_what_is_shown_names_only_data_that_the_runs_have(one):
    sources = " ".join(source["name"] for source in one.made.provenance["data"])
    for words, source in IMAGE_SETS.items():
        if words in entry(one.name).shows:
            assert source in sources, f"{words} are shown, and the data are {sources}"


@every_entry
def test_one_of_a_thing_is_not_many(one):
    said = one.made.full_caption
    assert not re.search(r"(?<![\d.,])1 (runs|searches|seeds|examples|problems|tasks)\b", said)
    assert not LESS.search(said), "less than nothing"
    first, *more = re.findall(r"seeds (\d+) to (\d+)", said) or [("0", "1")]
    assert all(a != b for a, b in [first, *more])


@every_entry
def test_negative_numbers_have_one_sign(one):
    assert not re.search(r"(?:^|[\s(\[=])-\.?\d", one.made.full_caption + one.made.short_caption)


def test_counted_numbers_agree_with_their_nouns():
    assert counted(1, "run") == "1 run" and counted(0, "run") == "0 runs" and counted(2, "search", "searches")[2] == "s"


def test_no_difference_is_less_than_nothing():
    for places in (0, 1, 2):
        for value in np.linspace(-1.5, 1.5, 301).tolist():
            said = signed(value, places)
            assert not LESS.search(f"mano {said}, add") and float(said.replace("−", "-")) == round(value, places), said


@every_entry
def test_departures_are_those_of_the_settings(one):
    told, made = [*one.entry.notes("laptop"), *one.entry.origin.departures("laptop")], one.made
    assert made.provenance["departures"] == told or EARLIER in made.provenance
    assert EARLIER not in made.provenance or made.provenance[EARLIER] in made.caption
    assert all(told in made.caption for told in made.provenance["departures"])


@every_entry
def test_an_image_says_what_is_seen_and_the_result_and_a_page_the_rest(one):
    found, made = entry(one.name), one.made
    seen, result, *more = made.headline.splitlines()
    card = [row for row in verdicts(one.scale) if row["entry"] == one.name and "tasks" not in one.facts]
    assert len(card) == (0 if "tasks" in one.facts else len(found.claims))
    judged = list(map(true_minus, judged_lines(card)))
    sizes = sizes_beside_paper(made.provenance["departures"])
    assert more[: len(judged)] == judged and len(more) == len(judged) + bool(sizes) + (EARLIER in made.provenance)
    assert not sizes or more[len(judged)] == true_minus(sizes)
    for row in card:
        word = "Not judged here" if row["reason"] else row["verdict"].capitalize()
        assert word in made.headline and true_minus(row["claim"]) in made.headline
    assert seen == f"{found.shows}." and made.summary in result and found.paper_says in result
    if "seed" in made.table and one.specs:
        reported = made.table[made.table["split"] == "test"] if "split" in made.table else made.table
        by = [name for name in ("task", "table", "method") if name in reported]
        counts = {rows["seed"].nunique() for _, rows in reported.groupby(by or (lambda row: 0))}
        most, fewest = max(counts), min(counts - {1} or counts)  # what is fitted once has one
        assert str(most) in re.findall(r"(\d+) seeds?\b", result)
        assert fewest == most or f"{fewest} to {most} seeds." in result
    assert "Departures" not in made.short_caption and "Scale laptop" not in made.short_caption
    assert "Departures" in made.details and "Scale laptop" in made.details
    page = made._caption_page()
    assert page.index("<details>") > page.index("Paper: ")


@every_figure
def test_an_image_has_two_rows_of_what_is_seen_and_three_of_the_result(one):
    seen, result, *more = one.made.headline.splitlines()
    assert len(wrap(seen, WIDTH)) <= 2, seen
    assert len(wrap(result, WIDTH)) <= 3, result
    assert all(len(wrap(line, WIDTH * SIZE / SMALL)) <= 3 for line in more)


@every_figure
def test_what_ships_of_its_runs_and_searches_is_of_its_revision(one):
    """A run or a function that ships is read in place of a training: then it has to be what the figure was drawn of."""
    for kind in ("runs", "searches"):
        for name in one.facts.get(kind, {}):
            if (done := RESULTS.parent / kind / name / "done.json").is_file():
                assert json.loads(done.read_text())["notes"]["arithmetic"] in one.facts["arithmetic"], name
