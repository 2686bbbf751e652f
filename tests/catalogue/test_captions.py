"""What captions say is true of the runs: laws over all results that are shipped."""

import functools
import re

import numpy as np
import pytest

from lab.catalogue.figure import EARLIER, WIDTH
from lab.catalogue.registry import entries, entry
from lab.catalogue.shipped import read, shipped_results
from lab.plots.caption import counted, signed, wrap

SHIPPED = sorted(name for name in entries() if shipped_results(name, "laptop").facts)
every_entry = pytest.mark.parametrize("name", SHIPPED)
LESS = re.compile(r"(?<![\w.,:)\]–/−-])[-−]0(\.0+)?(?![\d.,]*\d)")  # minus nothing
IMAGE_SETS = {"house numbers": "svhn", "SVHN": "svhn", "CIFAR": "cifar"}


@functools.cache
def shipped(name):
    return read(entry(name), "laptop")


@functools.cache
def specs(name):
    return [spec for _, spec in made_of(name).plan("laptop", len(shipped(name).provenance["seeds"]))]


def made_of(name):
    """The entry, or the part of it that is shipped."""
    found, facts = entry(name), shipped(name).provenance
    return found.for_tasks(facts["tasks"]) if "tasks" in facts else found


@every_entry
def test_steps_are_those_that_the_runs_take(name):
    if not specs(name) or EARLIER in shipped(name).provenance:
        return
    (told,) = re.findall(r"Steps: (.*?)\. (?:Probes|Data)", shipped(name).caption)
    numbers = re.findall(r"(?<![\w^])\d[\d,]*(?= and|$|, )", told)
    assert {int(number.replace(",", "")) for number in numbers} >= {spec.recipe.last for spec in specs(name)}
    table = shipped(name).table
    if "last" in table and (table["last"] > 1).any():  # a step, and not an accuracy
        assert {f"{step:,}" for step in table["last"].unique()} <= set(re.findall(r"[\d,]*\d", told))


@every_entry
def test_what_is_shown_names_only_data_that_the_runs_have(name):
    sources = " ".join(source["name"] for source in shipped(name).provenance["data"])
    for words, source in IMAGE_SETS.items():
        if words in entry(name).shows:
            assert source in sources, f"{words} are shown, and the data are {sources}"


@every_entry
def test_one_of_a_thing_is_not_many(name):
    said = shipped(name).full_caption
    assert not re.search(r"(?<![\d.,])1 (runs|searches|seeds|examples|problems|tasks)\b", said)
    assert not LESS.search(said), "less than nothing"
    first, *more = re.findall(r"seeds (\d+) to (\d+)", said) or [("0", "1")]
    assert all(a != b for a, b in [first, *more])


@every_entry
def test_negative_numbers_have_one_sign(name):
    assert not re.search(r"(?:^|[\s(\[=])-\.?\d", shipped(name).full_caption + shipped(name).short_caption)


def test_counted_numbers_agree_with_their_nouns():
    assert counted(1, "run") == "1 run" and counted(0, "run") == "0 runs" and counted(2, "search", "searches")[2] == "s"


def test_no_difference_is_less_than_nothing():
    for places in (0, 1, 2):
        for value in np.linspace(-1.5, 1.5, 301).tolist():
            said = signed(value, places)
            assert not LESS.search(f"mano {said}, add") and float(said.replace("−", "-")) == round(value, places), said


@every_entry
def test_departures_are_those_of_the_settings(name):
    one = shipped(name)
    told = [*made_of(name).notes("laptop"), *made_of(name).origin.departures("laptop")]
    assert one.provenance["departures"] == told or EARLIER in one.provenance
    assert EARLIER not in one.provenance or one.provenance[EARLIER] in one.caption
    assert all(told in one.caption for told in one.provenance["departures"])


@every_entry
def test_an_image_says_what_is_seen_and_the_result_and_a_page_the_rest(name):
    one = shipped(name)
    seen, result, *earlier = one.headline.splitlines()
    assert len(earlier) == (EARLIER in one.provenance)
    assert seen == f"{entry(name).shows}." and one.summary in result and entry(name).paper_says in result
    assert "Departures" not in one.short_caption and "Scale laptop" not in one.short_caption
    assert "Departures" in one.details and "Scale laptop" in one.details
    page = one._caption_page()
    assert page.index("<details>") > page.index("Paper: ")


@every_entry
def test_an_image_has_two_rows_of_what_is_seen_and_three_of_the_result(name):
    others = [scale for scale in entry(name).scales if scale != "laptop" and shipped_results(name, scale).facts]
    for one in [shipped(name), *(read(entry(name), scale) for scale in others)]:
        seen, result, *earlier = one.headline.splitlines()
        assert len(wrap(seen, WIDTH)) <= 2, seen
        assert len(wrap(result, WIDTH)) <= 3, result
        assert len(earlier) <= 1 and all(len(wrap(line, WIDTH)) <= 2 for line in earlier)
