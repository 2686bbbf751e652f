"""Tables with a planted answer for figures of the hypernetwork paper: `PLANTED[name](right)`, right or wrong."""

from functools import partial

import numpy as np
import pandas as pd

from lab.papers.hypernetwork.counts import PRINTED
from lab.tasks.sraven import RULES

NAMES = [
    f"hypernetwork/{name}"
    for name in (
        "fig2b",
        "fig2c",
        "fig2d",
        "fig4a",
        "fig4b",
        "fig5a",
        "fig5b",
        "fig5c",
        "fig5d",
        "fig5e",
        "fig5f",
        "fig6",
        "figA2",
        "figA3",
        "figA4",
        "figA5",
        "figA6",
        "figA7",
        "figA8",
        "figA9",
        "tableA1",
        "tableA2",
    )
]

RNG = 11


def logic(right):
    rng, rows = np.random.default_rng(RNG), []
    lost = {"softmax": 0.3 if right else -0.1, "linear": 0.35, "hyla": 0.1 if right else 0.5}
    seen = dict.fromkeys(lost, 0.9) if right else {"softmax": 0.9, "linear": 0.5, "hyla": 0.2}
    for method, drop in lost.items():
        for length in (16, 32):
            for held_out in (0.3, 0.5, 0.7):
                for seed in range(3):
                    score = 0.9 - drop * (held_out - 0.3) / 0.4 + 0.005 * rng.normal()
                    unseen = (0.1 if right else 0.8) + 0.005 * rng.normal()
                    rows.append((method, length, held_out, seed, score, seen[method], unseen, False, True))
    names = ["method", "length", "held_out", "seed", "r2_paper_ood", "r2_paper_test", "r2_paper_unseen_terms"]
    return pd.DataFrame(rows, columns=[*names, "diverged", "chosen"])


def problems(right):
    rng, rows = np.random.default_rng(RNG), []
    least = {"softmax": 0.5, "linear": 0.4, "hyla": 0.6 if right else 0.2}
    for method, score in least.items():
        for number, value in ((25_000_000, score), (40_000_000, 0.9 if right else 0.7)):
            for seed in range(3):
                rows.append((method, number, seed, value + 0.005 * rng.normal(), 0.95, False, True))
        rows.append((method, 40_000_000, 0, float("nan"), 0.2, False, False))  # of a grid, a point that was not chosen
    names = ["method", "problems", "seed", "accuracy_ood", "accuracy_test", "diverged", "chosen"]
    return pd.DataFrame(rows, columns=names)


def along(by, right, sign=1):
    """Accuracy by `by`: rises as the paper says, or falls; HYLA leads where it is small, or is last."""
    rng, rows = np.random.default_rng(RNG), []
    lead = {"softmax": 0.0, "linear": -0.05, "hyla": 0.05 if right else -0.1}
    for method, more in lead.items():
        for value in (2, 4, 8):
            for seed in range(3):
                slope = (0.02 if right else -0.02) * sign * value
                score = 0.5 + more + slope + 0.005 * rng.normal()
                rows.append((method, 25_000_000, value, seed, score, 0.9, False, True))
    names = ["method", "problems", by, "seed", "accuracy_ood", "accuracy_test", "diverged", "chosen"]
    return pd.DataFrame(rows, columns=names)


def ablations(right):
    """The parts of HYLA, and experts, add ten points each; or take them."""
    rng, rows, gain = np.random.default_rng(RNG), [], 0.1 if right else -0.1
    parts = {
        "softmax": 0,
        "linear": 0,
        "linear_rms_head": 1,
        "hyla_linear": 1,
        "hyla": 2,
        "hyla_softmax": 0,
        "softmax_experts": 1,
        "linear_experts": 1,
        "hyla_experts": 3,
    }
    for task in ("logic", "sraven"):
        for method, number in parts.items():
            rows += [(task, method, s, 0.5 + gain * number + 0.005 * rng.normal(), False, True) for s in range(3)]
    return pd.DataFrame(rows, columns=["task", "method", "seed", "value", "diverged", "chosen"])


