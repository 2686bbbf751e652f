"""Numbers of docs/findings.md, each computed from a shipped table: `python -m tests.findings` prints them by figure."""

from functools import cache

import numpy as np
import pandas as pd

from lab.catalogue import scorecard
from lab.catalogue.prediction import gains, judge
from lab.catalogue.registry import entry
from lab.catalogue.shipped import resolve_scale, shipped_results
from lab.estimates import Estimate, mean
from lab.papers.simplicity.grokking import CONVERGED, faster
from lab.papers.simplicity.images.functions import FROM_ZERO, SMOOTHED, _turns
from lab.papers.tables import compare_one, per_seed
from lab.papers.transformers.matrix import gain
from lab.papers.transformers.settings import printed
from lab.statistics import LEVEL


def table(name: str, which: str = "table") -> pd.DataFrame:
    return shipped_results(name, resolve_scale(entry(name))).table(which)


@cache
def claims() -> dict[str, dict]:
    return {row["id"]: row for row in scorecard.score()["claims"]}


def written(effect: float, low: float, high: float) -> str:
    return f"{effect:.3g} [{low:.3g}, {high:.3g}]"


def claim(identifier: str) -> str:
    row = claims()[identifier]
    return written(row["effect"], row["low"], row["high"])


def estimate(found: Estimate) -> str:
    return written(found.effect, *found.interval(LEVEL))


def rates() -> list[str]:
    """At the printed rate, as there is no claim of it; then at each one's best."""
    rows = table("transformers/rates").query("task == 'memorize' and split == 'test' and printed")
    return [estimate(gain(rows)), claim("transformers/rates/tuned-rates")]


def depths() -> list[str]:
    """Perplexity in percent: GELU with four layers against two, ours with four against GELU's four and two."""
    rows = table("transformers/table5")
    logs = {kind: np.log(part["perplexity"]) for kind, part in rows.groupby(["method", "layers"])}
    pairs = [(("GELU", 4), ("GELU", 2)), (("learned (M = 6)", 4), ("GELU", 4)), (("learned (M = 6)", 4), ("GELU", 2))]
    return [estimate(compare_one(logs, *pair).exp().shifted(-1).scaled(100)) for pair in pairs]


def baselines() -> list[str]:
    """Accuracy of GELU where Figure 5 is read."""
    rows = table("transformers/fig10")
    at = {task: printed(task).read for task in ("mano", "haystack")}
    runs = [rows.query("method == 'baseline' and task == @task and step == @step") for task, step in at.items()]
    return [estimate(mean(100 * of_task["accuracy"]).cut(0, 100)) for of_task in runs]


def levels() -> list[str]:
    rows, sizes = table("simplicity/fig11"), table("simplicity/sizes").query("width == 256")
    found = [faster(rows, level) for level in CONVERGED.values()]
    found += [faster(sizes[sizes["size"] == size]) for size in (0.5, 0.25)]
    return [written(one.effect, one.low, one.high) for one in found]


def irregularity() -> list[str]:
    functions = table("simplicity/fig16", "functions")
    turns = [_turns(functions, FROM_ZERO, knots) for knots in SMOOTHED.values()]
    return [estimate(mean(one["regression"] - one["classification"])) for one in turns[:2]]


def on_easier_sets() -> list[str]:
    rows = table("simplicity/table4")
    rows = rows[rows["layers"] == rows["layers"].max()] if "layers" in rows else rows
    groups = per_seed(rows, ["source", "target"])
    pairs = [(("all", name), ("ReLU", name)) for name in ("mnist", "fashion_mnist")]
    return [estimate(compare_one(groups, *pair)) for pair in pairs]


def errors() -> list[str]:
    """What learning in the model gains in the league; how much further off the ridge is than the constant, over
    tasks."""
    judged = judge(gains())
    return [claim("crossing/league/any-learning"), estimate(mean(judged.model - judged.constant, "tasks"))]


NUMBERS = {
    "transformers/rates": rates,
    "hypernetwork/tableA2": lambda: [claim("hypernetwork/tableA2/words")],
    "transformers/table5": depths,
    "crossing/multitask": lambda: [
        claim("crossing/multitask/all"),
        *(claim(f"simplicity/fig14/{name}") for name in ("every", "every-specific")),
    ],
    "transformers/fig10": baselines,
    "transformers/fig8": lambda: [claim(f"transformers/fig8/{name}") for name in ("local-optimum", "from-zero")],
    "transformers/table6": lambda: [claim(f"transformers/table6/{name}") for name in ("slow", "fast")],
    "simplicity/table4": on_easier_sets,
    "simplicity/fig11": levels,
    "simplicity/fig16": irregularity,
    "crossing/connectivity": lambda: [claim(f"crossing/connectivity/below-{base}") for base in ("relu", "gelu")],
    "crossing/league": errors,
}

if __name__ == "__main__":
    for name, numbers in NUMBERS.items():
        print(name, *numbers(), sep="  ")
