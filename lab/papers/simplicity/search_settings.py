"""Variants of the search of the simplicity paper (App. D), and functions that are carried from one image set to another
(App. E.3): hyper-parameters at each scale. They are those of `lab.papers.simplicity.images.settings`, and so
are their sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from lab.papers.origin import Origin
from lab.papers.simplicity.images.settings import REGRESSION, RELU, TITLES, Setting, images, present
from lab.papers.simplicity.images.settings import origin as image_origin
from lab.papers.simplicity.settings import KNOT_RATES, both_starts
from lab.scale import model_scale
from lab.spec import EpisodeSpec, InterpolatedSpec, Learned, Part, RunSpec, replace

SET, LAYERS = "fashion_mnist", 1  # App. D
DEEP = 4  # hidden layers, App. E.3
SEEDS = {"smoke": 2, "laptop": 6, "overnight": 10, "paper": 10}  # App. D: 10
# Each with restarts of its own: what a search happens to find varies more than what seeds make of it.
SEARCHES = {"smoke": 1, "laptop": 1, "overnight": 10, "paper": 1}
DRAWN_SEARCHES = SEARCHES | {"overnight": 30}  # Figure 15, which trains next to nothing with what they find
# Seeds with ReLU for one with a learned function: its spread is known from these alone, that of functions from all.
RELU_TIMES = {"smoke": 1, "laptop": 1, "overnight": 4, "paper": 1}
ALL = "all"  # the function that is learned on all sets
LINEAR = "linear"
INTERPOLATIONS = {"nearest": "nearest neighbor", "linear": "linear", "cubic": "cubic spline"}
STARTS = {"relu": "from ReLU", "zero": "from zero"}

_SHARED_RATES = {"smoke": (0.1,), "laptop": (0.05,), "overnight": (0.05, 0.1), "paper": (0.05,)}  # App. E.3
_MOST = {"smoke": 2, "laptop": 80, "overnight": 160, "paper": 400}  # episodes


def ablated() -> str:
    """The set of App. D, and what is done with it, in words."""
    return f"{TITLES[SET]} as {REGRESSION}"


def setting(scale: str) -> Setting:
    """The models of App. D: a night has more searches and seeds of a laptop's."""
    return images(model_scale(scale), SET, REGRESSION)


def search(scale: str, interpolation: str = LINEAR, objective: str = "val", number: int = 0) -> EpisodeSpec:
    """A search for the function of models with one hidden layer, from ReLU and from zero, as in App. C.

    interpolation: "linear", or one of `lab.training.inner_task`. objective: of the knots, "val", "train" or "test".
    number: of several searches; their restarts have other seeds.

    >>> search("laptop", "cubic").interpolation, [r.start for r in search("laptop", objective="train").restarts]
    ('cubic', ['relu', 'relu', 'zero', 'zero'])
    """
    of = model_scale(scale)
    spec = _with(setting(scale).base, of, LAYERS, KNOT_RATES[of], number, objective=objective)
    if interpolation == LINEAR:
        return spec
    same = {field.name: getattr(spec, field.name) for field in fields(spec)}
    return InterpolatedSpec(**same, interpolation=interpolation)


def searches_of(
    scale: str, interpolation: str = LINEAR, objective: str = "val", searches: Mapping[str, int] = SEARCHES
) -> list[tuple[dict, EpisodeSpec]]:
    """The searches of a kind; where there are several, each with its number as a label."""
    each = [search(scale, interpolation, objective, number) for number in range(searches[scale])]
    return [({"search": number} if len(each) > 1 else {}, one) for number, one in enumerate(each)]


def _with(
    base: EpisodeSpec, scale: str, layers: int, rates: Sequence[float], number: int = 0, **changes
) -> EpisodeSpec:
    """A search of the image figures with another depth, and restarts from ReLU and from zero at each of the rates."""
    model, restarts = replace(base.model, layers=layers), both_starts(scale, rates, number)
    return replace(base, model=model, restarts=restarts, episodes=min(base.episodes, _MOST[scale]), **changes)


