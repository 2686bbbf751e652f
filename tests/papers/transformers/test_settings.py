"""Hyper-parameters: the paper's are the paper's, others say where they are from, sweeps chose what they claim."""

import pandas as pd
import pytest

from lab import tasks
from lab.catalogue.registry import entries
from lab.errors import ArgumentError
from lab.models.transformer import Transformer
from lab.papers.hypernetwork import settings
from lab.papers.hypernetwork.settings import origin as hyper_origin
from lab.papers.transformers.settings import CHEAP, origin, setting
from lab.papers.transformers.sweep import RATES, SEARCHED, best, best_choice, best_knot_rate
from lab.places import RESULTS
from lab.scale import COMMON
from lab.tasks.named import learned

TASKS = set(tasks.NAMES)
every_task = pytest.mark.parametrize("task", tasks.NAMES)
SWEEPS = RESULTS / "transformers" / "sweep"

# Table 4 of the paper: steps, peak rate, width, and the step at which App. B reads the matrix.
TABLE_4 = {
    "memorize": (500, 0.005, 32, 150),
    "addmod": (1000, 0.02, 32, 300),  # the rate is the one exception
    "add": (1000, 0.001, 128, 700),
    "addreversed": (1000, 0.001, 128, 350),
    "mano": (5000, 0.001, 128, 3000),
    "haystack": (1000, 0.001, 128, 400),
    "copy": (2000, 0.004, 128, 2000),
    "parentheses": (500, 0.001, 32, 300),
}


@every_task
def test_paper_scale_is_the_papers(task):
    base = setting(task, "paper")
    steps, rate, width, read = TABLE_4[task]
    assert (base.recipe.steps, base.model.width, base.read) == (steps, width, read)
    assert base.recipe.rate == rate or task == "addmod", "the printed rate of ADDMOD trains no baseline here"
    assert (base.recipe.warmup, base.recipe.cooldown) == (0.05, 0.5)
    assert base.models == (3 if task in ("addreversed", "copy", "mano") else 8), "the cheaper reading of the table"
    assert base.search().knots == 361 and (base.search().high - base.search().low) / 360 == pytest.approx(1 / 9)
    assert base.evaluate == ("test",)


@every_task
@pytest.mark.parametrize("scale", COMMON)
def test_settings_make_models(task, scale):
    base, data = setting(task, scale), tasks.load(task)
    assert base.model.width % base.model.heads == 0 and base.recipe.batch <= len(data.training)
    if scale == "smoke":
        import torch

        model = Transformer(base.model, len(data.vocabulary), data.max_length, [0], torch.nn.GELU())
        assert sum(p.numel() for p in model.parameters()) < 20_000, "smoke takes seconds"


def test_unknown_scales_and_tasks_are_named():
    with pytest.raises(ArgumentError, match="'tiny'; known: smoke, laptop, paper"):
        setting("copy", "tiny")


@pytest.mark.parametrize("scale", COMMON)
@pytest.mark.parametrize("name", [name for name, one in entries("transformers").items() if set(one.tasks) <= TASKS])
def test_every_number_has_a_source(name, scale):
    names = entries()[name].tasks
    found = origin(names).hyperparameters(scale)
    for task in names:
        own = {label.split(": ")[1]: fact for label, fact in found.items() if label.startswith(f"{task}: ")}
        base = setting(task, scale)
        assert own["steps"]["value"] == base.recipe.steps and own["peak rate"]["value"] == base.recipe.rate
        assert own["width"]["value"] == base.model.width and own["M"]["value"] == base.models
        for fact in own.values():
            assert fact["from"] and any(word in fact["from"] for word in ("paper", "sweep", "guess", "reduced"))
        for label in ("steps", "width"):
            is_papers = own[label]["value"] == TABLE_4[task][0 if label == "steps" else 2]
            assert own[label]["from"].startswith("paper") == is_papers