def decoders(right):
    rng, rows = np.random.default_rng(RNG), []
    for method in ("softmax", "linear", "hyla"):
        for seed in range(3):
            for layer in range(4):
                value = 0.4 + 0.1 * layer if right else 0.4 - 0.1 * layer
                rows.append((method, seed, layer, "+-++", value + 0.005 * rng.normal(), 0.3, 0.35))
    names = ["method", "seed", "layer", "label", "value", "chance", "shuffled"]
    table = pd.DataFrame(rows, columns=names)
    return pd.concat([table.assign(varied=varied) for varied in ("context", "query")], ignore_index=True)


def maps(right):
    """Tight groups of eleven points. Right: a group has one label, and in the second layer one value; wrong: it has
    eleven labels, and one value in the last layer."""
    rng, rows = np.random.default_rng(RNG), []
    for method in ("softmax", "linear", "hyla"):
        for layer in range(4):
            for group in range(11):
                for member in range(11):
                    place = 100 * np.array([group % 4, group // 4]) + rng.normal(size=2)
                    label = f"label {group if right else member}"
                    alike = layer == (1 if right else 3)
                    value = (group if alike else member) + 0.1 * rng.normal()
                    rows += [(method, layer, *place, name, label, np.nan) for name in ("rule", "term 1")]
                    rows.append((method, layer, *place, "target", None, value))
    return pd.DataFrame(rows, columns=["method", "layer", "x", "y", "colouring", "label", "value"])


def similarities(right):
    rng, rows, pair = np.random.default_rng(RNG), [], {"addition", "subtraction"}
    for method in ("softmax", "hyla"):
        for seed in range(3):
            for a in RULES:
                for b in RULES:
                    high = 1.0 if a == b else 0.9 if ({a, b} == pair) == right else 0.2
                    rows.append((method, seed, a, b, high + 0.01 * rng.normal()))
    return pd.DataFrame(rows, columns=["method", "seed", "a", "b", "similarity"])


def fractions(right):
    """Of a million problems, as printed, or with more ambiguous ones the more values there are."""
    rows = [
        (4, values, "reference code's count", paper if right else 0.02 * values, 1e-6, 10**6, paper, 1e-6)
        for values, (paper, _) in PRINTED.items()
    ]
    rows.append((4, 8, "paper's words", 0.002 if right else 0.2, 1e-6, 10**6, np.nan, np.nan))
    names = ["features", "values", "counting", "fraction", "standard_error", "problems", "paper", "paper_error"]
    return pd.DataFrame(rows, columns=names)


def language(right):
    rng, rows = np.random.default_rng(RNG), []
    ends = {"softmax": 3.0, "linear": 3.2, "hyla": 3.03 if right else 3.3}
    for method, end in ends.items():
        for seed in range(3):
            for step, more in ((100, 1.0), (200, 0.0)):
                loss = end + more + 0.005 * rng.normal()
                rows.append(("c4_shard gpt2", method, seed, step, loss, loss, loss / 3, False))
    return pd.DataFrame(rows, columns=["task", "method", "seed", "step", "train", "loss", "bits", "diverged"])


PLANTED = {
    "hypernetwork/fig6": language,
    "hypernetwork/fig2b": decoders,
    "hypernetwork/fig2c": logic,
    "hypernetwork/figA3": logic,
    "hypernetwork/fig4a": problems,
    "hypernetwork/fig5e": similarities,
    "hypernetwork/fig5f": decoders,
    "hypernetwork/fig2d": maps,
    "hypernetwork/fig5b": maps,
    "hypernetwork/figA6": maps,
    "hypernetwork/tableA2": fractions,
    "hypernetwork/fig4b": partial(along, "layers"),
    "hypernetwork/fig5c": partial(along, "heads"),
    "hypernetwork/fig5d": partial(along, "features", sign=-1),
    "hypernetwork/figA5": partial(along, "held_out", sign=-1),
    "hypernetwork/tableA1": ablations,
}
