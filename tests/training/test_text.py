"""Language models: no model sees what comes after, windows depend on seed and step alone, scores are what they say."""

import math

import numpy as np
import pytest
import torch

from lab import kinds
from lab.errors import ArgumentError
from lab.spec import (
    AdamTrapezoid,
    AdamWCosine,
    HyperModel,
    Knots,
    ModelSpec,
    RunSpec,
    SearchSpec,
    from_json,
    key,
    replace,
    to_json,
)
from lab.tasks import Text
from lab.training.fleet import Fleet, build, model_of, train
from lab.training.text import TextData
from lab.training.two_loss import Search
from tests.models.making import shaken
from tests.training.making import same, through_a_file, until

TASK = Text("moby_dick", context=12)
MODEL = ModelSpec(layers=2, width=8, canon=True, tied=True)
RECIPE = AdamTrapezoid(steps=6, rate=0.01, batch=3, every=2)
SPEC = RunSpec(TASK, MODEL, RECIPE, 0, ("val", "test"))


def fleet(seeds=(0, 1), **changes):
    specs = [replace(SPEC, seed=seed, **changes) for seed in seeds]
    return Fleet(specs, [("gelu", "softmax")] * len(specs))


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        replace(MODEL, positions="alibi", tied=False),
        replace(MODEL, attention=Knots(-9.0, 9.0, (0.5, 2.0, 1.0))),
        HyperModel(heads=2, width=8, key_width=4, mlp_width=8, causal=True, dropout=0.0),
    ],
    ids=["canon", "alibi", "kernel", "hyla"],
)
def test_no_model_sees_what_comes_after(model):
    """The gradient of each output with respect to later inputs is zero exactly; with respect to its own it is not."""
    task = replace(TASK, context=7)
    modules = [build([part]) for part in model.parts.values()]
    made = shaken(model_of([replace(SPEC, task=task, model=model)], modules)).double()
    size, embedded = len(task.vocabulary), []
    made.embedding.register_forward_hook(lambda module, given, output: embedded.append(output))
    outputs = made(torch.randint(size, (1, 2, 7), generator=torch.Generator().manual_seed(0)))
    assert outputs.shape == (1, 2, 7, size)
    for at in range(7):
        (found,) = torch.autograd.grad(outputs[:, :, at].square().sum(), embedded[0], retain_graph=True)
        per_token = found.abs().amax((0, 1, 3))
        assert (per_token[at + 1 :] == 0).all() and per_token[at] > 0 and (at == 0 or per_token[:at].max() > 0)


def test_windows_depend_on_seed_and_step_alone():
    one, pair = (
        TextData(TASK, [SPEC], torch.device("cpu")),
        TextData(TASK, [replace(SPEC, seed=s) for s in (1, 0)], "cpu"),
    )
    for step in (5, 0, 3):
        alone, together = one.at(step), pair.at(step)
        assert alone.tokens.shape == alone.targets.shape == (1, 3, 12)
        assert torch.equal(alone.tokens[:, :, 1:], alone.targets[:, :, :-1])
        assert torch.equal(alone.tokens[0], together.tokens[1]) and torch.equal(alone.targets[0], together.targets[1])
        assert not torch.equal(together.tokens[0], together.tokens[1])
        assert not torch.equal(alone.tokens, one.at(step + 1).tokens)


def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one():
    whole, first, second = fleet(), fleet(), fleet()
    train(whole)
    train(first, until(3))
    second.restore(through_a_file(first.state()))
    train(second)
    assert same(whole.state(), second.state())
    assert set(whole.history.scores) == {
        f"{score}_{s}" for s in ("val", "test") for score in ("loss", "bits", "accuracy")
    }


def test_a_runs_windows_and_weights_do_not_depend_on_its_company():
    alone, pair = fleet([1]), fleet([0, 1])
    for made in (alone, pair):
        train(made)
    for name, weight in alone.run_weights(0).items():
        torch.testing.assert_close(weight, pair.run_weights(1)[name], rtol=1e-3, atol=1e-5)


