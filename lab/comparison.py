"""The result of a comparison: models of the user's with several functions, and what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from lab.data import measures
from lab.data.data import Data
from lab.data.files import word_of
from lab.data.measures import constant_score
from lab.differences import Difference, adjusted, check_level, difference_of, interval_of, paragraph
from lab.errors import ArgumentError, check_choice, check_whole, listed, shown
from lab.nonlinearity.part import as_module, as_part
from lab.plots import go
from lab.resolve import resolve
from lab.run import Run
from lab.search_results import LearnedFunctions
from lab.spec import UNCHANGED, Knots, Learned, RunSpec
from lab.store import Store
from lab.table_comparison import BETTER, TableComparison, scores_of
from lab.training.modules.maker import Maker

AT = ("end", "mean")  # of training: its last evaluation, or the mean of all


@dataclass(frozen=True)
class Trained:
    """One run of a comparison. search: which search found its function, 0 for the first and for what is given."""

    function: str
    search: int
    spec: RunSpec


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of `lab.compare`, which has an example.

    data: what was measured on. rates: the learning rate of each function. notes: what one should know of it, a line
        each.
    """

    data: Data
    rates: Mapping[str, float]
    notes: tuple[str, ...]
    runs: Sequence[Trained]
    tuning_runs: Sequence[Trained]
    store: Store
    maker: Maker

    @property
    def functions(self) -> list[str]:
        """Names of the functions, in the order given."""
        return list(dict.fromkeys(run.function for run in self.runs))

    @property
    def table(self) -> pd.DataFrame:
        """One row a run: function, search, seed, rate, every metric and the loss at the end of training, on `test`;
        whether it diverged."""
        return _ends(self.curves)

    @property
    def curves(self) -> pd.DataFrame:
        """One row a run and evaluation: function, search, seed, rate, step, every metric and the loss, diverged."""
        return _curves(self.runs, self.store)

    @property
    def tuning(self) -> pd.DataFrame:
        """As `table`, of the runs that chose the learning rates, on `val`; none where there was nothing to choose."""
        return _ends(_curves(self.tuning_runs, self.store))

    def difference(self, a: str, b: str, metric: str | None = None, at: str = "end", level: float = 0.95) -> Difference:
        """How much more function a scores than function b, on `test`, with its interval: a `Difference`. Of an accuracy
        in percentage points, else in the metric's own unit.

        metric: one of the data's metrics (default: the first), or "loss". at: "end" of training, or "mean" over it.
        level: of the interval, above 0 and below 1. It covers searches and seeds if a function was searched for several
        times, else seeds.

        Two groups of runs are compared by Welch's t; with fewer than six runs by a pooled variance, unless the
        variances differ. Diverged runs are left out. Raises ArgumentError for a name that was not compared.
        """
        for name, given in (("a", a), ("b", b)):
            check_choice(name, given, self.functions)
        if a == b:
            raise ArgumentError(f"a and b are both {shown(a)}; name two functions of {listed(self.functions)}")
        metric = self._metric(metric)
        check_choice("at", at, AT)
        check_level(level)
        unit, factor = measures.unit(self.data.metrics.get(metric, metric))
        groups = {name: [factor * seeds for seeds in self._values(name, metric, at)] for name in (a, b)}
        split = self.runs[0].spec.evaluate[0]
        suffix = ", mean over training" if at == "mean" else " at the end"
        what = f"{self.data.titled(metric)} on {split}, {a} minus {b}{suffix}"
        difference = difference_of(groups, self._covers(a, b), level, what, unit)
        ends = self.table if difference.diverged else pd.DataFrame()  # which takes a while to read
        alive = {name for name in difference.diverged if not ends.loc[ends["function"] == name, "diverged"].all()}
        if not alive:
            return difference
        return replace(
            difference, lacking=f"{metric} is NaN in all runs of {' and '.join(sorted(alive))} that did not diverge"
        )

    def report(
        self, metric: str | None = None, at: str = "end", level: float = 0.95, simultaneous: bool = False
    ) -> str:
        """A paragraph for a paper: how many runs, means, differences from the first function with their intervals and
        p-values, how these are made, which functions are better, and what the intervals cover.

        metric, at, level: as of `difference`. simultaneous: intervals and p-values hold for all functions together
        (Dunnett's where variances are alike, else Bonferroni's); without it, each holds alone, which is said.

        Numbers are those of `difference`: of an accuracy in percent and percentage points, else in the metric's unit.
        """
        metric, first = self._metric(metric), self.functions[0]
        unit, factor = measures.unit(self.data.metrics.get(metric, metric))
        values = {name: [factor * seeds for seeds in self._values(name, metric, at)] for name in self.functions}
        recipe, split = self.runs[0].spec.recipe, self.runs[0].spec.evaluate[0]
        rates = ", ".join(f"{name} {rate:g}" for name, rate in self.rates.items())
        tried = len(self.tuning_runs) // len(values)
        chosen = f"for each the best on val in {tried} other runs with it" if self.tuning_runs else "given"
        when = "at the end" if at == "end" else "as a mean over training"
        head = (
            f"Models were trained from scratch on {self.data.name} for {recipe.last:,} steps with each of {len(values)}"
            f" functions, and {self.data.titled(metric)} was measured on {split} {when}. Learning rates: {rates}"
            f" ({chosen})."
        )

        def difference(name: str, level: float) -> Difference:
            return self.difference(name, first, metric, at, level)

        differences = {
            name: (difference(name, level), interval_of({name: values[name], first: values[first]}))
            for name in self.functions[1:]
        }
        why = ""
        if simultaneous:
            differences, why = adjusted(differences, values, first, level, difference)
        better = measures.sign(self.data.loss if metric == "loss" else self.data.metrics[metric])
        percent = " %" if unit == "points" else ""
        text = paragraph(head, values, differences, percent, better if metric != "loss" else -1, why)
        return " ".join([text, *(f"{note[:1].upper()}{note[1:]}." for note in self.notes)])

    @classmethod
    def from_table(
        cls,
        source: str | Path | pd.DataFrame,
        *,
        group: str,
        seed: str,
        metric: str,
        pair_by: str | None = None,
        baseline: str | None = None,
        better: str | None = None,
    ) -> TableComparison:
        """Compare numbers that were trained elsewhere, as `lab.compare` compares its own.

        source: a table, one row a run: a data frame, or a CSV, TSV or Parquet file.
        group, seed, metric: its columns: what is compared (functions, methods), the run's seed, a number, in any unit.
        pair_by: a column, such as that of tasks, of splits of the data, or of the seeds where a seed fixes a split:
            differences are taken within each of its values, and the interval is over these. None: runs are independent.
        baseline: the group that others are compared with; default: the first.
        better: "higher" or "lower", for words of the report; a name such as "loss" is not taken for either.

        Returns a `TableComparison`: `.table`, `.difference(a, b)`, `.plot()`, `.report()`. Values that are missing or
        not finite are left out, as diverged runs are, and this is said. Raises ArgumentError for what is no number
        (text, dates, True), several rows of one run (as of several metrics, or steps, in one column), rows without a
        group or seed, columns of one name, and a single group.

        >>> runs = pd.DataFrame({"act": ["relu"] * 3 + ["mine"] * 3, "seed": [0, 1, 2] * 2})
        >>> runs["bits"] = [3.31, 3.28, 3.30, 3.21, 3.24, 3.22]
        >>> result = Comparison.from_table(runs, group="act", seed="seed", metric="bits")
        >>> print(result.difference("mine"))
        bits, mine minus relu: -0.07333 [-0.108, -0.0387] (95 % interval over seeds; 3 seeds)
        """
        group, seed, metric, pair_by, baseline = map(word_of, (group, seed, metric, pair_by, baseline))
        scores, notes = scores_of(source, group, seed, metric, pair_by)
        names = list(dict.fromkeys(scores["function"]))
        first = names[0] if baseline is None else check_choice("baseline", baseline, names)
        sign = 0 if better is None else BETTER[check_choice("better", better, BETTER)]
        result = TableComparison(scores, group, metric, pair_by, first, tuple(notes), sign)
        for name in result.functions[1:]:
            result.difference(name)  # refuses what shares no pair with the baseline
        return result

    def model(self, function: str, seed: int = 0, search: int = 0) -> nn.Module:
        """A trained model in evaluation mode, built by your own function, with the learned or given function in its
        place.
        """
        check_choice("function", function, self.functions)
        of_function = [run for run in self.runs if run.function == function]
        matches = [run for run in of_function if run.search == search and run.spec.seed == seed]
        if not matches:
            check_whole("seed", seed, 0)
            there = f"seeds {listed([str(s) for s in dict.fromkeys(run.spec.seed for run in of_function)])}"
            raise ArgumentError(
                f"no run of {function} with seed={shown(seed)}, search={shown(search)}; there are {there}"
            )
        net, part = self.maker.new(seed), matches[0].spec.model.phi
        if part != UNCHANGED:
            self.maker.put(net, as_module(resolve(part, self.store)))
        _, weights, _ = self.store.load(matches[0].spec)
        held = {**dict(net.named_parameters()), **dict(net.named_buffers())}
        with torch.no_grad():
            for name, value in weights.items():
                held[name].copy_(value)
        return net.eval()

    def gain_of(self, result: LearnedFunctions) -> dict[str, object]:
        """What a function that was searched for gains over the first of the others, as `lab.zoo` lists it: at the end
        and as a mean over training; above 0 is better, of an error, too."""
        part, phis = as_part(result.spline), ((run.function, run.spec.model.phi) for run in self.runs)
        owners = {name for name, phi in phis if isinstance(phi, (Knots, Learned)) and resolve(phi, self.store) == part}
        others = [name for name in self.functions if name not in owners]
        if not owners or not others:
            there = ", ".join(self.functions)
            raise ArgumentError(f"measured has no runs both with this function and without it; it compares {there}")
        name, metric = min(owners), next(iter(self.data.metrics))
        sign = measures.sign(self.data.metrics[metric])
        numbers: dict[str, object] = {}
        for at in AT:
            difference = self.difference(name, others[0], at=at)
            low, high = sorted((sign * difference.low, sign * difference.high))
            ends = {f"gain_{at}": sign * difference.mean, f"low_{at}": low, f"high_{at}": high}
            numbers |= {key: round(end, 4) for key, end in ends.items() if not np.isnan(end)}
        seeds = len({run.spec.seed for run in self.runs if run.function == name})
        of_errors = self.data.unit_of(metric)
        where = f"{metric}{f' in {of_errors}' if of_errors else ''} on {self.data.name}, over {others[0]}"
        steps = max(run.spec.recipe.last for run in self.runs)
        numbers |= {"unit": difference.unit, "seeds": seeds, "steps": steps, "measured": where}
        return numbers | {"covers": difference.covers}

    def plot(self, metric: str | None = None) -> go.Figure:
        """The metric over training with its interval, and of each run at the end; dashed: the constant answer."""
        from lab.plots.learning_curves import compared
        from lab.plots.page import Plot

        metric = self._metric(metric)
        split = self.runs[0].spec.evaluate[0]
        return Plot(compared(self.curves, metric, split, self.data.titled(metric), self._constant(metric, split)))

    def _metric(self, metric: str | None) -> str:
        """The metric, or the first of the data's; ArgumentError for one that they do not have."""
        known = (*self.data.metrics, "loss")
        return check_choice("metric", known[0] if metric is None else metric, known)

    def _constant(self, metric: str, split: str) -> float | None:
        """What the answer scores on a split that is best for the training split and always the same."""
        measure = self.data.loss if metric == "loss" else self.data.metrics[metric]
        learned, targets = (self.data.split(name)[1] for name in ("train", split))
        classes = len(self.data.classes) if self.data.is_classification else 0
        return constant_score(measure, learned, targets, classes)

    def __repr__(self) -> str:
        first = self.functions[0]
        rates = ", ".join(f"{name} (rate {self.rates[name]:g})" for name in self.functions)
        lines = [f"Comparison on {self.data.name!r}: {rates}; {len(self.runs)} runs"]
        lines += [str(self.difference(name, first)) for name in self.functions[1:]]
        return "\n".join([*lines, *self.notes])

    def _values(self, function: str, metric: str, at: str) -> list[np.ndarray]:
        """For each search of a function the values of its seeds."""
        curves = self.curves[self.curves["function"] == function]
        groups = curves.groupby(["search", "seed"], sort=False)[metric]  # NaN where a run has diverged
        per_run = groups.agg(lambda values: values.iloc[-1] if at == "end" else values.mean(skipna=False))
        return [group.to_numpy() for _, group in per_run.groupby("search", sort=False)]

    def _covers(self, *functions: str) -> str:
        parts = [run.spec.model.phi for run in self.runs if run.function in functions]
        if any(isinstance(part, Learned) for part in parts):
            return "seeds, of one search"
        return "seeds, of this one function" if any(isinstance(part, Knots) for part in parts) else "seeds"


def _ends(curves: pd.DataFrame) -> pd.DataFrame:
    """The last evaluation of each run."""
    if not len(curves):
        return curves
    return curves.groupby(["function", "search", "seed", "rate"], sort=False).tail(1).reset_index(drop=True)


def _curves(runs: Sequence[Trained], store: Store) -> pd.DataFrame:
    """One row a run and evaluation."""
    rows: list[dict[str, Any]] = []
    for trained in runs:
        run, spec = Run(trained.spec, store), trained.spec
        row = {"function": trained.function, "search": trained.search, "seed": spec.seed, "rate": spec.recipe.rate}
        scores = {name.removesuffix(f"_{spec.evaluate[0]}"): values for name, values in run.scores.items()}
        for number, step in enumerate(run.steps):
            here = {name: float(values[number]) for name, values in scores.items()}
            rows.append(row | {"step": int(step)} | here | {"diverged": run.diverged is not None})
    return pd.DataFrame(rows)
