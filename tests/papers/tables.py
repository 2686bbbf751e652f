"""Tables in the shape that figures are drawn from, with known answers: numbers made up here, for tests alone."""

import numpy as np
import pandas as pd

from lab.task_names import TASK_TITLES

TASKS = list(TASK_TITLES)
METHODS = ["baseline", "learned MLP", "learned MLP + attention"]


def walk(rng, steps, speed):
    """A rising walk from 0 to at most 1: squashed sums of positive steps."""
    return np.tanh(np.cumsum(rng.exponential(speed, size=steps)))


def curves(tasks=TASKS, methods=METHODS, seeds=6, died=()):
    """`died`: (task, method, seed) of runs without values from the middle on."""
    rng, rows = np.random.default_rng(0), []
    for number, task in enumerate(tasks):
        for rank, method in enumerate(methods):
            for seed in range(seeds):
                lost = (task, method, seed) in died
                accuracy = walk(rng, 20, 0.03 * (1 + 2 * rank))
                accuracy[10:] = np.nan if lost else accuracy[10:]
                rows += [
                    (task, method, seed, 25 * (number + 1) * step, value, lost) for step, value in enumerate(accuracy)
                ]
    return pd.DataFrame(rows, columns=["task", "method", "seed", "step", "accuracy", "diverged"])


def lengths(seeds=6):
    rng, rows = np.random.default_rng(1), []
    for method, reach in (("absolute positions", 10), ("ALiBi", 13), ("ALiBi + learned MLP", 17)):
        for seed in range(seeds):
            for length in range(2, 21):
                rows.append((method, seed, length, 1 / (1 + np.exp(2 * (length - reach - rng.normal())))))
    return pd.DataFrame(rows, columns=["method", "seed", "length", "accuracy"])


def widths(seeds=6, tasks=TASKS):
    rng, rows = np.random.default_rng(2), []
    for task in tasks:
        for method, half in (("baseline", 24), ("learned MLP", 12)):
            for width in (8, 16, 32, 64, 128):
                for seed in range(seeds):
                    rows.append(
                        (task, method, width, seed, np.clip(width / (width + half) + 0.05 * rng.normal(), 0, 1))
                    )
    return pd.DataFrame(rows, columns=["task", "method", "width", "seed", "accuracy"])


def matrix(differences, part="MLP", noise=0.0, seeds=6):
    """Runs whose mean differences to the baseline are exactly `differences` (architectures × tasks, in points)."""
    rng, rows = np.random.default_rng(3), []
    for task in differences.columns:
        base = 0.6 + noise * rng.normal(size=seeds)
        for architecture in ("baseline", *differences.index):
            jitter = noise * rng.normal(size=seeds)
            shift = (
                0.0
                if architecture == "baseline"
                else differences.loc[architecture, task] / 100 + jitter - jitter.mean()
            )
            rows += [(part, architecture, task, seed, 100, value) for seed, value in enumerate(base + shift)]
    return pd.DataFrame(rows, columns=["part", "architecture", "task", "seed", "step", "accuracy"])


def shapes(tasks=TASKS):
    x, rows = np.linspace(-20, 20, 361), []
    for number, task in enumerate(tasks):
        spread = 0.5 * 2 ** (number % 6)
        density = np.exp(-((x / spread) ** 2) / 2)
        value = np.sin((1 + number) * x / 2) * np.exp(-((x / 6) ** 2)) + 0.1 * number
        rows += list(zip([task] * len(x), x, value, density / density.sum(), [0.9] * len(x), strict=True))
    return pd.DataFrame(rows, columns=["task", "x", "value", "density", "accuracy"])


