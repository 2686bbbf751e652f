"""Models on tables (simplicity paper, Sec. 3.3, App. E.4): hyper-parameters at each scale, and where each comes from.

`paper` has what Appendix E.4 says, with the ranges of App. C for the search, on every table of the benchmark that is
here; `laptop` is narrower, takes smaller batches and fewer steps, and trains on tables that the lab ships; `overnight`
has the paper's width on ten of the sixteen tables (`lab data fetch credit`), five times the laptop's steps, rates of
each table and method, and longer searches for its functions; `smoke` only runs the machinery.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from lab.data import datasets
from lab.data.shape import TableShape
from lab.papers.entry import Origin, beside_scale, compared, shipped
from lab.scale import SCALES, check_scale, model_scale
from lab.spec import ConstantRate, EpisodeSpec, Learned, Perceptron, Restart, RunSpec, replace
from lab.tasks import Tabular
from lab.tasks.table import sizes

LINEAR, NEIGHBOURS, TREES = "linear model", "k-NN", "boosted trees"
RELU, TANH, LEARNED, IAFS = "ReLU", "TanH", "learned", "IAFs"
METHODS = (LINEAR, NEIGHBOURS, TREES, RELU, TANH, LEARNED, IAFS)
NETWORKS = (RELU, TANH, LEARNED, IAFS)
STARTS = ("relu", "zero")  # of the searches for "learned" (App. C)
START = "zero"  # of the function that is looked at one by one: on val of covertype_sample better than from ReLU
SEEDS = {"smoke": 2, "laptop": 3, "overnight": 3, "paper": 3}
LAYERS = {"smoke": (1, 2), "laptop": (1, 2, 3), "paper": (1, 2, 3, 4)}  # the best on `val` counts
WIDTHS = {  # of Figures 8 and 21
    "smoke": (4, 8),
    "laptop": (16, 64, 256),
    "overnight": (32, 64, 256),
    "paper": (32, 64, 128, 256, 512),
}
# The paper tunes α in [.01, 8], and does not say with how many values.
PREFACTORS = {
    "smoke": (1.0, 8.0),
    "laptop": (0.33, 1.0, 2.4, 5.4),
    "paper": (0.01, 0.03, 0.1, 0.33, 0.5, 1.0, 1.6, 2.4, 3.6, 5.4, 8.0),
}
TRIES = {"smoke": 1, "laptop": 6, "overnight": 20, "paper": 50}  # settings of k-NN and trees
_TABLES = {
    "smoke": ("bank-marketing",),
    "laptop": ("covertype_sample", "MagicTelescope", "bank-marketing"),
    "overnight": (
        *("credit", "covertype_sample", "house_16H", "MagicTelescope", "bank-marketing", "eye_movements"),
        *("Diabetes130US", "default-of-credit-card-clients", "california", "heloc"),
    ),
}

# Chosen once with ReLU, as in the paper (docs/log.md).
RATE, RATE_FROM = 0.003, "sweep on val with ReLU at laptop scale, within .005 of the best"
_WIDTH = {"smoke": 8, "laptop": 64, "overnight": 256, "paper": 256}
_RECIPE = {
    "smoke": ConstantRate(steps=4, rate=RATE, batch=256, optimizer="rmsprop", average=2, every=2),
    "laptop": ConstantRate(steps=600, rate=RATE, batch=512, optimizer="rmsprop"),
    "overnight": ConstantRate(steps=3_000, rate=RATE, batch=512, optimizer="rmsprop"),
    "paper": ConstantRate(steps=3_000, rate=RATE, batch=4096, optimizer="rmsprop"),
}
# Rates of ReLU and TanH, of functions learned from ReLU, from zero, and of the inputs: each the best on `val`, with two
# hidden layers, of three rates or more, none of them an end of what was tried but by .25 points (docs/log.md).
_TUNED = {
    "credit": (0.001, 0.001, 0.0003, 0.0003),
    "covertype_sample": (0.01, 0.003, 0.003, 0.003),
    "house_16H": (0.001, 0.001, 0.001, 0.003),
    "MagicTelescope": (0.01, 0.001, 0.003, 0.001),
    "bank-marketing": (0.01, 0.0003, 0.001, 0.003),
    "eye_movements": (0.01, 0.003, 0.001, 0.01),
    "Diabetes130US": (0.0003, 0.003, 0.003, 0.001),
    "default-of-credit-card-clients": (0.0003, 0.0001, 0.003, 0.0003),
    "california": (0.003, 0.003, 0.001, 0.01),
    "heloc": (0.0003, 0.001, 0.001, 0.0003),
}
_KNOTS = {"smoke": 21, "laptop": 101, "paper": 101}
# Of hidden functions, and of input functions, which noise harms sooner; docs/log.md has what was tried.
_RATES = {"smoke": (0.05,), "laptop": (0.05, 0.2), "paper": (0.01, 0.05, 0.2)}
_INPUT_RATES = {"smoke": (0.05,), "laptop": (0.02, 0.05), "overnight": (0.05, 0.1), "paper": (0.01, 0.02, 0.05, 0.2)}
_INPUT_KNOTS = {"smoke": 21, "laptop": 51, "paper": 51}
# Of hidden and of input functions.
_EPISODES = {"smoke": (2, 2), "laptop": (80, 80), "overnight": (160, 400), "paper": (200, 200)}
# Width of the models that functions are learned with, most inner steps, and by how many an episode has more.
_SEARCHED = {"smoke": (4, 2, 1.0), "laptop": (32, 150, 2.0), "paper": (64, 1_000, 5.0)}
_DEPTH = 2  # hidden layers that functions are learned with; at paper scale each depth has a search of its own
_REACH, _DATA_REACH = 5.0, 1.0  # of the knots of hidden and of input functions; the data is scaled to [-1, 1]
# Where the search for input functions has settings of its own.
OF_INPUTS = ("search for input functions: episodes", "search for input functions: rates of knots")

GUESSES = (
    "the split is the tabular benchmark's; weights are He-normal, biases uniform, as everywhere in the lab",
    "knots on [-5, 5], those of input functions on [-1, 1]; hidden layers of networks with IAFs have ReLU",
    "steps, and the number of values of α that are tried",
)


def tables(scale: str = "laptop") -> tuple[str, ...]:
    """The tables of a scale, in the benchmark's order: those that the lab ships; of a night all that could be had when
    it was planned; at paper scale all of the benchmark's that are here, of a large one its sample where only that is.

    >>> tables("laptop")
    ('covertype_sample', 'MagicTelescope', 'bank-marketing')
    >>> len(tables("overnight"))
    10
    """
    if check_scale(scale, SCALES) in _TABLES:
        return _TABLES[scale]
    return tuple(name for name in map(datasets.best, datasets.BENCHMARK) if name)


def rows_tested(name: str) -> int:
    """How many rows of a table models are tested on.

    >>> rows_tested("MagicTelescope"), rows_tested("covertype_sample")
    (2810, 7000)
    """
    shape = datasets.entry(name).shape
    assert isinstance(shape, TableShape)
    return sizes(shape.rows)["test"]


def network(
    scale: str = "laptop",
    table: str = "MagicTelescope",
    method: str = RELU,
    layers: int = _DEPTH,
    start: str = "relu",
    prefactor: float = 1.0,
    width: int | None = None,
    seed: int = 0,
    trajectory: int | None = None,
) -> RunSpec:
    """A run of a method that is a network. start: of the search that a learned function comes from.

    >>> network("paper", method=TANH, prefactor=8.0).model.width, network(method=LINEAR).model.layers
    (256, 0)
    >>> network(method=IAFS).model.inputs.search.learn
    'inputs'
    """
    model = Perceptron(0 if method == LINEAR else layers, _WIDTH[scale] if width is None else width)
    if method == TANH:
        model = replace(model, phi="tanh", prefactor=prefactor)
    if method == LEARNED:
        model = replace(model, phi=Learned(search(scale, table, start, layers), "phi"))
    if method == IAFS:
        model = replace(model, inputs=Learned(search(scale, table, "identity", layers), "inputs"))
    recipe = replace(_RECIPE[scale], rate=rate_of(scale, table, method, start), trajectory=trajectory)
    return RunSpec(Tabular(table), model, recipe, seed, ("test", "train"))


def rate_of(scale: str, table: str, method: str = RELU, start: str = "relu") -> float:
    """The learning rate of a method on a table; that of a network with tanh(αx) is divided by α.

    >>> rate_of("laptop", "heloc"), rate_of("overnight", "heloc")
    (0.003, 0.0003)
    """
    if scale != "overnight":
        return RATE
    of_relu, from_relu, from_zero, of_inputs = _TUNED[table]
    if method == LEARNED:
        return {"relu": from_relu, "zero": from_zero}[start]
    return of_inputs if method == IAFS else of_relu


def smaller(table: pd.DataFrame, scale: str) -> str:
    """Networks that stand in for the paper's."""
    ours, theirs = (network(one).model.width for one in (scale, "paper"))
    return "" if ours == theirs else f"networks of width {ours} in place of {theirs}"


