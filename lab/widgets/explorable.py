"""What `lab.explore` can show: kinds of things in words, with the explorer of each. The first that fits is taken."""

import difflib
from collections.abc import Callable, Collection
from dataclasses import dataclass, is_dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from lab import tasks
from lab.catalogue.figure import Figure
from lab.catalogue.registry import entry
from lab.comparison import Comparison
from lab.data import Data
from lab.errors import LONGEST, ArgumentError, check_flag, described, shown
from lab.nonlinearity.functions import GATES, named, scalars
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.table import TABLE
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.plots.style import method_title
from lab.probes.calling import Slice1D, Slice2D
from lab.probes.codes import Codes
from lab.probes.complexity import Complexity
from lab.probes.connectivity import Connectivity
from lab.probes.cost import Cost
from lab.probes.decoding import Decoding
from lab.probes.embedding import CodeSimilarity, Embedding
from lab.probes.landscape import Landscape
from lab.probes.profile import Received
from lab.probes.spectrum import Spectrum
from lab.run import Run, Runs
from lab.scale import BEST, COMMON, SCALES, check_scale, training_scale
from lab.search_results import EpisodeResult, SearchResult
from lab.tasks import Logic, Operation, Sraven, Task, Text
from lab.tasks.named import table_named, task_title
from lab.tasks.table import TableTask
from lab.training.text import MaskedText
from lab.widgets import pair
from lab.widgets.compatibility import CompatibilityExplorer
from lab.widgets.explorer import Explorer
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.landscape import LandscapeExplorer
from lab.widgets.latent import EXAMPLES, FEW, LatentExplorer
from lab.widgets.logic import LogicExplorer
from lab.widgets.model import ConnectivityExplorer, DataExplorer, ModelExplorer, ResultExplorer
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import GIVEN, SplineExplorer
from lab.widgets.sraven import SravenExplorer
from lab.widgets.text import PairsExplorer, TextExplorer
from lab.widgets.training import TrainingExplorer

# columns that say which function a row is of, in the order of its name
LABELS: tuple[str, ...] = ("task", "set", "mode", "family", "line", "spectral", "method", "start", "search", "restart")
LABELS += ("layer", "layers", "width", "degree")
NUMBERED = ("search", "restart", "layer", "layers", "width", "degree")
MOST = 60  # functions in a menu
NAMED_KNOTS = 2001  # on [-20, 20]: ten in a period of the fastest sine
NEEDLESS = {  # what is said of an argument that has no meaning for what was given
    "scale": "scale={value}: nothing is trained for {given}; leave it out",
    "edit": "edit=True is for functions, and {given} is none; give a lab.Spline or a name in the zoo",
    "inputs": "inputs= is for a model, a torch.nn.Module, and {given} is none; leave it out",
    "targets": "targets= is for a model, a torch.nn.Module, and {given} is none; leave it out",
}


def explorer_of(
    x: Any, scale: str | None = None, edit: bool = False, inputs: Any = None, targets: Any = None
) -> Explorer:
    """The explorer that fits. Raises ArgumentError where none does, with what would; and for what it does not take."""
    given = {"scale": scale, "inputs": inputs, "targets": targets}
    given = {name: value for name, value in given.items() if value is not None}
    if edit is not False and check_flag("edit", edit):
        given["edit"] = True
    if isinstance(x, nn.Module) and not isinstance(scale, (str, type(None))):
        raise ArgumentError(f"scale={shown(scale)}: give examples by name, as lab.explore(model, inputs=X, targets=y)")
    if isinstance(x, dict):
        _check_names(x)
    # whatever function a module is, too: with inputs it is a model
    kind = MODEL if isinstance(x, nn.Module) and inputs is not None else _kind(x, given)
    if kind is None or not given.keys() <= {*kind.takes}:
        called = f"the figure {x.name}" if isinstance(x, Figure) else described(x)
        called = "a function of Python's, which lab.check(f) looks at" if called == "a function" else called
        if kind is None and isinstance(x, str) and x in GATES:
            said = f"{x} is a gate, one half of a layer times {GATES[x]} of the other"
            raise ArgumentError(f"{said}; lab.explore({GATES[x]!r}) shows that function")
        if kind is None and isinstance(x, str) and (x == "softmax" or x in TABLE):
            raise ArgumentError(f"{x} is no function of one number, and has no curve; lab.check says what holds for it")
        names = [*zoo_names(), *scalars(), *tasks.NAMES]
        if kind is None and isinstance(x, str) and (near := difflib.get_close_matches(x[:LONGEST], names, 1)):
            raise ArgumentError(f"there is no explorer for {called}; did you mean {near[0]!r}?")
        if kind is None:
            raise ArgumentError(f"there is no explorer for {called}; give {'; '.join(kind.words for kind in KINDS)}")
        name = next(name for name in NEEDLESS if name in given and name not in kind.takes)
        raise ArgumentError(NEEDLESS[name].format(value=shown(given[name]), given=called))
    if scale is not None:  # models to look into may be of a scale that not every figure has
        look_into = {SravenExplorer, LogicExplorer, LatentExplorer}.issuperset(kind.explorers)
        look_into = look_into or kind.explorers is TASKS  # of a figure: the explorer of its task decides
        check_scale(scale, (*(SCALES if look_into else COMMON), BEST))
        given["scale"] = scale if look_into else training_scale(scale)
    return (kind.make or kind.explorers[0])(x, **given)


