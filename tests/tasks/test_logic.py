"""Fuzzy logic: functions against plain Python, splits against the reference's counts, R² against its definitions."""

from itertools import combinations, product

import numpy as np
import pytest
import torch

from lab.tasks import Logic


def draw(task, split="train", count=200, seed=0, start=0, **options):
    return task.sample(split, count, torch.Generator().manual_seed(start), seed, **options)


def fuzzy(terms, x):
    """f of one point, and each term's value: min over literals, max over terms (Eq. 8)."""
    bits = list(product([0, 1], repeat=len(x)))  # as the reference numbers the terms
    values = [min(v if bit else 1 - v for v, bit in zip(x, bits[term], strict=True)) for term in terms]
    return max(values), values


@pytest.mark.parametrize(("variables", "terms", "length"), [(4, 2, 32), (5, 3, 7), (3, 2, 16), (2, 1, 2), (4, 4, 3)])
def test_targets_are_those_of_the_functions(variables, terms, length):
    task = Logic(variables, terms, length, held_out=0.3)
    for split in ("train", "ood", "unseen_terms"):
        if split == "ood" and terms == 1:
            continue
        examples = draw(task, split, count=20)
        for i in range(20):
            inputs, latents = examples.inputs[i], {name: latent[i] for name, latent in examples.latents.items()}
            chosen = latents["terms"].tolist()
            found = [fuzzy(chosen, x.tolist()) for x in inputs[:, :-1]]
            assert inputs[:-1, -1].tolist() == pytest.approx([f for f, _ in found[:-1]], abs=1e-6)
            assert inputs[-1, -1] == 0.0  # the query's value is masked
            assert examples.targets[i].item() == pytest.approx(found[-1][0], abs=1e-6)
            assert latents["values"].tolist() == pytest.approx(found[-1][1], abs=1e-6)
            assert latents["variance"].item() == pytest.approx(np.var([f for f, _ in found]), abs=1e-6)
            listed = list(combinations(range(2**variables), terms))
            assert listed[latents["function"]] == tuple(chosen)


def test_on_booleans_the_operators_are_those_of_boole():
    task = Logic(length=16, held_out=0)
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 4).flip(0)  # the query is 0 0 0 0
    terms = torch.combinations(torch.arange(16), 2)
    examples = task.make(terms, corners.expand(len(terms), -1, -1))
    for i, (first, second) in enumerate(terms.tolist()):
        truth = [float(int("".join(f"{v:.0f}" for v in x), 2) in (first, second)) for x in corners.tolist()]
        assert examples.inputs[i, :-1, -1].tolist() == truth[:-1]
        assert examples.targets[i].item() == truth[-1]


@pytest.mark.parametrize(("held_out", "train", "ood"), [(0.3, 47, 19), (0.5, 33, 33), (0.7, 20, 46)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_splits_have_the_reference_counts(held_out, train, ood, seed):
    task = Logic(held_out=held_out)
    functions = {split: {tuple(f) for f in task.functions(split, seed).tolist()} for split in task.splits}
    assert {split: len(f) for split, f in functions.items()} == {
        "train": train,
        "val": train,
        "test": train,
        "ood": ood,
        "unseen_terms": 6,
    }
    assert functions["train"] == functions["val"] == functions["test"]
    assert functions["train"] | functions["ood"] == set(combinations(range(12), 2))
    assert functions["unseen_terms"] == set(combinations(range(12, 16), 2))
    assert {term for f in functions["train"] for term in f} == set(range(12))  # every term was seen
    for split in task.splits:
        drawn = draw(task, split, count=2000, seed=seed).latents["terms"]
        assert {tuple(f) for f in drawn.tolist()} == functions[split]  # no other, and all of them


def test_reserved_terms_have_the_first_two_variables_plain():
    for term in range(16):
        assert Logic().formula(torch.tensor([term])).startswith("(x1 ∧ x2 ∧") == (term >= 12)


def test_functions_and_points_are_uniform():
    examples = draw(Logic(length=16, held_out=0.7), count=20_000)
    counts = examples.latents["function"].bincount(minlength=120)
    counts = counts[counts > 0].double()
    assert len(counts) == 20 and (counts - 1000).abs().max() < 4.5 * (1000 * 0.95) ** 0.5
    x = examples.inputs[..., :-1].flatten().double()
    assert abs(x.mean() - 1 / 2) < 4.5 * (1 / 12 / len(x)) ** 0.5
    histogram = torch.histc(x, 20, 0, 1)
    assert (histogram - len(x) / 20).abs().max() < 4.5 * (len(x) / 20) ** 0.5


@pytest.mark.parametrize(("fixed", "free"), [("context", slice(-1, None)), ("query", slice(None, -1))])
def test_fixed_points_are_the_same_in_all_sequences(fixed, free):
    task = Logic(length=6)
    a, b = (draw(task, "ood", start=start, fixed=fixed) for start in (0, 1))
    points = torch.cat([a.inputs, b.inputs])[..., :-1]
    still = slice(None, -1) if fixed == "context" else slice(-1, None)
    assert (points[:, still] == points[:1, still]).all()
    assert points[:, free].flatten(1).unique(dim=0).shape[0] == len(points)
    assert len(a.latents["function"].unique()) > 20  # the functions still vary, and values go with them
    other = draw(task, "ood", seed=1, fixed=fixed).inputs[..., :-1]
    assert not torch.equal(other[0, still], points[0, still])
    terms, x = a.latents["terms"][3], a.inputs[3, 2]
    assert x[-1].item() == pytest.approx(fuzzy(terms.tolist(), x[:-1].tolist())[0], abs=1e-6)


def test_both_definitions_of_r2():
    task, rng = Logic(length=8), np.random.default_rng(0)
    examples = draw(task, "test", count=300)
    guesses = rng.random((2, 300))
    targets, variance = examples.targets[:, 0].double().numpy(), examples.latents["variance"].double().numpy()
    outputs = torch.from_numpy(guesses)[..., None, None].float()
    scores = task.scores(outputs, examples.targets.expand(2, -1, -1), examples)
    squared = (guesses.astype(np.float32).astype(float) - targets) ** 2
    np.testing.assert_allclose(scores["mse"], squared.mean(1), rtol=1e-6)
    np.testing.assert_allclose(scores["r2"], 1 - squared.sum(1) / variance.sum(), rtol=1e-6)
    np.testing.assert_allclose(scores["r2_paper"], (1 - squared / variance).mean(1), rtol=1e-6)
    np.testing.assert_allclose(task.loss(outputs, examples.targets.expand(2, -1, -1)), squared.mean(1), rtol=1e-5)


def test_the_mean_of_each_sequence_explains_nothing():
    """The best constant for a sequence has R² near 0, not 1 or -1: Var is that of f, not of a prediction's error."""
    task = Logic(length=64)
    examples = draw(task, "test", count=20_000)
    f = torch.cat([examples.inputs[:, :-1, -1], examples.targets], 1)
    scores = task.scores(f.mean(1)[None, :, None, None], examples.targets[None], examples)
    assert abs(scores["r2"].item()) < 0.03 and abs(scores["r2_paper"].item()) < 0.03


def test_an_example_is_written_out():
    text = Logic(length=3).show(draw(Logic(length=3)), 0)
    lines = text.splitlines()
    assert len(lines) == 6 and lines[1].split() == ["x1", "x2", "x3", "x4", "f"]
    assert lines[4].endswith("?") and lines[0].count("∨") == 1 and lines[0].count("∧") == 6