@pytest.mark.parametrize("scale", COMMON)
@pytest.mark.parametrize("task", ["logic", "sraven"])
def test_every_number_of_the_hypernetwork_paper_has_a_source(task, scale):
    its, base = hyper_origin(task), getattr(settings, task)(scale)
    found = {label.split(": ")[1]: fact for label, fact in its.hyperparameters(scale).items()}
    assert found["steps"]["value"] == base.recipe.steps and found["width"]["value"] == base.model.width
    rate = list(base.rates) if scale == "paper" else base.recipe.rate
    assert found["peak rate"]["value"] == rate
    told = "; ".join(its.departures(scale))
    assert (scale == "paper") == (told == ""), "nothing departs at paper scale"
    for name, fact in found.items():
        assert fact["from"].startswith(("paper", "reference code", "sweep on val", "reduced"))
        assert fact["from"].startswith(("reduced", "sweep")) == (f"{name} {fact['value']} (paper" in told)


def test_departures_name_what_differs_and_nothing_else():
    (told,) = origin(tasks.NAMES, matrix=True).departures("paper")
    assert told == f"addmod: peak rate {setting('addmod', 'paper').recipe.rate} (paper 0.02)"
    for task in tasks.NAMES:
        told = "; ".join(origin([task], matrix=True).departures("laptop"))
        here, paper = setting(task, "laptop"), setting(task, "paper")
        for label, ours, theirs in (
            ("width", here.model.width, paper.model.width),
            ("steps", here.recipe.steps, paper.recipe.steps),
            ("batch", here.recipe.batch, paper.recipe.batch),
            ("peak rate", here.recipe.rate, TABLE_4[task][1]),
            ("M", here.models, paper.models),
            ("matrix read at step", here.read, paper.read),
        ):
            assert (f"{label} {ours} (paper {theirs})" in told) == (ours != theirs)
        assert "matrix read" not in "".join(origin([task]).departures("laptop"))


@every_task
def test_baselines_have_the_rate_that_the_sweep_chose(task):
    if task in CHEAP:
        assert setting(task, "laptop") == setting(task, "paper")
        return
    table = pd.read_csv(SWEEPS / "laptop" / "sweep.csv")
    assert setting(task, "laptop").recipe.rate == best(table)[task]


def test_where_the_printed_rate_trains_nothing_a_sweep_chose_another():
    table = pd.read_csv(SWEEPS / "paper" / "sweep.csv")
    table = table[table["task"] == "addmod"]
    assert setting("addmod", "paper").recipe.rate == best(table)["addmod"]
    assert table.loc[table["rate"] == 0.02, "last_accuracy"].max() < 0.05, "chance is 1 in 97"


def test_a_batch_of_which_nothing_is_learned_gave_way_to_the_one_that_a_sweep_chose():
    table = pd.read_csv(SWEEPS / "laptop" / "batches.csv")
    recipe = setting("mano", "laptop").recipe
    assert best_choice(table, "batch") == {"mano": (recipe.batch, recipe.rate)}
    small = table[table["batch"] == 64]
    assert set(small["rate"]) == set(RATES["laptop"])
    assert not any(learned("mano", accuracy) for accuracy in small["last_accuracy"])


@pytest.mark.parametrize("task", ["haystack", "copy"])
def test_canon_layers_are_where_a_sweep_found_them_better(task):
    table = pd.read_csv(SWEEPS / "laptop" / "canon.csv")
    base = setting(task, "laptop")
    assert best_choice(table, "canon")[task] == (base.model.canon, base.recipe.rate)


def test_without_canon_layers_haystack_is_not_learned():
    table = pd.read_csv(SWEEPS / "laptop" / "canon.csv")
    plain = table[(table["task"] == "haystack") & ~table["canon"]]
    assert set(plain["rate"]) == set(RATES["laptop"])
    assert not any(learned("haystack", accuracy) for accuracy in plain["last_accuracy"])


@every_task
def test_knots_have_the_rate_that_the_sweep_chose(task):
    table = pd.read_csv(SWEEPS / "laptop" / "searches.csv")
    assert setting(task, "laptop").spline_rate == best_knot_rate(table)
    assert set(table["task"]) == set(SEARCHED)
    for name, rows in table.groupby("task"):
        base = setting(name, "laptop")
        assert set(rows["rate"]) == {base.recipe.rate}, "swept with another peak rate"
