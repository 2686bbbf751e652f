"""A fleet: accuracy against loops and greedy generation, its history, its state, its non-linearities."""

import numpy as np
import pytest
import torch
from torch import nn

from lab import tasks
from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.spec import AdamWCosine, Knots, RunSpec, replace
from lab.training import sequences
from lab.training.fleet import Fleet, History, build, train
from lab.training.optimizers import MuonRecipe
from tests.models.making import shaken
from tests.training.making import MODEL, RECIPE, bits, fleet, use

SEEDS = (0, 1, 2)
ONE, OTHER = Knots(-1.0, 1.0, (0.0, 1.0, 0.5)), Knots(-1.0, 1.0, (0.0, -1.0, 0.25))


@pytest.fixture(params=["token", "sequence"])
def shaken_fleet(request, monkeypatch):
    """Runs whose weights are of ordinary size, so that they predict different things in different places."""
    use(monkeypatch, bits(request.param))
    made = fleet(SEEDS, "bits")
    shaken(made.model, seed=11, scale=1.0)
    return made


def predictions(made, run, tokens):
    """The most likely next token after each token of a sequence (T,), by the whole logits."""
    with torch.no_grad():
        logits = made.model(tokens.expand(len(made.specs), 1, -1))
    return logits[run, 0].argmax(-1)


def test_accuracy_is_what_a_loop_counts(shaken_fleet):
    split, found = shaken_fleet.data.task.splits["test"], shaken_fleet.scores()["accuracy_test"]
    for run in range(len(SEEDS)):
        right = []
        for tokens, output in zip(split.tokens, split.output, strict=True):
            places = output.nonzero().flatten()
            guesses = predictions(shaken_fleet, run, tokens[:-1])[places - 1]
            hits = (guesses == tokens[places]).tolist()
            right += [all(hits)] if shaken_fleet.data.task.metric == "sequence" else hits
        assert found[run] == pytest.approx(np.mean(right), rel=1e-6)
    assert 0 < found.mean() < 1 and len(set(found)) > 1


def test_a_sequence_counts_as_right_when_greedy_generation_gives_it(monkeypatch):
    """Token by token, each from what was generated before; the accuracy is computed from the true output so far."""
    use(monkeypatch, bits("sequence"))
    made = fleet(SEEDS, "bits")
    shaken(made.model, seed=11, scale=1.0)
    split = made.data.task.splits["test"]
    for run, accuracy in enumerate(made.scores()["accuracy_test"]):
        right = 0
        for tokens, output in zip(split.tokens, split.output, strict=True):
            places = output.nonzero().flatten()
            text = tokens[: places[0]]
            for _ in places:
                text = torch.cat([text, predictions(made, run, text)[-1:]])
            right += torch.equal(text, tokens[: len(text)])
        assert accuracy == pytest.approx(right / len(split))


def test_accuracy_does_not_depend_on_the_chunks(shaken_fleet, monkeypatch):
    whole = shaken_fleet.scores()["accuracy_test"]
    monkeypatch.setattr(sequences, "CHUNK", 3)  # 10 examples: a remainder, too
    np.testing.assert_allclose(shaken_fleet.scores()["accuracy_test"], whole, rtol=1e-6)


def test_the_training_data_of_stage_two(monkeypatch):
    """train + search where the task says so, train alone where the search split is the longer one."""
    for together, wanted in ((True, 20), (False, 10)):
        use(monkeypatch, bits(search_in_training=together))
        assert len(fleet(task="bits").data.training) == wanted


def test_accuracy_follows_every_split_that_was_asked_for():
    made = fleet(SEEDS, evaluate=("val", "test"))
    assert set(made.data.evaluation) == {"val", "test"}
    assert set(made.history.arrays()) == {"steps", "loss", "accuracy_val", "accuracy_test"}


def test_history_is_the_mean_loss_since_the_evaluation_before():
    history = History(2, ("accuracy_test",))
    for interval in ([[1.0, 2.0], [3.0, 6.0]], [[5.0, 0.5]]):
        for loss in interval:
            history.add(torch.tensor(loss))
        history.close(len(interval), {"accuracy_test": np.array([0.25, 0.75])})
    arrays = history.arrays()
    assert arrays["loss"].tolist() == [[2.0, 4.0], [5.0, 0.5]]
    assert arrays["steps"].tolist() == [2, 1]
    assert arrays["accuracy_test"].tolist() == [[0.25, 0.75]] * 2