def search(scale: str, table: str, start: str, layers: int = _DEPTH) -> EpisodeSpec:
    """The search for a table's function from "relu" or "zero", or from the "identity" for one an input (IAFs).

    >>> search("laptop", "MagicTelescope", "zero", layers=3) == search("laptop", "MagicTelescope", "zero", layers=1)
    True
    """
    inputs, like = start == "identity", model_scale(scale)
    width, steps, growth = _SEARCHED[like]
    reach, depth = _DATA_REACH if inputs else _REACH, layers if scale == "paper" else _DEPTH
    rates, knots = (_INPUT_RATES, _INPUT_KNOTS) if inputs else (_RATES, _KNOTS)
    recipe = _RECIPE[like]
    model = Perceptron(depth, width, inputs="identity" if inputs else None)
    inner = ConstantRate(steps, recipe.rate, recipe.batch, recipe.optimizer)
    retrain = replace(recipe, steps=300) if like == "laptop" else recipe
    tries = enumerate(rates.get(scale, rates[like]))
    restarts = tuple(Restart(seed, rate, knots[like], window=5, start=start) for seed, rate in tries)
    how: dict[str, Any] = {"learn": "inputs" if inputs else "shared", "low": -reach, "high": reach, "growth": growth}
    how |= {"episodes": _EPISODES[scale][inputs], "normalized": True, "retrain_width": _WIDTH[like]}
    return EpisodeSpec(Tabular(table), model, inner, retrain, restarts, **how)


