"""Variants of the search of the simplicity paper (App. D), and functions that are carried from one image set to another
(App. E.3): hyper-parameters at each scale. They are those of `lab.figures.image_settings`, and so are their sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from lab import datasets
from lab.figures import image_settings
from lab.figures.image_settings import (
    PER_LAYER,
    REGRESSION,
    RELU,
    SEARCH_WIDTHS,
    SETS,
    TITLES,
    Setting,
    data_of,
    images,
    present,
)
from lab.scale import check_scale
from lab.spec import EpisodeSpec, InterpolatedSpec, Learned, Part, RunSpec, replace

SET, LAYERS = "fashion_mnist", 1  # App. D
DEEP = 4  # hidden layers, App. E.3
SEEDS = {"smoke": 2, "laptop": 6, "paper": 10}  # App. D: 10
TRANSFER_SEEDS = {"smoke": 1, "laptop": 3, "paper": 6}  # App. E.3 does not say how many
DEPTHS = {"smoke": (1, 2), "laptop": (1, 2, 3, 4), "paper": (1, 2, 3, 4)}  # Figure 19
ALL = "all"  # the function that is learned on all sets
LINEAR = "linear"


def ablated() -> str:
    """The set of App. D, and what is done with it, in words."""
    return f"{TITLES[SET]} as {REGRESSION}"


def setting(scale: str) -> Setting:
    """The models of App. D."""
    return images(scale, SET, REGRESSION)


def search(scale: str, interpolation: str = LINEAR, objective: str = "val") -> EpisodeSpec:
    """A search for the function of models with one hidden layer, from ReLU and from zero, as in App. C.

    interpolation: "linear", or one of `lab.training.interpolation`. objective: of the knots, "val", "train" or "test".

    >>> search("laptop", "cubic").interpolation, [r.start for r in search("laptop", objective="train").restarts]
    ('cubic', ['relu', 'relu', 'zero', 'zero'])
    """
    found = replace(setting(check_scale(scale)).search(PER_LAYER, LAYERS), objective=objective)
    if interpolation == LINEAR:
        return found
    same = {field.name: getattr(found, field.name) for field in fields(found)}
    return InterpolatedSpec(**same, interpolation=interpolation)


def relu(scale: str, seeds: int) -> list[RunSpec]:
    """Models of App. D with ReLU."""
    return setting(scale).runs(RELU, LAYERS, seeds)


def learned(scale: str, seeds: int, found: EpisodeSpec, restart: int | None = None) -> list[RunSpec]:
    """The same with the function that a search finds, or one of its restarts. A function a layer, of one layer."""
    phi = (Learned(found, "phi0" if restart is None else f"phi0@{restart}"),)
    return [replace(run, model=replace(run.model, phi=phi)) for run in relu(scale, seeds)]


def shared(scale: str, source: str) -> EpisodeSpec:
    """A search for one function for four hidden layers on a set, or on all sets, each in its turn (App. E.3).

    >>> shared("laptop", ALL).episodes // shared("laptop", "mnist").episodes
    2
    """
    sets = present(check_scale(scale)) if source == ALL else (source,)
    found = [images(scale, name, REGRESSION) for name in sets]
    base, tasks = found[0].search(PER_LAYER, DEEP), tuple(one.task for one in found)
    task = tasks if len(tasks) > 1 else tasks[0]
    return replace(base, task=task, learn="shared", episodes=base.episodes * len(tasks))


def moved(scale: str, source: str, target: str, layers: int, seeds: int) -> list[RunSpec]:
    """Models of a set with the function of another one, of all (ALL), or with ReLU."""
    runs = images(scale, target, REGRESSION).runs(RELU, layers, seeds)
    phi: Part = "relu" if source == RELU else Learned(shared(scale, source), "phi")
    return [replace(run, model=replace(run.model, phi=phi)) for run in runs]


@dataclass(frozen=True)
class Variants:
    """Origin of entries that train with these settings. sets: of the paper, those that the entry is about; layers:
    hidden ones; transfer: whether functions are carried over."""

    sets: tuple[str, ...] = (SET,)
    layers: tuple[int, ...] = (LAYERS,)
    guesses: Sequence[str] = image_settings.GUESSES

    def data(self, scale: str) -> list[dict]:
        """The sets that are here, with the digests of their content."""
        known = [datasets.entry(data_of(scale, name)) for name in self._here(scale)]
        return [{"name": one.name, "from": f"{one.name} ({one.licence})", "sha256": one.digest} for one in known]

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """Numbers that all runs and searches share."""
        paper = self._fields("paper")
        return {name: {"value": value, "from": source if value == paper[name][0] else f"reduced for scale {scale}"}
                for name, (value, source) in self._fields(scale).items()}  # fmt: skip

    def departures(self, scale: str) -> list[str]:
        """Sets that are not here, samples in place of whole sets, and what is smaller than at paper scale."""
        found, paper = [], self._fields("paper")
        if missing := [TITLES[name] for name in self.sets if name not in self._here(scale)]:
            found.append(f"without {' and '.join(missing)}, of which no data is here")
        sampled = {data_of(scale, name) for name in self._here(scale)} - set(self.sets)
        if sampled:
            found.append(f"{', '.join(sorted(sampled))}: a part of the set")
        told = ", ".join(f"{name} {value} (paper scale {paper[name][0]})"
                         for name, (value, _) in self._fields(scale).items() if value != paper[name][0])  # fmt: skip
        return [*found, told] if told else found

    def _here(self, scale: str) -> tuple[str, ...]:
        return tuple(name for name in self.sets if name in present(scale))

    def _fields(self, scale: str) -> dict[str, tuple[object, str]]:
        one = setting(scale)
        base, recipe = one.search(PER_LAYER, self.layers[-1]), one.recipe
        rates = sorted({restart.rate for restart in base.restarts})
        return {
            "hidden layers": (list(self.layers), "paper, App. D" if self.layers == (LAYERS,) else "paper, App. E.3"),
            "width": (one.model.width, "guess"),
            "optimizer": (recipe.optimizer, "guess"),
            "rate": (recipe.rate, "sweep with ReLU on val at laptop scale (lab.figures.image_settings)"),
            "batch": (recipe.batch, "paper, App. E.1: typically"),
            "steps": (recipe.steps, "guess"),
            "weights averaged over the last steps": (recipe.average, "paper, App. E.1"),
            "search: width": (SEARCH_WIDTHS[scale], "guess"),
            "search: episodes": (base.episodes, "guess"),
            "search: most inner steps": (base.inner.steps, "guess"),
            "search: inner steps differentiated": (base.restarts[0].window, "paper, App. C: typically"),
            "search: knots": (base.restarts[0].knots, "paper, App. C: typically 50, on [-5, 5]"),
            "search: rates of knots": (rates, "paper, App. C: .01 to .2"),
            "search: restarts": (len(base.restarts), "paper, Table 1: 4"),
        }


EVERY = SETS  # of App. E.3