def python_of(
    x: Any, scale: str | None = None, edit: bool = False, inputs: object = None, targets: object = None
) -> str:
    """The arguments of `lab.explore` as Python, so that copied code runs. What only the caller can name is called x, X
    and y.

    >>> python_of("memorize", "smoke")
    "'memorize', scale='smoke'"
    """
    named = "x"
    if isinstance(x, str):
        named = repr(x)
    elif isinstance(x, Figure):
        named = f"lab.figure({x.name!r}, scale={x.scale!r})"
    elif isinstance(x, Spline) and x.values.ndim == 1:
        numbers = ", ".join(f"{value:.9g}" for value in x.values.tolist())
        named = f"lab.Spline([{numbers}], low={x.low!r}, high={x.high!r})"
    elif is_dataclass(x) and type(x).__module__.startswith("lab.tasks") and not isinstance(x, Task):
        named = f"lab.tasks.{x!r}"
    more = {f"scale={scale!r}": scale, "edit=True": edit or None, "inputs=X": inputs, "targets=y": targets}
    return ", ".join([named, *(words for words, value in more.items() if value is not None)])


def functions(figure: Figure) -> tuple[dict[str, Spline], dict[str, Received]]:
    """The functions of a figure by name, and the inputs of those whose inputs are known. Of several restarts that
    found one, those that were chosen.

    >>> from lab.catalogue.build import figure
    >>> splines, inputs = functions(figure("transformers/fig6", scale="smoke", progress=False))
    >>> splines["Mano"], inputs["Mano"].share.shape
    (Spline((361,) knots on [-20, 20]), (361,))
    """
    table = _points(figure)
    assert table is not None  # a figure of functions
    if "chosen" in table and table["chosen"].any():
        table = table[table["chosen"].astype(bool)]
    labels = [name for name in LABELS if name in table and table[name].nunique() > 1]
    splines, inputs = {}, {}
    groups = table.groupby(labels, sort=False, dropna=False) if labels else [((), table)]
    for values, rows in list(groups)[:MOST]:
        rows = rows.drop_duplicates("x").sort_values("x")
        x, y = rows["x"].to_numpy(float), rows["value"].to_numpy(float)
        if len(x) < 2 or not np.isfinite(y).all() or not np.allclose(np.diff(x), np.diff(x)[0], rtol=1e-2):
            continue
        name = ", ".join(_word(*pair) for pair in zip(labels, values, strict=True)) or "the function"
        splines[name] = Spline(torch.tensor(y, dtype=torch.float32), float(x[0]), float(x[-1]))
        share = rows["density"].to_numpy(float) if "density" in rows else np.zeros(1)
        if share.sum() > 0:  # a diverged model receives nothing that could be counted
            inputs[name] = Received(x, share / share.sum(), f"{name} model of {figure.name}, scale {figure.scale}")
    return splines, inputs


def _points(figure: Figure) -> pd.DataFrame | None:
    """The table that has functions, point by point; None where none has."""
    for table in (figure.table, figure.extras.get("functions")):
        if table is not None and {"x", "value"} <= set(table) and "y" not in table:
            return table
    return None


def _word(label: str, value: Any) -> str:
    if label in NUMBERED:
        return f"{label} {value}"
    return task_title(value) if label == "task" else method_title(str(value)) if label == "method" else str(value)


def _task(figure: Figure) -> Any:
    """What the explorer of a figure's task is of: an algorithmic task's name, SRAVEN, fuzzy logic or an operation; None
    where its first task is none of these."""
    name = next(iter(entry(figure.name).tasks), "")
    if name in ("sraven", "logic"):
        return Sraven() if name == "sraven" else Logic()
    table = table_named(name) if " mod " in name else None
    return name if name in tasks.NAMES else table if isinstance(table, Operation) else None


