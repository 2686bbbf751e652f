"""Hyper-parameters of the hypernetwork paper's figures at each scale, and where each comes from; scores at the end of
training, the best point of a grid, and claims that several sections make of them.

`paper` is Table A3 with the sizes of the reference code. `laptop` is reduced until all figures train on two CPU cores;
`overnight` has the same models and tasks and trains until their latent codes have clusters; `smoke` only runs the
machinery.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import attrgetter

import pandas as pd

from lab.errors import ArgumentError
from lab.models.hyper import method
from lab.papers.claims import Verdict, all_of
from lab.papers.entry import Field, Origin
from lab.papers.tables import Labelled, paired, per_run
from lab.run import Run
from lab.scale import SCALES, check_scale
from lab.spec import AdamWCosine, HyperModel, RunSpec, as_printed, replace
from lab.tasks import Logic, Sraven

FIGURE_METHODS = ("softmax", "linear", "hyla")
FRACTIONS = (0.3, 0.5, 0.7)  # of the functions held out (Fig. 2C)
# Tokens (Fig. 2C). On two cores the runs with 16 and 32 take about 30 minutes; those with 64 would take 35 more.
LENGTHS = {"smoke": (8, 16), "laptop": (16, 32), "overnight": (32,), "paper": (16, 32, 64, 96)}
READ, READ_HELD_OUT = 32, 0.7  # whose latent codes are looked at (Figure A2; the paper does not say for 2B and 2D)
# SRAVEN's problems trained on (Fig. 4A); None: as many as the setting has. The paper's marks are 25 to 40 million.
PROBLEMS = {
    "smoke": (None,),
    "laptop": (256_000, None),
    "overnight": (1_280_000, None),
    "paper": (20_000_000, 40_000_000),
}
# The fewer ones, of figures that vary something else: with 256,000 models are on the rise (docs/log.md).
FEATURES = (2, 4)  # K, at smaller scales and at that of the paper
FEWER = {scale: numbers[:1] for scale, numbers in PROBLEMS.items()}
# What Figures 4B, 5C and A5 vary
LAYERS = {"smoke": (2, 4), "laptop": (2, 4, 8), "overnight": (2, 4, 8), "paper": (4, 8, 16)}
HEADS = {"smoke": (1, 16), "laptop": (1, 4, 16), "overnight": (1, 16), "paper": (1, 2, 4, 8, 16)}
HELD_OUT = {
    "smoke": (0.25, 0.5),
    "laptop": (0.25, 0.5, 0.75),
    "overnight": (0.25, 0.75),
    "paper": (0.1, 0.3, 0.5, 0.7, 0.9),
}
SEEDS = {"smoke": 2, "laptop": 3, "overnight": 3, "paper": 3}
ONE = dict.fromkeys(SCALES, 1)
POINT = ["rate", "decay", "warmup"]  # of the grid that hyper-parameters are picked from


@dataclass(frozen=True)
class HyperSetting:
    """One task, model and recipe; `rates`, `decays` and `warmups` are the grid that the paper picks from (Table A3)."""

    task: Logic | Sraven
    model: HyperModel
    recipe: AdamWCosine
    evaluate: tuple[str, ...]
    rates: tuple[float, ...]
    decays: tuple[float, ...]
    warmups: tuple[int, ...]

    def runs(self, seeds: int) -> list[RunSpec]:
        """One run a seed."""
        return [RunSpec(self.task, self.model, self.recipe, seed, self.evaluate) for seed in range(seeds)]

    def grid(self, seeds: int) -> list[RunSpec]:
        """The runs of every point of the grid; the best is to be picked on `val`. They all train as one fleet."""
        points = product(self.rates, self.decays, self.warmups)
        recipes = [replace(self.recipe, rate=rate, decay=decay, warmup=warmup) for rate, decay, warmup in points]
        return [replace(run, recipe=recipe) for recipe in recipes for run in self.runs(seeds)]

    def planned(self, scale: str, seeds: int, **labels: object) -> list[tuple[dict, RunSpec]]:
        """The runs of an entry with these labels and their point of the grid; at paper scale, of every point."""
        specs = self.grid(seeds) if scale == "paper" else self.runs(seeds)
        return [(labels | {name: getattr(spec.recipe, name) for name in POINT}, spec) for spec in specs]

    @property
    def problems(self) -> int:
        """Examples that a run is trained on."""
        return self.recipe.steps * self.recipe.batch


def logic(
    scale: str = "laptop", name: str = "softmax", length: int = 32, held_out: float = 0.7, printed: bool = False
) -> HyperSetting:
    """Fuzzy logic with the method `name` of `lab.models.hyper`. printed: the model as the paper's text reads.

    >>> logic("paper", "hyla").grid(seeds=3)[0].recipe.steps
    50000
    """
    task = Logic(length=length, held_out=held_out)
    model = HyperModel(layers=2, heads=8, width=128, key_width=16, mlp_width=256)
    recipe = AdamWCosine(steps=50_000, rate=0.001, batch=128, decay=0.1, warmup=100, every=10_000, examples=16_000)
    if check_scale(scale, SCALES) == "laptop":
        recipe = replace(recipe, steps=3_000, rate=_LAPTOP_LOGIC_RATE, batch=64, every=500, examples=2_048)
    if scale == "overnight":
        recipe = replace(recipe, steps=15_000, rate=_LAPTOP_LOGIC_RATE, every=1_500, examples=4_096)
    if scale == "smoke":
        model, recipe = replace(model, width=16, mlp_width=16), _smoke(recipe)
    evaluate = ("val", "test", "ood", "unseen_terms")
    return HyperSetting(task, _model(name, model, printed), recipe, evaluate, (0.001, 0.003), (0.03, 0.1), (100,))


def sraven(
    scale: str = "laptop",
    name: str = "softmax",
    features: int | None = None,
    held_out: float = 0.25,
    layers: int = 4,
    heads: int = 16,
    wider: int = 1,
    problems: int | None = None,
    printed: bool = False,
) -> HyperSetting:
    """SRAVEN with the method `name` of `lab.models.hyper`.

    features: K, 4 at paper scale and 2 below it. wider: multiplies embedding, key and MLP widths (Fig. 4A); the paper
    says that the number of heads stays, the reference code multiplies it, too: give `heads`. problems: how many are
    trained on (Fig. 4), in whole batches; 20 million at paper scale. printed: the model as the paper's text reads.

    >>> sraven("paper", problems=20_000_000).recipe.steps
    156250
    """
    paper = check_scale(scale, SCALES) == "paper"
    task = Sraven(features=features or FEATURES[paper], held_out=held_out)
    model = HyperModel(layers, heads, width=128 * wider, key_width=64 * wider, mlp_width=256 * wider)
    if model.key_width % heads:
        raise ArgumentError(f"heads={heads} do not share out {model.key_width} channels; give a power of two")
    steps = (problems or 20_000_000) // 128
    recipe = AdamWCosine(steps, rate=0.001, batch=128, decay=0.1, warmup=1_000, every=25_000, examples=51_200)
    if scale == "laptop":
        steps = 6_000 if problems is None else problems // 128
        recipe = replace(recipe, steps=steps, warmup=300, every=500, examples=2_048)
    if scale == "overnight":
        recipe = replace(recipe, steps=(problems or 5_000_000) // 128, every=2_500, examples=4_096)
    if scale == "smoke":
        model = replace(model, width=16 * wider, key_width=16 * wider, mlp_width=16 * wider)
        recipe = _smoke(recipe)
    grid = (0.0003, 0.001), (0.1, 0.3), (1_000, 3_000)
    return HyperSetting(task, _model(name, model, printed), recipe, ("val", "test", "ood"), *grid)


def of_task(task: Logic | Sraven, scale: str = "laptop", name: str = "softmax") -> HyperSetting:
    """A task with parameters of your own, model and recipe as its figures have them at this scale.

    >>> of_task(Sraven(features=2), "laptop", "hyla") == sraven("laptop", "hyla")
    True
    """
    setting = logic(scale, name) if isinstance(task, Logic) else sraven(scale, name)
    # Where nothing is held out, `ood` is empty.
    evaluate = tuple(split for split in setting.evaluate if split != "ood" or task.held_out)
    return replace(setting, task=task, evaluate=evaluate)


def read_length(scale: str) -> int:
    """Tokens of the fuzzy logic runs whose latent codes are looked at."""
    return max(length for length in LENGTHS[scale] if length <= READ)


def run_of_codes(task: str, method: str, scale: str = "laptop") -> RunSpec:
    """The first run of a method whose latent codes figures show. task: "sraven" or "logic".

    >>> run_of_codes("logic", "hyla", "overnight").recipe.steps
    15000
    """
    if task == "sraven":
        return sraven(scale, method).runs(1)[0]
    return logic(scale, method, read_length(scale), READ_HELD_OUT).runs(1)[0]


_LAPTOP_LOGIC_RATE = 0.003  # of the paper's .001 and .003; at .001 models are far from converged on val


def _smoke(recipe: AdamWCosine) -> AdamWCosine:
    return replace(recipe, steps=6, rate=0.003, batch=8, warmup=2, every=2, examples=32)


def _model(name: str, model: HyperModel, printed: bool) -> HyperModel:
    chosen = method(name, model)
    return as_printed(chosen) if printed else chosen


# Where the paper's text and its code differ, or both are silent, at every scale.
GUESSES = (
    "as in the reference code and not in the text: no causal mask, 10 % dropout of attention scores, and the kqv_dim of"
    " Table A3 is shared out among the heads",
    "GELU exactly; the reference code approximates it with tanh",
    "relative biases, norms and all biases do not decay; the reference code lets relative biases and those of queries,"
    " keys and values decay",
    "mixture of experts: 4, of which 2 work on a token, each as wide as the layer they replace",
    "linear attention + RMSHead + nonlinear value: ReLU on each head's values; deep value network: ReLU after both of"
    " its layers",
    "every combination held out has parts that training has seen; test examples are fresh",
)


TABLE_A3, CODE = "paper, Table A3", "reference code; the paper does not say"
_ONE_POINT = "one learning rate, weight decay and warm-up for all methods; the paper picks them from a grid for each"
_TASKS = {"logic": ("variables", "terms", "length", "held_out"), "sraven": ("features", "values", "held_out")}
PLACES = {  # name → where a setting has it
    "layers": "model.layers",
    "heads": "model.heads",
    "width": "model.width",
    "key width": "model.key_width",
    "MLP width": "model.mlp_width",
    "steps": "recipe.steps",
    "batch": "recipe.batch",
    "betas": "recipe.betas",
    "examples an evaluation": "recipe.examples",
}
_OF_CODE = ("steps", "betas", "examples an evaluation")
_GRID = {  # name → the point of a setting, and the grid that the paper picks it from
    "peak rate": ("recipe.rate", "rates"),
    "weight decay": ("recipe.decay", "decays"),
    "warm-up steps": ("recipe.warmup", "warmups"),
}


def origin(task: str, varied: Sequence[str] = ()) -> Origin:
    """Where these settings come from. There is no file of data.

    task: "logic" or "sraven". varied: what the entry's own axes and lines vary, and so does not belong to its setting.
    """

    def facts(scale: str) -> Iterator[Field | str]:
        yield from (field for field in _fields(task, scale) if field.name not in varied)
        if scale != "paper":
            yield _ONE_POINT

    source = {"name": task, "from": "generated afresh by lab.tasks from each run's seed"}
    return Origin(lambda scale: [source], facts, GUESSES)


def _fields(task: str, scale: str) -> Iterator[Field]:
    ours, theirs = ((logic if task == "logic" else sraven)(one) for one in (scale, "paper"))
    for name, where in ({name.replace("_", " "): f"task.{name}" for name in _TASKS[task]} | PLACES).items():
        source = CODE if name in _OF_CODE else TABLE_A3
        yield Field(name, attrgetter(where)(ours), attrgetter(where)(theirs), source, task=task)
    for name, (where, grid) in _GRID.items():
        choice = list(getattr(theirs, grid))
        value = choice if scale == "paper" else attrgetter(where)(ours)
        swept = "sweep on val at laptop scale" if name == "peak rate" and scale == "laptop" else ""
        if value in choice:
            yield Field(name, value, value, f"{TABLE_A3}: one point of its grid", swept, task=task)
        else:
            yield Field(name, value, choice, TABLE_A3, swept, task=task)


SOLVED = 50.0  # % of the seen combinations: models that answer fewer have not learned the task
# What else may differ between the runs of a table: a point of the grid is picked for each.
_KINDS = ("method", "length", "held_out", "varied", "problems", "layers", "heads", "features")


def finals(runs: Labelled, by: str = "") -> pd.DataFrame:
    """The last evaluation of each run, one row a run: its labels, seed, step, loss (in training, with dropout), every
    score by split, diverged, chosen (see `choose`). by: R² on `val` or, of SRAVEN, accuracy, if not given."""

    def last(run: Run) -> dict:
        scores = {name: float(values[-1]) for name, values in sorted(run.scores.items())}
        return {"step": int(run.steps[-1]), "loss": float(run.loss[-1])} | scores

    table = per_run(runs, last)
    return choose(table, by or ("r2_val" if "r2_val" in table else "accuracy_val"))


def choose(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """The table with a column `chosen`: whether a run has the point of the grid (`POINT`) whose mean of `by` over seeds
    is the highest, for its method and what else is varied. `by` is on `val`; a point of which a run diverged has none.

    >>> import pandas as pd
    >>> point = {"rate": [0.1, 0.1, 0.2, 0.2], "decay": 0.0, "warmup": 1}
    >>> table = pd.DataFrame({"method": "hyla", "seed": [0, 1, 0, 1], "accuracy_val": [0.5, 0.7, 0.9, 0.4], **point})
    >>> choose(table, "accuracy_val")["chosen"].tolist()
    [False, False, True, True]
    """
    kinds = [name for name in _KINDS if name in table]
    means = table.groupby([*kinds, *POINT], sort=False)[by].agg(lambda values: values.mean(skipna=False))
    best = means.fillna(float("-inf")).reset_index().sort_values(by, ascending=False, kind="stable")
    best = best.drop_duplicates(kinds)[[*kinds, *POINT]].assign(chosen=True)
    joined = table.merge(best, on=[*kinds, *POINT], how="left")
    return joined.assign(chosen=joined["chosen"].eq(True))


def best_runs(runs: Labelled) -> Labelled:
    """Of a grid of hyper-parameters, the runs at the point that is best on `val` for their method."""
    return [pair for pair, chosen in zip(runs, finals(runs)["chosen"], strict=True) if chosen]


def best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the runs that were chosen on `val`."""
    return table[table["chosen"].astype(bool)]