def test_scores_are_those_of_a_model_whose_answers_are_known(monkeypatch):
    """A model that gives each token the same probability has ln V; one that knows the text has none, and all hits."""
    data = TextData(TASK, [replace(SPEC, evaluate=("test",))], torch.device("cpu"))
    size, made = len(TASK.vocabulary), data._batch
    even = data.scores(lambda tokens: torch.zeros(*tokens.shape, size))
    assert even["loss_test"] == pytest.approx([math.log(size)])
    assert even["bits_test"] == pytest.approx([math.log2(size)]), "a token is a character"
    current = []
    monkeypatch.setattr(data, "_batch", lambda windows: current.append(made(windows)) or current[-1])

    def knows(tokens, sure=50.0):
        return torch.nn.functional.one_hot(current[-1].targets, size) * sure

    all_right = data.scores(knows)
    assert all_right["accuracy_test"] == [1] and all_right["loss_test"] == pytest.approx([0], abs=1e-9)

    def knows_the_first_half(tokens):
        logits = knows(tokens)
        logits[:, :, 6:] = logits[:, :, 6:].roll(1, -1)
        return logits

    half = data.scores(knows_the_first_half)
    assert half["accuracy_test"] == [0], "the second half of the context counts"
    assert half["loss_test"] == pytest.approx([25])


def test_bits_count_characters_and_not_tokens():
    task = replace(TASK, tokens="bpe")
    data = TextData(task, [replace(SPEC, task=task, evaluate=("test",))], torch.device("cpu"))
    size = len(task.vocabulary)
    found = data.scores(lambda tokens: torch.zeros(*tokens.shape, size))
    windows = task.windows("test")
    count = min(len(windows), -(-(1 << 15) // 12))
    numbers = np.linspace(0, len(windows) - 1, count).astype(int)
    letters = sum(len(task.vocabulary.decode(row[1:])) for row in windows.at(numbers))
    assert found["loss_test"] == pytest.approx([math.log(size)])
    # a character may be cut in two where a window begins: decoding counts it as replaced
    assert found["bits_test"] == pytest.approx([math.log2(size) * count * 12 / letters], rel=2e-3)


def test_a_search_follows_a_split_that_weights_never_see():
    spec = SearchSpec(TASK, MODEL, RECIPE, models=2, low=-2.0, high=2.0, knots=9, spline_rate=0.05)
    made = Search(spec)
    places = {split: TASK.windows(split) for split in ("train", "search")}
    for step in range(4):
        batch, held_out = made.batch(step), made.search_batch(step)
        assert not torch.equal(batch.tokens[0], batch.tokens[1])
        assert torch.equal(held_out.tokens[0], held_out.tokens[1]), "one batch for all models"
    assert made.data.training._starts.tolist() == places["train"]._starts.tolist()
    train(made)
    assert made.knots[0].abs().max() > 0 and len(made.search_loss) == 6
    first, second = (Search(spec) for _ in range(2))
    train(first, until(3))
    second.restore(through_a_file(first.state()))
    train(second)
    assert same(second.state(), made.state())


def test_a_search_may_begin_with_a_named_function():
    spec = SearchSpec(TASK, MODEL, RECIPE, models=1, low=-2.0, high=2.0, knots=9)
    assert key(spec) == key(replace(spec, start="zero")) != key(replace(spec, start="gelu"))
    x = torch.linspace(-2, 2, 9)
    torch.testing.assert_close(Search(replace(spec, start="gelu")).knots[0].detach(), torch.nn.functional.gelu(x))
    assert (Search(spec).knots[0] == 0).all()
    with pytest.raises(ArgumentError, match="unknown non-linearity 'wave'"):
        Search(replace(spec, start="wave"))


def test_a_text_stands_in_specs_and_is_checked():
    assert from_json(to_json(SPEC)) == SPEC and SPEC.task_name == "moby_dick char"
    kinds.check_run(SPEC)
    for changed, said in (
        (replace(SPEC, evaluate=("ood",)), "has no split 'ood'; choose one of train, search, val, test"),
        (replace(SPEC, task=replace(TASK, context=60_000)), "give a smaller context"),
        (replace(SPEC, recipe=AdamWCosine(2, 0.1, batch=None)), "batch=None"),
    ):
        with pytest.raises(ArgumentError, match=said):
            kinds.check_run(changed)
    for wrong, said in (
        ({"corpus": "mnist"}, "unknown text 'mnist'"),
        ({"tokens": "words"}, "unknown tokens 'words'; known: char, gpt2, bpe"),
        ({"context": 0}, "context=0"),
        ({"least": -1}, "least=-1"),
    ):
        with pytest.raises(ArgumentError, match=said):
            replace(TASK, **wrong)