def variants(seeds=6, tasks=("memorize", "addmod", "add", "parentheses"), died=()):
    """Figure 12: runs and functions. ADD has no polynomials; `died`: (task, method, degree, seed) without accuracy."""
    rng, runs, functions = np.random.default_rng(4), [], []
    x = np.linspace(-8, 8, 145)
    for number, task in enumerate(tasks):
        base = 0.5 + 0.02 * rng.normal(size=seeds)
        kinds = [("baseline", 0), ("learned MLP", 0), ("symmetrized", 0)]
        if task != "add":
            kinds += [("polynomial", d) for d in (6, 18, 24)] + [("Chebyshev", d) for d in (18, 36, 72)]
        for rank, (method, degree) in enumerate(kinds):
            gain = 0.0 if method == "baseline" else 0.08 - 0.01 * rank
            facts = ("x", 0.5 * number, 0.7) if method == "symmetrized" else (np.nan,) * 3
            for seed, start in enumerate(base):
                lost = (task, method, degree, seed) in died
                value = np.nan if lost else start + gain + (0.01 * rng.normal() if gain else 0)
                runs.append((task, method, degree, seed, value, lost, *facts))
            if method != "baseline":
                y = np.sin((1 + number) * x + 0.3 * rank) * np.exp(-((x / 4) ** 2))
                functions += [(task, method, degree, *point) for point in zip(x, y, strict=True)]
    names = ["task", "method", "degree", "seed", "accuracy", "diverged", "mirror", "shift", "correlation"]
    return pd.DataFrame(runs, columns=names), pd.DataFrame(
        functions, columns=["task", "method", "degree", "x", "value"]
    )


HYPER = ["softmax", "linear", "hyla"]
RULES = ["constant", "+1", "+2", "-1", "-2", "sum", "difference", "distribute"]


def maps(colourings=("target", "term 1"), layers=2, methods=HYPER, points=60, labels=12, embedding="tsne"):
    """Colourings named "target" or "magnitude" are numbers, the others have labels."""
    rng, parts = np.random.default_rng(4), []
    for layer in range(layers):
        for method in methods:
            place, trust = rng.normal(size=(points, 2)), rng.uniform(0.9, 1)
            for colouring in colourings:
                numbers = colouring in ("target", "magnitude")
                part = {"method": method, "layer": layer, "colouring": colouring, "x": place[:, 0], "y": place[:, 1]}
                part["label"] = None if numbers else rng.integers(labels, size=points).astype(str)
                part["value"] = rng.random(points) if numbers else np.nan
                parts.append(pd.DataFrame(part | {"trustworthiness": trust, "embedding": embedding}))
    table = pd.concat([part.astype({"label": object}) for part in parts], ignore_index=True)
    return table.sort_values(["layer", "colouring"], kind="stable", ignore_index=True)


def decoders(labels=None, seeds=3, layers=4, methods=HYPER):
    """One row a decoder, or one a decoder and label."""
    rng, rows = np.random.default_rng(5), []
    for rank, method in enumerate(methods):
        for seed in range(seeds):
            for layer in range(layers):
                for label in labels or [None]:
                    value = np.clip(0.3 + 0.15 * layer + 0.05 * rank + 0.04 * rng.normal(), 0, 1)
                    rows.append((method, seed, layer, label, value, 0.2, 0.12 + 0.02 * rng.random()))
    table = pd.DataFrame(rows, columns=["method", "seed", "layer", "label", "value", "chance", "shuffled"])
    return table if labels else table.drop(columns="label")


def similarities(methods=("hyla",), seeds=2, labels=RULES):
    rng, rows = np.random.default_rng(6), []
    for method in methods:
        for seed in range(seeds):
            means = rng.normal(size=(len(labels), 6))
            means /= np.linalg.norm(means, axis=1, keepdims=True)
            for i, a in enumerate(labels):
                rows += [
                    (method, seed, a, b, means[i] @ means[j], 0.8 * means[i] @ means[j], 0.1)
                    for j, b in enumerate(labels)
                ]
    return pd.DataFrame(rows, columns=["method", "seed", "a", "b", "similarity", "pairs", "pairs_std"])


def codes(methods=HYPER, heads=16, sample=5, labels=RULES):
    rng, rows = np.random.default_rng(7), []
    for number, method in enumerate(methods):
        for kind, each in (("sample", sample), ("mean", 1)):
            values = 10.0**-number * rng.normal(size=(len(labels) * each, heads))
            rows += [
                (method, kind, row, labels[row // each], head, values[row, head])
                for row, head in np.ndindex(values.shape)
            ]
    return pd.DataFrame(rows, columns=["method", "kind", "row", "label", "head", "value"])
