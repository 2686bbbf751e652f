"""A law over all settings of training: one that is changed changes what is trained, or is refused in one line.

A new setting has no case here, and is reported.
"""

import inspect

import pytest
import torch
from torch import nn

import lab
from lab.errors import ArgumentError
from lab.own.search import TRAINING, search_by_episodes, search_by_two_losses
from lab.training.modules.fleet import OPTIMIZERS, SCHEDULES
from tests.training import own

# What is trained, where, how it is shown, what is kept of it, and how it is computed, which decides rounding alone.
WHERE = {"keep", "data", "task", "model", "name", "device", "store", "progress", "scale", "side_by_side", "threads"}
USUAL = {"steps": 6, "rate": 0.01, "batch": 32, "every": 2, "side_by_side": "loop", "progress": False}
CHANGED = {
    "steps": 8,
    "rate": 0.02,
    "batch": 16,
    "every": 3,
    "optimizer": "sgd",
    "schedule": "constant",
    "decay": 0.5,
    "momentum": 0.5,
    "warmup": 0.5,
    "cooldown": 0.9,
    "precision": "bfloat16",
    "replace": "1",
    "per_channel": True,
    "seed": 1,
}
OF_COMPARE = CHANGED | {
    "functions": {"a": "tanh"},
    "seeds": 2,
    "searches": 2,
    "rates": [0.01, 0.1],
    "tuning_seeds": 3,
}
OF_SPLINES = CHANGED | {"spline_rate": 0.1, "low": -4.0, "high": 4.0, "knots": 11, "start": "relu"}
OF_TWO_LOSSES = OF_SPLINES | {"models": 3}
OF_EPISODES = OF_SPLINES | {"restarts": 3, "episodes": 4, "window": 1}
OF_TRAIN = {
    "mlp": "tanh",
    "attention": "linear",
    "seeds": 2,
    "steps": 2,
    "width": 24,
    "layers": 3,
    "rate": 0.05,
    "batch": 5,
    "optimizer": "adam",
    "phi": "tanh",  # of a run that is named by like=, which stands in the place of a task
    "like": "a run",
    "trajectory": 1,
}


def outcome(call, **given):
    """What is trained, as text that equal numbers share; or what is said, and then nothing is trained."""
    try:
        result = call(**given)
    except ArgumentError as error:
        assert "\n" not in str(error)
        return None
    if isinstance(result, lab.Comparison):
        models = [(run.function, run.spec.seed) for run in result.runs]
        weights = [weight.tolist() for one in models for weight in result.model(*one).parameters()]
        return repr((models, weights, result.curves.drop(columns="rate").to_dict(), len(result.tuning_runs)))
    if isinstance(result, lab.Runs):
        return repr([(run.steps, run.loss, {n: t.tolist() for n, t in run._stored[1].items()}) for run in result])
    return repr((result.spline, result.spline.values.tolist(), {n: h.tolist() for n, h in result.history.items()}))


def compare(**given):
    given = {"replace": nn.GELU, "functions": {"a": "relu"}, "seeds": 1} | USUAL | given
    return lab.compare(own.signs(), own.mlp, **given)


def two_losses(**given):
    return lab.search(own.signs(), model=own.mlp, **({"replace": nn.GELU, "models": 2} | USUAL | given))


def episodes(**given):
    usual = USUAL | {"steps": 3, "restarts": 2, "episodes": 3, "window": 2}
    del usual["every"]
    return lab.search(own.signs(), model=own.mlp, by="episodes", **({"replace": nn.GELU} | usual | given))


def parameters(*calls):
    """Their names, with those of training where they take these."""
    named = {n: p for call in calls for n, p in inspect.signature(call).parameters.items()}
    plain = {n for n, p in named.items() if p.kind is not p.VAR_KEYWORD}
    return (plain if len(plain) == len(named) else plain | set(TRAINING)) - WHERE


def test_every_setting_has_a_case():
    assert parameters(lab.compare) <= set(OF_COMPARE)
    assert parameters(search_by_two_losses) <= set(OF_TWO_LOSSES)
    assert parameters(search_by_episodes) <= set(OF_EPISODES)
    assert parameters(lab.train) <= set(OF_TRAIN)


@pytest.fixture(scope="module")
def usual():
    """What each call gives as it is, computed once."""
    known = {}

    def of(call, **given):
        key = call.__name__, repr(given)
        known[key] = known[key] if key in known else outcome(call, **given)
        assert known[key] is not None
        return known[key]

    return of


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (call, name)
        for call, cases in ((compare, OF_COMPARE), (two_losses, OF_TWO_LOSSES), (episodes, OF_EPISODES))
        for name in cases
    ],
)
def test_a_setting_changes_what_is_trained_or_is_refused(call, name, usual):
    changed = {compare: OF_COMPARE, two_losses: OF_TWO_LOSSES, episodes: OF_EPISODES}[call][name]
    assert outcome(call, **{name: changed}) != usual(call)


@pytest.mark.parametrize("name", ["decay", "momentum", "warmup", "cooldown"])
def test_what_an_optimizer_or_a_schedule_does_not_have_is_refused(name, usual):
    which, choices = ("optimizer", OPTIMIZERS) if name in ("decay", "momentum") else ("schedule", SCHEDULES)
    for choice in choices:
        assert outcome(compare, **{which: choice, name: CHANGED[name]}) != usual(compare, **{which: choice})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"decay": 0.1}, "decay=0.1: adam has no decay; give optimizer='adamw', or leave decay out"),
        ({"schedule": "cosine", "cooldown": 0.1}, "cosine has no cooldown; give schedule='trapezoid'"),
        ({"rates": [0.1, 0.2]}, "rate=0.01 and rates: give one of the two"),
        ({"by": "episodes"}, "every=2: a search by episodes looks at the end of training alone"),
        ({"tuning_seeds": 3}, "tuning_seeds=3: there is no rate to choose"),
    ],
)
def test_what_is_refused_says_what_takes_it(given, said):
    with pytest.raises(ArgumentError, match=said):
        episodes(every=2) if "by" in given else compare(**given)


def test_zero_of_what_a_constant_schedule_does_not_have_is_what_it_does(usual):
    given = {"schedule": "constant", "warmup": 0, "cooldown": 0}
    assert outcome(compare, **given) == usual(compare, schedule="constant")


@pytest.mark.parametrize("task", ["memorize", "ab mod 5"])
@pytest.mark.parametrize("name", OF_TRAIN)
def test_a_setting_of_train_changes_what_is_trained_or_is_refused(task, name, usual):
    def train(**given):
        return lab.train(task, scale="smoke", progress=False, **({"seeds": 1, "steps": 3} | given))

    train.__name__ = task
    assert outcome(train, **{name: OF_TRAIN[name]}) != usual(train)


def test_threads_are_part_of_what_a_result_is_known_by(store_folder):
    """Another number rounds otherwise: sums of several thousand numbers are cut elsewhere."""
    before, keys = torch.get_num_threads(), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            keys.append(compare(name="mine").runs[0].spec)
        keys.append(compare(name="mine", threads=1).runs[0].spec)
    finally:
        torch.set_num_threads(before)
    assert keys[0] == keys[2] and [key.recipe.threads for key in keys] == [1, 2, 1]
    assert len({lab.spec.key(key) for key in keys}) == 2