def origin(
    names: Callable[[str], Sequence[str]] = tables, theirs: Sequence[str] = (), without: Sequence[str] = ()
) -> Origin:
    """Of entries that train these networks. names: the tables of a scale. theirs: the paper's, where an entry is not
    about all of them. without: what does not belong to its setting, because it is not used or varied."""

    def numbers(scale: str) -> dict[str, tuple[object, str]]:
        return {name: fact for name, fact in _fields(scale).items() if name not in without}

    return Origin(
        lambda scale: shipped(names(scale)),
        lambda scale: [*_other_tables(scale, names(scale), theirs), *compared(numbers, scale)],
        GUESSES,
        words=beside_scale,
    )


def _other_tables(scale: str, names: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """How tables differ from the paper's: samples, and those that are absent by name."""
    whole = {name: name.removesuffix("_sample") for name in names}
    notes = [f"{name} stands for {of}, of which it is a random part" for name, of in whole.items() if name != of]
    missing = [name for name in datasets.BENCHMARK if name not in names and f"{name}_sample" not in names]
    if theirs and (missing := [name for name in theirs if name in missing]):
        notes.append(f"the paper has {', '.join(missing)}{', too' if set(theirs) & set(whole.values()) else ''}")
    elif missing and not theirs:
        notes.append(f"{len(names)} of the paper's 16 tables; left out: {', '.join(missing)}")
    if scale == "overnight":
        notes.append(
            "each table and function has its best rate, chosen on val, TanH that of ReLU (paper: all have ReLU's)"
        )
    elif len(names) > 1:
        notes.append("one learning rate for all tables, chosen with ReLU (paper: one for each table)")
    return notes


def _fields(scale: str) -> dict[str, tuple[object, str]]:
    like, run, spec = model_scale(scale), network(scale), search(scale, "MagicTelescope", "zero")
    inputs, rates = search(scale, "MagicTelescope", "identity"), sorted({restart.rate for restart in spec.restarts})
    tuned = sorted(set(sum(_TUNED.values(), ()))) if scale == "overnight" else run.recipe.rate
    theirs, search_theirs = "paper, App. E.4", "paper, App. C"
    return {
        "hidden layers": (list(LAYERS[like]), f"{theirs}: 1 to 4, chosen on val"),
        "width": (run.model.width, theirs),
        "optimizer": (run.recipe.optimizer, theirs),
        "batch": (run.recipe.batch, theirs),
        "steps": (run.recipe.steps, "guess"),
        "rate (divided by α)": (tuned, "sweep on val" if scale == "overnight" else RATE_FROM),
        "weights averaged over the last steps": (run.recipe.average, "paper, App. E.1"),
        "values of α": (list(PREFACTORS[like]), f"{theirs}: within .01 to 8, chosen on val"),
        "settings tried for k-NN and trees": (TRIES[scale], "guess"),
        "search: width": (spec.model.width, "guess: the paper says small"),
        "search: most inner steps": (spec.inner.steps, "guess"),
        "search: episodes": (spec.episodes, "guess"),
        "search: rates of knots": (rates, f"{search_theirs}: .01 to .2"),
        "search: knots": (spec.restarts[0].knots, f"{search_theirs}: 50 to 400"),
        "search: inner steps differentiated": (spec.restarts[0].window, search_theirs),
        OF_INPUTS[0]: (inputs.episodes, "guess"),
        OF_INPUTS[1]: (sorted({restart.rate for restart in inputs.restarts}), f"{search_theirs}: .01 to .2"),
    }