def _named(x: Any) -> Any:
    """The table that a word names; any other thing as it is."""
    try:
        return table_named(x) or x if isinstance(x, str) and x not in tasks.NAMES else x
    except ArgumentError:  # it looks like an operation and is none
        return x


def _runs(x: Any, kind: Any = object, every: bool = True) -> bool:
    """Whether x is runs, also by name in a dictionary, on such tasks: all of them, or the first."""
    several = [*x.values()] if isinstance(x, dict) else [x]
    each = [run for some in several for run in (some if isinstance(some, Runs) else [some])]
    matches = [isinstance(run, Run) and isinstance(run.spec.task, kind) for run in each]
    return bool(matches) and (all(matches) if every else matches[0])


def _flat(x: Any) -> Any:
    """Runs of a dictionary: of several on one name the first."""
    return {name: run[0] if isinstance(run, Runs) else run for name, run in x.items()} if isinstance(x, dict) else x


def _codes(runs: Run | Runs, scale: str = BEST) -> Explorer:
    return LatentExplorer(runs[0] if isinstance(runs, Runs) else runs, FEW if scale == "smoke" else EXAMPLES)


def _is_function(x: Any) -> bool:
    return (
        isinstance(x, (Spline, SearchResult, EpisodeResult)) or isinstance(x, str) and x in {*zoo_names(), *scalars()}
    )


def _spline(x: Any) -> Spline:
    """A function as a spline: a named one through it, at its start."""
    if isinstance(x, str):
        return zoo(x) if x in zoo_names() else Spline.from_function(named(x), knots=NAMED_KNOTS)
    return x if isinstance(x, Spline) else x.spline


def _function(x: Any, **given: Any) -> Explorer:
    """The explorer of one function; one of the zoo stands in its menu."""
    if isinstance(x, str):
        return SplineExplorer(x if x in zoo_names() else {x: _spline(x)}, **given)
    return pair.functions({GIVEN: x}, {GIVEN: _spline(x)}, **given)


def _functions(x: dict[Any, Any]) -> Explorer:
    return pair.functions(x, {str(name): _spline(one) for name, one in x.items()})


def _check_names(x: dict[Any, Any]) -> None:
    names = [str(name) for name in x]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ArgumentError(f"two things have the name {shown(twice[0])}; give each one of its own")
    for name, one in x.items():
        if _kind(one) is None:
            try:
                explorer_of(one)
            except ArgumentError as error:
                raise ArgumentError(f"{shown(str(name))}: {error}") from None


def _each(x: Any) -> bool:
    """Whether x is things by name each of which has an explorer of its own."""
    things = [*_flat(x).values()] if isinstance(x, dict) else []
    return bool(things) and all(_kind(one) is not None for one in things)


def _kind(x: Any, given: Collection[str] = ()) -> Any:
    """The first kind that fits and takes the arguments that are given; else the first that fits."""
    fitting = (kind for kind in KINDS if isinstance(x, kind.types) and (kind.fits is None or kind.fits(x)))
    first = next(fitting, None)
    return next((kind for kind in chain([first] if first else [], fitting) if {*given} <= {*kind.takes}), first)


def _pair(x: Any, **given: Any) -> Explorer:
    return pair.PairExplorer(_flat(x), lambda one: explorer_of(one, **given))


def _model(model: nn.Module, inputs: Any = None, targets: Any = None) -> Explorer:
    if inputs is None:
        name = type(model).__name__
        raise ArgumentError(f"a {name} alone shows nothing; give inputs, as lab.explore(model, inputs=X, targets=y)")
    return ModelExplorer(model, inputs, targets)


@dataclass(frozen=True)
class Kind:
    """words: what it is, for people. explorers: of it. types: its classes; fits: what else has to hold. takes: which
    further arguments have a meaning for it. make: from it and those that are given to its explorer; default: the class
    of the explorer itself."""

    words: str
    explorers: tuple[Callable[..., Explorer], ...]
    types: type | tuple[type, ...]
    fits: Callable[[Any], bool] | None = None
    takes: tuple[str, ...] = ()
    make: Callable[..., Explorer] | None = None