def solves_seen(table: pd.DataFrame, scale: str = "") -> str:
    """Some method, with the fewest problems, solves what it has seen, where that is easiest: else nothing can be lost
    on the way to unseen."""
    table = best(table)
    fewest, kinds = table["problems"].min(), ["method", *table.columns.intersection(("heads", "features", "held_out"))]
    share = 100 * float(table[table["problems"] == fewest].groupby(kinds)["accuracy_test"].mean().max())
    few = f"with {fewest:,} problems the methods solve at most {share:.0f} % of seen combinations on average"
    return "" if share >= SOLVED else few


def features_of(table: pd.DataFrame) -> int:
    """K of SRAVEN's runs, where it is not varied: fewer problems than the paper's are those of smaller scales."""
    return FEATURES[bool(table["problems"].min() >= PROBLEMS["paper"][0])]


def two_features(table: pd.DataFrame, scale: str) -> str:
    """Below scale paper, SRAVEN has two features a panel (`lab.papers.hypernetwork.settings`)."""
    return "" if scale == "paper" else "SRAVEN with K = 2 in place of K = 4"


def hyla_before(means: pd.DataFrame) -> Verdict:
    """HYLA minus each other method (columns)."""
    rivals = [method for method in means if method != "hyla"]
    return all_of(paired({f"against {rival}": means["hyla"] - means[rival] for rival in rivals}, above=0.0))
