"""The batched generator of PARENTHESES against the recipe, told one string at a time in plain Python."""

import random

import numpy as np
import pytest

from lab.tasks import load
from lab.tasks.strings import _balanced


def balanced_string(rng, pairs):
    if pairs == 1:
        return "()"
    if rng.random() < 0.5:
        return f"({balanced_string(rng, pairs - 1)})"
    first = rng.randint(1, pairs - 1)
    return balanced_string(rng, first) + balanced_string(rng, pairs - first)


def coins(rng):
    """1 and as many more as a fair coin shows heads in a row."""
    count = 1
    while rng.random() < 0.5:
        count += 1
    return count


def string(rng, low, high):
    swap, flip = rng.random() < 0.5, rng.random() < 0.5
    if rng.random() < 1 / 3:
        text = rng.choices("()", k=rng.randint(low, high))
    else:
        text = list(balanced_string(rng, rng.randint((low + 1) // 2, high // 2)))
        if rng.random() < 0.5:
            swap = flip = False
    if swap:
        for _ in range(coins(rng)):
            p, q = rng.randrange(len(text)), rng.randrange(len(text))
            if p < q:
                text[p], text[q] = text[q], text[p]
    if flip:
        for _ in range(coins(rng) * (2 if rng.random() < 2 / 3 else 1)):
            p = rng.randrange(len(text))
            text[p] = "(" if text[p] == ")" else ")"
    return "".join(text)


def heights(text):
    return np.cumsum([1 if c == "(" else -1 for c in text])


@pytest.mark.parametrize(("split", "low", "high"), [("train", 1, 20), ("search", 21, 40)])
def test_strings_have_the_statistics_of_the_recipe(split, low, high):
    rng, n = random.Random(0), 10_000
    walks = [heights(string(rng, low, high)) for _ in range(n)]
    expected = np.array([[len(w), max(0, w.max()), w[-1] == 0 and w.min() == 0, w[-1] == 0, len(w) % 2] for w in walks])
    data = load("parentheses").splits[split]
    opened, closed = ((data.tokens == i).sum(1) for i in (1, 2))
    length = data.latents["length"]
    measured = np.stack(
        [length, data.latents["depth"], data.latents["balanced"], opened == closed, length % 2], axis=1
    ).astype(float)
    error = np.sqrt(expected.var(0) / n + measured.var(0) / len(measured))
    assert (np.abs(expected.mean(0) - measured.mean(0)) < 4 * error).all()


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
def test_balanced_strings_have_the_probabilities_of_the_recursion(pairs):
    """Frequencies of all strings of few pairs against probabilities summed over the recursion's choices."""

    def exact(t):
        if t == 1:
            return {"()": 1.0}
        table = {}
        for inner, p in exact(t - 1).items():
            table[f"({inner})"] = table.get(f"({inner})", 0) + p / 2
        for u in range(1, t):
            for a, p in exact(u).items():
                for b, q in exact(t - u).items():
                    table[a + b] = table.get(a + b, 0) + p * q / 2 / (t - 1)
        return table

    n, names = 20_000, np.array(["", "(", ")"])
    rows = _balanced(np.random.default_rng(0), np.full(n, pairs), 12)
    found, counts = np.unique(["".join(names[row]) for row in rows], return_counts=True)
    wanted = exact(pairs)
    assert set(found) == set(wanted)
    for text, count in zip(found, counts, strict=True):
        p = wanted[text]
        assert abs(count / n - p) <= 4.5 * np.sqrt(p * (1 - p) / n)


def test_shortcuts_do_not_solve_the_task():
    """The oddness of the length alone leaves far more than a quarter wrong, in every split."""
    for data in load("parentheses").splits.values():
        even = data.latents["length"] % 2 == 0
        assert (even == data.latents["balanced"]).float().mean() < 0.75
        assert data.latents["balanced"][~even].sum() == 0
        assert 0.55 < data.latents["balanced"][even].float().mean() < 0.70