FUNCTIONS, SCALED = ("edit", "scale"), ("scale",)
RESULTS = (
    Comparison,
    Slice1D,
    Slice2D,
    Complexity,
    Codes,
    Embedding,
    Decoding,
    CodeSimilarity,
    Cost,
    Spectrum,
)
TASKS = (SravenExplorer, LogicExplorer, GrokkingExplorer, TrainingExplorer)
MODEL = Kind(
    "a torch.nn.Module with inputs=X (and targets=y), or with inputs=a lab.Data",
    (ModelExplorer,),
    nn.Module,
    takes=("inputs", "targets"),
    make=_model,
)
KINDS = (
    Kind(
        "a function: a lab.Spline, what lab.search returned, a name in the zoo (lab.zoo() lists them) or 'gelu'",
        (SplineExplorer,),
        (Spline, SearchResult, EpisodeResult, str),
        lambda x: not isinstance(x, str) or x in zoo_names() or x in scalars(),
        FUNCTIONS,
        _function,
    ),
    Kind(
        "functions by name, as {'GELU': 'gelu', …}",
        (SplineExplorer,),
        dict,
        lambda x: bool(x) and all(map(_is_function, x.values())),
        make=_functions,
    ),
    Kind(
        "a figure of functions, such as transformers/fig6 or simplicity/fig3",
        (SplineExplorer,),
        Figure,
        lambda x: _points(x) is not None,
        FUNCTIONS,
        lambda x, **given: SplineExplorer(*functions(x), **given),
    ),
    Kind(
        "a figure of tasks by architectures, such as transformers/fig5 or fig11",
        (CompatibilityExplorer,),
        Figure,
        lambda x: {"architecture", "part"} <= set(x.table),
    ),
    Kind(
        "a figure of SRAVEN, fuzzy logic, an operation or an algorithmic task (that task's explorer)",
        TASKS,
        Figure,
        lambda x: _task(x) is not None,
        SCALED,
        lambda x, **given: explorer_of(_task(x), **given),
    ),
    Kind(
        "runs on a text, also by name in a dictionary",
        (TextExplorer,),
        (Run, Runs, dict),
        lambda x: _runs(x, Text),
        make=lambda x: TextExplorer(_flat(x)),
    ),
    Kind(
        "runs on a masked text, also by name in a dictionary",
        (PairsExplorer,),
        (Run, Runs, dict),
        lambda x: _runs(x, (Text, MaskedText)),
        make=lambda x: PairsExplorer(_flat(x)),
    ),
    Kind(
        "runs on SRAVEN or fuzzy logic, such as lab.trained returns (of several the first)",
        (LatentExplorer,),
        (Run, Runs),
        lambda x: _runs(x, (Logic, Sraven), every=False),
        SCALED,
        _codes,
    ),
    Kind(
        "two runs on SRAVEN or fuzzy logic by name",
        (pair.PairExplorer,),
        dict,
        lambda x: len(x) == 2 and _runs(x, (Logic, Sraven)),
        SCALED,
        _pair,
    ),
    Kind(
        "runs on a table with checkpoints (keep=20), also by name",
        (SliceExplorer,),
        (Run, Runs, dict),
        lambda x: pair.has_slices(x, isinstance(x, dict)),
        make=pair.slices,
    ),
    Kind("runs by name in a dictionary, as {'GELU': lab.train('copy'), …}", (ResultExplorer,), dict, _runs),
    Kind(
        "a run with checkpoints whose function learns (prelu, …)",
        (SplineExplorer,),
        (Run, Runs),
        pair.learns,
        make=pair.function_of_run,
    ),
    Kind("a lab.tasks.Sraven", (SravenExplorer,), Sraven, takes=SCALED),
    Kind("a lab.tasks.Logic", (LogicExplorer,), Logic, takes=SCALED),
    Kind(
        "a lab.tasks.Operation, or its name, such as 'ab mod 27'",
        (GrokkingExplorer,),
        (Operation, str),
        lambda x: isinstance(_named(x), Operation),
        SCALED,
        lambda x, **given: GrokkingExplorer(_named(x), **given),
    ),
    Kind(
        f"an algorithmic task ({', '.join(tasks.NAMES)}), a lab.Task, a table of lab.tasks or its name",
        (TrainingExplorer,),
        (TableTask, Task, str),
        lambda x: isinstance(x, str) and x in tasks.NAMES or isinstance(_named(x), (TableTask, Task)),
        SCALED,
        lambda x, **given: TrainingExplorer(_named(x), **given),
    ),
    Kind(
        "what lab.train returned",
        (TrainingExplorer,),
        (Run, Runs),
        takes=SCALED,
        make=lambda x, **given: TrainingExplorer(Runs([x]) if isinstance(x, Run) else x, **given),
    ),
    Kind("a lab.Data", (DataExplorer,), Data),
    Kind("what probes.landscape returned", (LandscapeExplorer,), Landscape),
    Kind("what probes.connectivity returned", (ConnectivityExplorer,), Connectivity),
    Kind("what lab.compare or another probe returned", (ResultExplorer,), RESULTS),
    MODEL,
    Kind(
        "two landscapes, results, data or models by name",
        (pair.PairExplorer,),
        dict,
        _each,
        ("inputs", "targets"),
        _pair,
    ),
)
