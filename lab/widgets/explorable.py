"""What `lab.explore` can show: kinds of things in words, with the explorer of each. The first that fits is taken."""

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from itertools import chain
from typing import Any

from torch import nn

from lab import tasks
from lab.catalogue.figure import Figure
from lab.catalogue.registry import entry
from lab.comparison import Comparison
from lab.data import Data
from lab.errors import LONGEST, ArgumentError, check_flag, described, shown
from lab.nonlinearity.functions import GATES, named, scalars
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import Spline, Symmetrized
from lab.nonlinearity.table import TABLE
from lab.nonlinearity.zoo import zoo, zoo_files
from lab.picture import HasPicture
from lab.probes.connectivity import Connectivity
from lab.probes.landscape import Landscape
from lab.run import Run, Runs
from lab.scale import BEST, COMMON, SCALES, check_scale, training_scale
from lab.search_results import EpisodeResult, SearchResult
from lab.tasks import Logic, Operation, Sraven, Task, Text
from lab.tasks.named import table_named
from lab.tasks.table import TableTask
from lab.training.text import MaskedText
from lab.widgets import pair
from lab.widgets.compatibility import CompatibilityExplorer
from lab.widgets.explorer import Explorer
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.landscape import LandscapeExplorer
from lab.widgets.latent import EXAMPLES, FEW, LatentExplorer
from lab.widgets.logic import LogicExplorer
from lab.widgets.model import DataExplorer, ModelExplorer
from lab.widgets.result import ConnectivityExplorer, ResultExplorer
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import GIVEN, SplineExplorer, functions, points_of
from lab.widgets.sraven import SravenExplorer
from lab.widgets.text import PairsExplorer, TextExplorer
from lab.widgets.training import TrainingExplorer

NAMED_KNOTS = 2001  # on [-20, 20]: ten in a period of the fastest sine
FUNCTION_TYPES = (Spline, Symmetrized, Polynomial, SearchResult, EpisodeResult)
NEEDLESS = {  # what is said of an argument that has no meaning for what was given
    "scale": "scale={value}: nothing is trained for {given}; leave it out",
    "edit": "edit=True is for functions, and {given} is none; give a lab.Spline or a name in the zoo",
    "inputs": "inputs= is for a model, a torch.nn.Module, and {given} is none; leave it out",
    "targets": "targets= is for a model, a torch.nn.Module, and {given} is none; leave it out",
}


def explore(
    x: Any,
    scale: str | None = None,
    edit: bool = False,
    inputs: Any = None,
    targets: Any = None,
    state: Mapping[str, Any] | None = None,
) -> Explorer:
    """The explorer that fits an object: an interactive view in a notebook, which `.save(path)` writes as one HTML page.

    | x | explorer |
    |---|---|
    | a function: a Spline or polynomial, a search, a name (of the zoo); a figure of functions | SplineExplorer |
    | a figure of tasks by architectures (transformers/fig5, fig11) | CompatibilityExplorer |
    | a figure of SRAVEN, fuzzy logic, an operation or an algorithmic task | that of the task |
    | the name of an algorithmic task, a `lab.Task`, a table or its name, what `lab.train` returned | TrainingExplorer |
    | a Sraven, a Logic, an Operation | SravenExplorer, LogicExplorer, GrokkingExplorer |
    | functions by name: {'GELU': 'gelu', 'learned': phi} | SplineExplorer: over each other |
    | runs on SRAVEN or fuzzy logic (the first of several) | LatentExplorer |
    | a run that kept checkpoints, whose function learns (mlp="xielu") | SplineExplorer: how it comes about |
    | runs on a table that kept checkpoints, also by name | SliceExplorer: one plane, a slider over the steps |
    | runs on a text; on a masked text; also by name in a dictionary | TextExplorer; PairsExplorer |
    | other runs by name in a dictionary | ResultExplorer: their learning curves |
    | a `lab.Data` | DataExplorer: columns, splits, targets, what was left out |
    | a landscape | LandscapeExplorer |
    | what `probes.connectivity` returned | ConnectivityExplorer: a slider along the path between models |
    | a model of your own, with inputs (N, …) and targets (N,); or inputs=a `lab.Data` | ModelExplorer |
    | what `lab.compare` or another probe returned | ResultExplorer: its picture, as by `lab.plot` |
    | two runs on SRAVEN or fuzzy logic, landscapes, models, data or results by name | PairExplorer: side by side |

    Of searches and runs that kept checkpoints (`lab.train(…, keep=20)`) explorers have a slider over the steps.

    scale: of what is trained; "best", the default, is laptop. Of the models that are asked about a Sraven or a Logic,
    "best" is the largest at which some are here. edit: begin by editing the function. state: what an explorer's `state`
    gave, to show it as it was. Raises ArgumentError for anything else, and for an argument without a meaning for x.

    >>> type(explore("memorize")).__name__
    'TrainingExplorer'
    >>> explore("memorize", state={"seeds": 5}).seeds.value
    5
    """
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
        names = [*zoo_files(), *scalars(), *tasks.NAMES]
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
    explorer = (kind.make or kind.explorers[0])(x, **given)
    explorer.source = partial(python_of, x, scale, edit, inputs, targets)
    if state is not None:
        explorer.state = state
    return explorer


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
    if not isinstance(x, str):
        return isinstance(x, FUNCTION_TYPES)
    return x in zoo_files() if "/" in x else x in TABLE and not TABLE[x].mixes  # names of the zoo alone have a slash


def _spline(x: Any) -> Spline:
    """A function as a spline: through a named one, at its start, and through a polynomial."""
    if isinstance(x, str):
        return zoo(x) if "/" in x else Spline.from_function(named(x), knots=NAMED_KNOTS)
    if isinstance(x, Polynomial):
        return Spline.from_function(x, x.low, x.high, NAMED_KNOTS)
    return x if isinstance(x, Spline) else x.spline


def _function(x: Any, **given: Any) -> Explorer:
    """The explorer of one function; one of the zoo stands in its menu. A named one is in models of many kinds: what it
    receives is not looked for."""
    if isinstance(x, str):
        return SplineExplorer(x, **given) if "/" in x else SplineExplorer({x: _spline(x)}, {x: None}, **given)
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
                explore(one)
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
    return pair.PairExplorer(_flat(x), lambda one: explore(one, **given))


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
        (*FUNCTION_TYPES, str),
        _is_function,
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
        lambda x: points_of(x) is not None,
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
        lambda x, **given: explore(_task(x), **given),
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
    Kind("what lab.compare or another probe returned", (ResultExplorer,), (Comparison, HasPicture)),
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
