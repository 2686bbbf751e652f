"""What is guessed of gains: laws of the judge on planted tables, and what it says of the shipped ones."""

import numpy as np
import pandas as pd
import pytest
import torch

import lab
from lab.catalogue.prediction import gains, judge, predict_gain, properties
from lab.errors import ArgumentError


def planted(strength, seed=0):
    """Gains of 12 functions on 10 tasks, which follow a property, or only noise."""
    rng = np.random.default_rng(seed)
    rows = [(f"task {t}", f"phi {f}", x) for t in range(10) for f, x in enumerate(np.linspace(-2, 2, 12))]
    table = pd.DataFrame(rows, columns=["task", "function", "slope"]).assign(mean=rng.normal(size=120))
    return table.assign(gain=10 * strength * table["slope"] + 5 * rng.normal(size=120))


def test_a_planted_relation_is_seen_and_noise_is_not():
    seen, unseen = judge(planted(1), 5), judge(planted(0), 5)
    assert seen.predicts and seen.model.mean() < 0.6 * seen.constant.mean() and seen.shuffled.min() > seen.model.mean()
    assert not unseen.predicts and unseen.model.mean() == pytest.approx(unseen.constant.mean(), rel=0.1)


def test_a_task_is_judged_without_its_own_gains():
    table = planted(1)
    one = table["task"] == "task 0"
    moved = table.assign(gain=table["gain"].where(~one, table["gain"] + 1000))
    assert judge(moved, 1).model["task 0"] > 900, "a fit that had these gains would follow them"
    assert judge(table.sample(frac=1, random_state=0), 1).model.sort_index().to_numpy() == pytest.approx(
        judge(table, 1).model.sort_index().to_numpy()
    )


def test_properties_are_those_of_the_function_alone():
    relu = properties(torch.nn.ReLU())
    knots = properties(lab.Spline.from_function(torch.relu, -6.0, 6.0, 1201))
    assert relu.to_numpy() == pytest.approx(knots.to_numpy(), abs=0.02)
    assert relu[["mean", "linear"]].tolist() == pytest.approx([(2 * np.pi) ** -0.5, 0.5 / (1 - 1 / np.pi)], abs=0.01)
    assert properties(torch.nn.ReLU()).equals(relu)
    assert np.isfinite(gains().drop(columns=["task", "function"]).to_numpy()).all()


def test_a_guess_says_how_wrong_it_is():
    guess, again = predict_gain("tanh", "memorize"), predict_gain(torch.nn.Tanh(), "memorize")
    assert guess.gain == again.gain and guess.properties.equals(again.properties)
    others = gains().query("task != 'memorize'")["gain"]
    assert not guess.judgement.predicts and guess.gain == others.median() and "predict nothing" in str(guess)
    assert guess.error == pytest.approx(guess.judgement.constant.drop("memorize").mean())
    assert predict_gain("transformers/add", "mano").error > 0
    for phi, task in (("tanj", "memorize"), ("tanh", "memorise"), ("tanh", 3)):
        with pytest.raises(ArgumentError):
            predict_gain(phi, task)


def test_gains_on_a_sample_are_those_of_its_task():
    """What was measured on covertype_sample was in the guess for covertype."""
    sample, whole = (predict_gain("tanh", name) for name in ("covertype_sample", "covertype"))
    assert (sample.gain, sample.error) == (whole.gain, whole.error) != (predict_gain("tanh", "mano").gain, 0.0)
