"""Tables with a planted answer for what crosses the papers: `PLANTED[name](right)`, right or wrong."""

import numpy as np
import pandas as pd

NAMES = [
    f"crossing/{name}" for name in ("compatibility", "multitask", "hyla_phi", "league", "connectivity", "grokking")
]
RNG = 7
MODELS = ("transformer", "perceptron", "HYLA", "language model")


def compatibility(right):
    """Each function gains five points at its better rate, or loses five; at the other rate all are at 10 %."""
    rng, rows = np.random.default_rng(RNG), []
    for model in MODELS:
        for function in ("baseline", *MODELS):
            gain = 0.0 if function == "baseline" else 0.05 if right else -0.05
            for rate, level in ((0.01, 0.6 + gain), (0.1, 0.1)):
                for split, seeds in (("test", range(4)), ("val", (100,))):
                    for seed in seeds:
                        value = level + 0.002 * rng.normal()
                        rows.append(("task", model, function, rate, split, seed, value, False))
    names = ["task", "model", "function", "rate", "split", "seed", "score", "diverged"]
    return pd.DataFrame(rows, columns=names)


def multitask(right):
    rng, rows = np.random.default_rng(RNG), []
    levels = (0.5, 0.6, 0.7) if right else (0.7, 0.6, 0.5)
    for task in ("memorize", "addmod", "parentheses"):
        for method, level in zip(("baseline", "learned for all", "learned MLP"), levels, strict=True):
            for seed in range(6):
                value = level + 0.01 * rng.normal()
                rows.append((task, method, seed, value, value, value, False))
    return pd.DataFrame(rows, columns=["task", "method", "seed", "accuracy", "early", "last", "diverged"])


def hyla_phi(right):
    rng, rows = np.random.default_rng(RNG), []
    gain = 0.1 if right else -0.1
    for task in ("logic", "sraven"):
        for method, level in (("softmax", 0.5), ("linear φ", 0.55), ("ReLU", 0.6), ("learned", 0.6 + gain)):
            for seed in range(4):
                seen, unseen = (level + 0.01 * rng.normal() for _ in range(2))
                rows.append((task, method, seed, 0.1, seen, unseen - 0.1, False))
    return pd.DataFrame(rows, columns=["task", "method", "seed", "loss", "score_test", "score_ood", "diverged"])


def league(right):
    """What learns gains five points over ReLU at its better rate, or loses them."""
    rng, rows, sign = np.random.default_rng(RNG), [], 1 if right else -1
    gains = {"relu": 0, "gelu": -3 * sign, "tanh": -9 * sign, "prelu": 5, "bspline": 5, "learned spline": 5}
    for task in ("memorize", "a+b mod 27"):
        for function, gain in gains.items():
            for rate, level in ((0.01, 60 + sign * gain), (0.1, 10)):
                for split, first, count in (("test", 0, 6), ("val", 1000, 2)):
                    for seed in range(first, first + count):
                        value = level + 0.2 * rng.normal()
                        search = seed % 3 if function == "learned spline" else 0
                        rows.append((task, function, search, rate, split, seed, value, 100, 1.5, False))
    names = ["task", "function", "search", "rate", "split", "seed", "score", "step", "cost", "diverged"]
    return pd.DataFrame(rows, columns=names)


def connectivity(right):
    """The loss rises half as much with learned functions as with others, or twice; matching takes half, or adds it."""
    rng, rows, along = np.random.default_rng(RNG), [], np.linspace(0, 1, 11)
    for task in ("a+b mod 27", "covertype_sample"):
        for method in ("ReLU", "GELU", "learned"):
            size = 1.0 if method != "learned" else 0.5 if right else 2.0
            rows += [{"split": "val", "task": task, "method": method, "rate": 0.01, "seed": 1000, "accuracy": 0.9}]
            for seed in range(0, 12, 2):
                hill = along * (1 - along) * 4 * (size + 0.05 * rng.normal())
                path = {"along": along, "loss": hill + along, "accuracy": 0.9 - hill / 5}
                path |= {"matched_loss": hill * (0.5 if right else 1.5) + along, "matched_accuracy": 0.9 - hill / 10}
                labels = {
                    "task": task,
                    "method": method,
                    "rate": 0.01,
                    "split": "test",
                    "seed": seed,
                    "other": seed + 1,
                }
                rows += pd.DataFrame(path).assign(**labels).to_dict("records")
    return pd.DataFrame(rows).assign(diverged=False)


def grokking(right):
    """To the steps of AdamW with ReLU: Muon half, Grokfast a fortieth, ⊥Grad a quarter, a learned function a quarter,
    StableMax as many without decay; or more of all, and never."""
    rng, rows = np.random.default_rng(RNG), []
    times = {"AdamW": 1, "Muon": 1 / 2, "Grokfast": 1 / 40, "⊥Grad": 1 / 4}
    times = times if right else {"AdamW": 1, "Muon": 1.5, "Grokfast": 2, "⊥Grad": 2}
    for task in ("a+b mod 27", "ab mod 27"):
        for function, share in (("ReLU", 1.0), ("learned", 0.25 if right else 2.0)):
            for loss in ("softmax", "StableMax"):
                alone = {"no decay": 1 if right and loss == "StableMax" else np.nan} if function == "ReLU" else {}
                for optimizer, factor in (times | alone).items():
                    for rate, level in ((0.01, 0.2), (0.03, 0.8), (0.1, 0.1)):
                        best, tuning = rate == 0.03, range(1000, 1002)
                        for split, seeds in (("test", range(12 if best else 0)), ("val", tuning)):
                            for seed in seeds:
                                step = 8_000 * share * factor * np.exp(0.05 * rng.normal())
                                ms = 1.2 if optimizer == "Muon" else 1.0
                                cell = (task, function, loss, optimizer, rate, split, seed)
                                rows.append((*cell, level + 0.01 * rng.normal(), step, 40_000, ms, False))
    names = ["task", "function", "loss", "optimizer", "rate", "split", "seed", "accuracy", "step", "last", "ms"]
    return pd.DataFrame(rows, columns=[*names, "diverged"])


PLANTED = {
    "crossing/grokking": grokking,
    "crossing/connectivity": connectivity,
    "crossing/league": league,
    "crossing/compatibility": compatibility,
    "crossing/multitask": multitask,
    "crossing/hyla_phi": hyla_phi,
}