def test_an_empty_history_has_the_shapes_of_a_full_one():
    arrays = History(3, ("accuracy_test",)).arrays()
    assert {name: a.shape for name, a in arrays.items()} == {"steps": (0,), "loss": (0, 3), "accuracy_test": (0, 3)}


def test_watch_sums_what_is_finite_and_remembers_the_first_death():
    made = fleet((0, 1, 2))
    nan, inf = float("nan"), float("inf")
    loss = torch.tensor([1.0, nan, 3.0], requires_grad=True)
    total = made.watch(loss, 4)
    total.backward()
    assert total == 4 and loss.grad.tolist() == [1, 0, 1]
    assert made.watch(torch.tensor([-inf, nan, 3.0]), 7) == 3
    assert made.watch(torch.tensor([1.0, 1.0, 3.0]), 8) == 3, "a run does not come back to life"
    assert made.died.tolist() == [7, 4, -1]
    np.testing.assert_equal(made.last_value, [-inf, nan, nan])


def test_a_run_that_died_has_no_loss_from_there_on():
    """Its weights stay where a loss was not finite for one batch, and other batches may have one."""
    made = fleet((0, 1, 2))
    made.died[1] = 0
    train(made)
    loss = made.history.arrays()["loss"]
    assert np.isnan(loss[:, 1]).all() and np.isfinite(loss[:, [0, 2]]).all()


def test_build_softmax_and_names():
    assert build(["softmax", "softmax"]) is None
    assert isinstance(build(["gelu"] * 3), nn.GELU)


def test_build_gives_each_run_its_own_function():
    x = torch.linspace(-2, 2, 10)
    spline = build([ONE, OTHER, ONE])
    for run, knots in enumerate([ONE, OTHER, ONE]):
        alone = Spline(torch.tensor(knots.values), knots.low, knots.high)
        assert torch.equal(spline(x.expand(3, -1))[run], alone(x))
    assert not any(parameter.requires_grad for parameter in spline.parameters())
    assert build([ONE, ONE]).values.dim() == 1  # one table for all


@pytest.mark.parametrize(
    "parts",
    [
        ("gelu", "relu"),
        ("gelu", ONE),
        (ONE, "gelu"),
        ("softmax", ONE),
        (ONE, Knots(-2.0, 1.0, ONE.values)),
        (ONE, Knots(-1.0, 1.0, (0.0, 1.0))),
    ],
)
def test_non_linearities_that_do_not_stack_are_refused(parts):
    """Taking the first one for all runs would train the others with a function that their spec does not name."""
    with pytest.raises(ArgumentError, match="one fleet"):
        build(parts)


def test_recipes_of_which_one_would_be_used_for_all_are_refused():
    """Adam and Muon have one rate; rates of an AdamWCosine may differ, its lengths may not."""
    plain, cosine = RunSpec("memorize", MODEL, RECIPE, 0), AdamWCosine(10, 0.1, 8, warmup=2)
    muon = MuonRecipe(steps=8, rate=0.02)
    for recipe, other, said in (
        (RECIPE, replace(RECIPE, rate=0.1), "rate: 0.003, 0.1"),
        (muon, replace(muon, rate=0.1), "rate: 0.02, 0.1"),
        (cosine, replace(cosine, steps=20), "steps: 10, 20"),
    ):
        with pytest.raises(ArgumentError, match=f"these have {said}$"):
            Fleet([replace(plain, recipe=one) for one in (recipe, other)], [("gelu", "softmax")] * 2)
    made = Fleet([replace(plain, recipe=replace(cosine, rate=rate)) for rate in (0.1, 0.2)], [("gelu", "softmax")] * 2)
    made.set_rates(5)
    assert made.optimizer.rates[1] == 2 * made.optimizer.rates[0]


def test_run_weights_are_one_run_without_its_non_linearity():
    knots = [(replace(MODEL, mlp=k).mlp, "softmax") for k in (ONE, OTHER)]
    made = fleet((0, 1), parts=knots)
    found = made.run_weights(1)
    parameters = dict(made.model.named_parameters())
    assert {n for n in parameters if n not in found} == {"blocks.0.phi.values"}
    for name, weight in found.items():
        assert torch.equal(weight, parameters[name][1:]) and weight.data_ptr() != parameters[name][1:].data_ptr()
    alone = fleet((1,), parts=knots[1:])
    alone.model.load_state_dict(found, strict=False)
    index = torch.arange(8).expand(2, -1)
    batch = made.data.training.at(index)
    torch.testing.assert_close(alone.model(batch.tokens[1:]), made.model(batch.tokens)[1:])


def test_the_tasks_of_a_seed_are_used():
    assert tasks.load("memorize", 0) is fleet().data.task
