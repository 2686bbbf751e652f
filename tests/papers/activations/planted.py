"""Tables with a planted answer for figures of the activations paper: `PLANTED[name](right)`, right or wrong."""

import numpy as np
import pandas as pd

from lab.data.sentence_sets import PHENOMENA
from lab.papers.activations.settings import FAMILIES, TITLES

NAMES = [f"activations/{name}" for name in ("fig_functions", "table1")]
RNG = 5
# From the best to the worst, where the paper is right; the other way round, where it is wrong.
ORDER = [
    *("learnable_geglu", "learnable_gelu", "geglu", "prelu", "swish", "relu", "silu", "gelu", "kan"),
    "kan_3_5",
]


def scores(right):
    rng, rows = np.random.default_rng(RNG), []
    order = ORDER if right else ORDER[::-1]
    for family in FAMILIES:
        for method in TITLES:
            rank = order.index(method)
            for seed in range(5):
                blimp, loss = 65 - rank + 0.1 * rng.normal(), 3 + 0.1 * rank + 0.01 * rng.normal()
                row = {"task": "babylm_strict_small gpt2", "family": family, "method": method, "seed": seed}
                row |= {"step": 17_000, "loss": loss, "bits": loss / 3 if family == "gpt_neo" else np.nan}
                row |= {"parameters": 9_000_000, "seconds": 600.0, "diverged": False, "blimp": blimp, "ties": 0.1}
                rows.append(row | dict.fromkeys(PHENOMENA, blimp) | {"pairs": 67_000})
    return pd.DataFrame(rows)


def alike(right):
    """All are as good, or GELU is five points worse."""
    table = scores(True)
    noise = 0.1 * np.random.default_rng(RNG).normal(size=len(table))
    return table.assign(blimp=60 + noise - (0 if right else 5) * (table["method"] == "gelu"))


def without_blimp(right):
    """The same where BLiMP was not here."""
    table = scores(right).assign(pairs=0)
    table[["blimp", "ties", *PHENOMENA]] = np.nan
    return table


PLANTED = {"activations/table1": scores}
