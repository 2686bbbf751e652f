"""What a function will gain over GELU, guessed from what probes say of it before any training; and how wrong that is.

A ridge regression is fitted to the gains of shipped tables: of named functions in the league, each at its best rate,
and of functions learned for one algorithmic task in the models of every other. It is judged by leaving tasks out,
beside the best constant, and beside gains that were shuffled among the functions of a task.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from lab.catalogue.shipped import shipped_results
from lab.errors import check_type
from lab.nonlinearity.part import Function, as_module
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.papers.tables import at_best_rates, best_rates
from lab.probes.calling import Alone
from lab.probes.complexity import fourier_complexity, total_variation
from lab.probes.profile import random_network, square
from lab.probes.reading import reading
from lab.task_names import check_task_name

VAL, LEARNED, GELU, BASELINE = "val", "learned spline", "gelu", "baseline"  # as the shipped tables call them
MOST = 100.0  # points, to which gains are cut: further down, how far a function falls means little
STRENGTHS = np.logspace(-1, 4, 11)  # of the ridge
SHUFFLES = 20
NORMAL = torch.special.ndtri((torch.arange(2000, dtype=torch.float64) + 0.5) / 2000)  # what a first layer receives
PATHS = 60  # in random networks, and points on each
LEAST = 1e-12


@dataclass(frozen=True)
class Judgement:
    """How wrong guesses are for tasks that were left out: mean sizes of errors, by task, in points.

    model, constant: of the ridge, and of the median gain of the other tasks. shuffled (shuffles,): the mean over tasks,
    of the ridge where gains have changed places among the functions of a task.
    """

    model: pd.Series
    constant: pd.Series
    shuffled: np.ndarray

    @property
    def predicts(self) -> bool:
        """Whether the ridge is less wrong than the constant, and than with any shuffled gains."""
        return bool(self.model.mean() < min(self.constant.mean(), self.shuffled.min()))


@dataclass(frozen=True)
class Prediction:
    """A guess of what a function gains over GELU on a task, in points.

    gain: the ridge's, where it predicts anything at all, else the median gain of the other tasks. error: the mean size
    of the error of such guesses. properties: of the function. judgement: of the ridge.
    """

    task: str
    gain: float
    error: float
    properties: pd.Series = field(repr=False)
    judgement: Judgement = field(repr=False)

    def __str__(self) -> str:
        of = self.judgement
        errors = f"{of.model.mean():.1f} points wrong, the constant {of.constant.mean():.1f}"
        errors += f", the ridge of shuffled gains {of.shuffled.mean():.1f} ({len(of.model)} tasks left out in turn)"
        said = "" if of.predicts else " Properties of a function predict nothing here; this is the constant."
        return f"{self.gain:+.1f} ± {self.error:.1f} points over GELU on {self.task}.{said} The ridge is {errors}."


def predict_gain(phi: Function, task: str) -> Prediction:
    """What a function will gain over GELU on a task, before any training, and how wrong such guesses are.

    phi: a name ("tanh"), a name of the zoo, a lab.Spline or a module. task: its name; gains that were measured on it,
    or on its sample, are left out. Points are of accuracy (as numbers: of R² × 100).

    Raises ArgumentError for names that the lab does not know.

    >>> guess = predict_gain("tanh", "memorize")
    >>> guess.error > 5, guess.judgement.predicts
    (True, False)
    """
    check_task_name(check_type("task", task, str, "the name of a task, such as 'memorize'"))
    spline = zoo(phi) if isinstance(phi, str) and phi in zoo_names() else phi
    measured, judgement = properties(as_module(spline)), _judgement()
    table = gains()
    same = {name for name in table["task"] if name.replace("_sample", "") == task.replace("_sample", "")}
    others = table[~table["task"].isin(same)]
    gain = float(others["gain"].median())
    if judgement.predicts:
        gain = float(_fitted(others).predict(measured.to_numpy()[None])[0])
    errors = judgement.model if judgement.predicts else judgement.constant
    return Prediction(task, gain, float(errors.drop(same, errors="ignore").mean()), measured, judgement)


def properties(phi: nn.Module) -> pd.Series:
    """Of a function, what probes say of it without training.

    Where inputs are standard normal: mean and size (root of the mean square) of values, size of slopes, the shares of
    the variance that are linear and quadratic in the input, and how rough slopes are. In random networks of three
    hidden layers: total variation and frequency. What has no upper end is a logarithm.

    >>> properties(nn.Identity())[["linear", "slope", "variation"]].round(2).tolist()
    [1.0, 0.69, 0.0]
    """
    with reading(phi):
        y = phi(NORMAL.float()).detach().double()
    slopes, spread = y.diff() / NORMAL.diff(), y - y.mean()
    variance = spread.square().mean().clamp(min=LEAST)
    size, slope = (float(part.square().mean().sqrt().log1p()) for part in (y, slopes))
    shares = [float((spread * one).mean() ** 2 / variance) for one in (NORMAL, (NORMAL**2 - 1) / 2**0.5)]
    rough = float((slopes.diff().abs().mean() / slopes.abs().mean().clamp(min=LEAST)).sqrt())
    network, points = Alone(random_network(phi)), square(200)
    courses = [
        float(np.log1p(of(network, points, paths=PATHS, samples=PATHS).value))
        for of in (total_variation, fourier_complexity)
    ]
    names = ("mean", "size", "slope", "linear", "quadratic", "roughness", "variation", "frequency")
    return pd.Series(dict(zip(names, (float(y.mean()), size, slope, *shares, rough, *courses), strict=True)))


@lru_cache(maxsize=1)
def gains() -> pd.DataFrame:
    """One row a function and task of shipped tables: task, function, gain over GELU in points, and its properties."""
    league = shipped_results("crossing/league", "laptop").table()
    league = league[league["function"] != LEARNED]
    best = best_rates(league[league["split"] == VAL], ["task", "function"], "score")
    league = at_best_rates(league[league["split"] != VAL], best, ["task", "function"])
    matrix = shipped_results("transformers/fig5", "laptop").table()
    matrix = matrix[matrix["part"] == "MLP"].rename(columns={"architecture": "function"})
    matrix = matrix.assign(score=100 * matrix["accuracy"])
    parts = []
    for rows, base in ((league, GELU), (matrix, BASELINE)):
        means = rows.groupby(["task", "function"], sort=False)["score"].mean().unstack("task")
        parts.append((means - means.loc[base]).drop(base).stack().dropna().rename("gain").reset_index())
    shapes = {name: as_module(name) for name in parts[0]["function"].unique()}
    for task, rows in shipped_results("transformers/fig6", "laptop").table().groupby("task", sort=False):
        x, values = rows["x"].to_numpy(), torch.tensor(rows["value"].to_numpy(), dtype=torch.float32)
        shapes[str(task)] = Spline(values, float(x[0]), float(x[-1]))
    known = pd.DataFrame({name: properties(phi) for name, phi in shapes.items()}).T
    table = pd.concat(parts, ignore_index=True).join(known, on="function", how="inner")
    return table.assign(gain=table["gain"].clip(-MOST, MOST))


def judge(table: pd.DataFrame, shuffles: int = SHUFFLES, seed: int = 0) -> Judgement:
    """A ridge on a table of gains: task, function, gain, and properties; each task is left out in turn."""
    rng, tasks = np.random.default_rng(seed), list(dict.fromkeys(table["task"]))

    def errors(gain: pd.Series, fitted: bool) -> pd.Series:
        sizes = {}
        for task in tasks:
            out = table["task"] == task
            guess = _fitted(table[~out], gain[~out]).predict(_inputs(table[out])) if fitted else gain[~out].median()
            sizes[task] = (gain[out] - guess).abs().mean()
        return pd.Series(sizes)

    groups = table.groupby("task", sort=False)["gain"]
    shuffled = [errors(groups.transform(lambda g: rng.permutation(g.to_numpy())), True).mean() for _ in range(shuffles)]
    return Judgement(errors(table["gain"], True), errors(table["gain"], False), np.array(shuffled))


@lru_cache(maxsize=1)
def _judgement() -> Judgement:
    return judge(gains())


def _inputs(table: pd.DataFrame) -> np.ndarray:
    return table.drop(columns=["task", "function", "gain"], errors="ignore").to_numpy(float)


def _fitted(table: pd.DataFrame, gain: pd.Series | None = None) -> Any:
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    ridge = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS))
    return ridge.fit(_inputs(table), (table["gain"] if gain is None else gain).to_numpy())