def relu(scale: str, seeds: int) -> list[RunSpec]:
    """Models of App. D with ReLU."""
    return setting(scale).runs(RELU, LAYERS, seeds)


def learned(scale: str, seeds: int, spec: EpisodeSpec, restart: int | None = None) -> list[RunSpec]:
    """The same with the function that a search finds, or one of its restarts."""
    phi = Learned(spec, "phi" if restart is None else f"phi@{restart}")
    return [replace(run, model=replace(run.model, phi=phi)) for run in relu(scale, seeds)]


def shared_search(scale: str, source: str) -> EpisodeSpec:
    """A search for one function for four hidden layers on a set, or on all sets, each in its turn (App. E.3).

    >>> shared_search("laptop", ALL).episodes // shared_search("laptop", "mnist").episodes
    2
    """
    sets = present(scale) if source == ALL else (source,)
    settings = [images(scale, name, REGRESSION) for name in sets]
    base = _with(settings[0].base, scale, DEEP, _SHARED_RATES[scale])
    tasks = tuple(one.task for one in settings)
    return replace(base, task=tasks if len(tasks) > 1 else tasks[0], episodes=base.episodes * len(tasks))


def transfer_runs(scale: str, source: str, target: str, layers: int, seeds: int) -> list[RunSpec]:
    """Models of a set with the function of another one, of all (ALL), or with ReLU."""
    runs = images(scale, target, REGRESSION).runs(RELU, layers, seeds)
    phi: Part = "relu" if source == RELU else Learned(shared_search(scale, source), "phi")
    return [replace(run, model=replace(run.model, phi=phi)) for run in runs]


def notes(scale: str, *more: str, searches: Mapping[str, int] = SEARCHES) -> list[str]:
    """What captions say of the searches, and more."""
    number = searches[scale]
    times = "once, by the restarts of one search" if number == 1 else f"by {number} searches, each with restarts"
    return [f"functions are learned {times}; seeds are those of the models that are trained with them", *more]


def origin(names: tuple[str, ...] = (SET,), transfer: bool = False) -> Origin:
    """Of entries that train with these settings. transfer: those of App. E.3, else those of App. D."""

    # a night has the whole sets of App. E.3, and of App. D more searches and seeds of a laptop's models
    data_scale = (lambda scale: scale) if transfer else model_scale

    def numbers(scale: str) -> dict[str, tuple[object, str]]:
        of = data_scale(scale)
        one = images(of, names[0], REGRESSION)
        spec = shared_search(scale, names[0]) if transfer else search(scale)
        rates = sorted({images(of, name, REGRESSION).recipe.rate for name in present(of, names)})
        recipe, guess = one.recipe, "guess, the paper does not say"
        return {
            "width": (one.model.width, guess),
            "optimizer": (recipe.optimizer, guess),
            "rate": (rates, "sweep with ReLU on val at laptop scale"),
            "batch": (recipe.batch, "paper, App. E.1"),
            "steps": (recipe.steps, guess),
            "weights averaged over the last steps": (recipe.average, "paper, App. E.1"),
            "search: hidden layers": (spec.model.layers, "paper, App. E.3" if transfer else "paper, App. D"),
            "search: width": (spec.model.width, "guess; the paper has small widths"),
            "search: batch": (spec.inner.batch, "paper, App. E.1"),
            "search: episodes a set": (spec.episodes, guess),
            "search: most inner steps": (spec.inner.steps, guess),
            "search: inner steps differentiated": (spec.restarts[0].window, "paper, App. C: typically 5"),
            "search: knots": (spec.restarts[0].knots, "paper, App. C: typically 50, on [-5, 5]"),
            "search: restarts": (len(spec.restarts), guess if transfer else "paper, Table 1"),
            "search: rates of knots": (sorted({one.rate for one in spec.restarts}), "paper, App. C: .01 to .2"),
        }

    return image_origin(names, numbers, data_scale)
