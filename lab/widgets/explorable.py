"""What `lab.explore` can show: kinds of things in words, with the explorer of each. The first that fits is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from lab.errors import ArgumentError, described, shown
from lab.scale import BEST, COMMON, SCALES, check_scale, training_scale

if TYPE_CHECKING:
    from lab.widgets.explorer import Explorer

FUNCTIONS = ("edit", "scale")  # what explorers of functions are told besides
MODEL = ("inputs", "targets")
SCALED = ("scale",)


@dataclass(frozen=True)
class Asked:
    """The arguments of `lab.explore`; scale: at which something is trained, wanted: as it was asked for."""

    x: Any
    scale: str
    wanted: str
    edit: bool
    inputs: Any
    targets: Any


@dataclass(frozen=True)
class Kind:
    """words: what it is, for people. explorer: the class's name. fits: whether something is of this kind. make: its
    explorer. takes: which further arguments have a meaning for it."""

    words: str
    explorer: str
    fits: Callable[[Any], bool]
    make: Callable[[Asked], Explorer]
    takes: tuple[str, ...] = ()


def kind_of(x: Any) -> Kind | None:
    """The kind of a thing; None where there is no explorer for it."""
    return next((kind for kind in kinds() if kind.fits(x)), None)


def explorer_of(x: Any, scale: str | None, edit: bool, inputs: Any, targets: Any) -> Explorer:
    """The explorer that fits. Raises ArgumentError where none does, with what would; and for what it does not take."""
    from torch import nn

    of_model = isinstance(x, nn.Module) and inputs is not None  # whatever function it is, too
    kind = next(kind for kind in kinds() if kind.takes == MODEL) if of_model else kind_of(x)
    if isinstance(x, nn.Module) and not isinstance(scale, (str, type(None))):
        raise ArgumentError(f"scale={shown(scale)}: give examples by name, as lab.explore(model, inputs=X, targets=y)")
    if kind is None:
        words = "; ".join(kind.words for kind in kinds())
        raise ArgumentError(f"there is no explorer for {_called(x)}; give {words}")
    given: dict[str, Any] = {"scale": scale, "edit": edit or None, "inputs": inputs, "targets": targets}
    for name, value in given.items():
        if value is not None and name not in kind.takes:
            raise ArgumentError(_refused(name, value, x))
    # models to look into may be of a scale that not every figure has
    known = SCALES if kind.explorer in ("SravenExplorer", "LogicExplorer", "LatentExplorer") else COMMON
    wanted = check_scale(BEST if scale is None else scale, (*known, BEST))
    return kind.make(Asked(x, training_scale(wanted), wanted, edit, inputs, targets))


def _refused(name: str, value: Any, x: Any) -> str:
    if name == "edit":
        return f"edit=True is for functions, and {_called(x)} is none; give a lab.Spline or a name in the zoo"
    if name in MODEL:
        return f"{name}= is for a model, a torch.nn.Module, and {_called(x)} is none; leave it out"
    return f"scale={shown(value)}: nothing is trained for {_called(x)}; leave it out"


def _called(x: Any) -> str:
    from lab.catalogue.figure import Figure

    return f"the figure {x.name}" if isinstance(x, Figure) else described(x)


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order in which they are tried."""
    # plotly and ipywidgets take a second to import: only who explores waits for them
    from torch import nn

    from lab import tasks
    from lab.catalogue.figure import Figure
    from lab.comparison import Comparison
    from lab.data import Data
    from lab.nonlinearity.spline import Spline
    from lab.nonlinearity.zoo import zoo_names
    from lab.probes.codes import Codes
    from lab.probes.complexity import Complexity
    from lab.probes.cost import Cost
    from lab.probes.decoding import Decoding
    from lab.probes.embedding import Embedding
    from lab.probes.landscape import Landscape
    from lab.probes.similarity import CodeSimilarity
    from lab.probes.slices import Slice1D, Slice2D
    from lab.run import Run, Runs
    from lab.search_results import EpisodeResult, SearchResult
    from lab.tasks import Logic, Operation, Sraven, Task, Text
    from lab.tasks.table import TableTask
    from lab.training.masked import MaskedText
    from lab.widgets import figures
    from lab.widgets.compatibility import CompatibilityExplorer
    from lab.widgets.data import DataExplorer
    from lab.widgets.grokking import GrokkingExplorer
    from lab.widgets.landscape import LandscapeExplorer
    from lab.widgets.latent import EXAMPLES, FEW, LatentExplorer
    from lab.widgets.logic import LogicExplorer
    from lab.widgets.minimal_pairs import PairsExplorer
    from lab.widgets.model import ModelExplorer, ResultExplorer
    from lab.widgets.spline import SplineExplorer
    from lab.widgets.sraven import SravenExplorer
    from lab.widgets.text import TextExplorer
    from lab.widgets.training import TrainingExplorer

    def several(x: Any, kind: Any = object, every: bool = True) -> bool:
        """Whether x is runs, also by name in a dictionary, on such tasks: all of them, or the first."""
        runs = [*x.values()] if isinstance(x, dict) else [x]
        each = [run for some in runs for run in (some if isinstance(some, Runs) else [some])]
        matches = [isinstance(run, Run) and isinstance(run.spec.task, kind) for run in each]
        return bool(matches) and (all(matches) if every else matches[0])

    def named(x: Any) -> Any:
        """The table that a word names."""
        return _table(x) if isinstance(x, str) and x not in tasks.NAMES else x

    def spline(asked: Asked) -> Explorer:
        phi = asked.x.spline if isinstance(asked.x, (SearchResult, EpisodeResult)) else asked.x
        return SplineExplorer(phi, edit=asked.edit, scale=asked.scale)

    def drawn(asked: Asked) -> Explorer:
        return SplineExplorer(*figures.functions(asked.x), edit=asked.edit, scale=asked.scale)

    def codes(asked: Asked) -> Explorer:
        run = asked.x[0] if isinstance(asked.x, Runs) else asked.x
        return LatentExplorer(run, FEW if asked.scale == "smoke" else EXAMPLES)

    def runs_of(asked: Asked) -> Explorer:
        return TrainingExplorer(Runs([asked.x]) if isinstance(asked.x, Run) else asked.x, asked.scale)

    def of_task(asked: Asked) -> Explorer:
        return explorer_of(figures.task(asked.x), asked.wanted, False, None, None)

    def model(asked: Asked) -> Explorer:
        if asked.inputs is None:
            raise ArgumentError(
                f"a {type(asked.x).__name__} alone shows nothing; give inputs, as lab.explore(model, inputs=X, "
                "targets=y)"
            )
        return ModelExplorer(asked.x, asked.inputs, asked.targets)

    functions = (Spline, SearchResult, EpisodeResult)
    results = (Comparison, Slice1D, Slice2D, Complexity, Codes, Embedding, Decoding, CodeSimilarity, Cost)
    return (
        Kind(
            "a function: a lab.Spline, what lab.search returned, or a name in the zoo (lab.zoo() lists them)",
            "SplineExplorer",
            lambda x: isinstance(x, functions) or isinstance(x, str) and x in zoo_names(),
            spline,
            FUNCTIONS,
        ),
        Kind(
            "a figure of functions, such as transformers/fig6 or simplicity/fig3",
            "SplineExplorer",
            lambda x: isinstance(x, Figure) and figures.has_functions(x),
            drawn,
            FUNCTIONS,
        ),
        Kind(
            "a figure of tasks by architectures, such as transformers/fig5 or fig11",
            "CompatibilityExplorer",
            lambda x: isinstance(x, Figure) and {"architecture", "part"} <= set(x.table),
            lambda asked: CompatibilityExplorer(asked.x),
        ),
        Kind(
            "a figure of SRAVEN, fuzzy logic, an operation or an algorithmic task (that task's explorer)",
            "SravenExplorer, LogicExplorer, GrokkingExplorer or TrainingExplorer",
            lambda x: isinstance(x, Figure) and figures.task(x) is not None,
            of_task,
            SCALED,
        ),
        Kind(
            "runs on a text, also by name in a dictionary",
            "TextExplorer",
            partial(several, kind=Text),
            lambda asked: TextExplorer(_flat(asked.x)),
        ),
        Kind(
            "runs on a masked text, also by name in a dictionary",
            "PairsExplorer",
            partial(several, kind=(Text, MaskedText)),
            lambda asked: PairsExplorer(_flat(asked.x)),
        ),
        Kind(
            "runs on SRAVEN or fuzzy logic, such as lab.trained returns (of several the first)",
            "LatentExplorer",
            lambda x: isinstance(x, (Run, Runs)) and several(x, (Logic, Sraven), every=False),
            codes,
            SCALED,
        ),
        Kind(
            "runs by name in a dictionary, as {'GELU': lab.train('copy'), …}",
            "ResultExplorer",
            lambda x: isinstance(x, dict) and several(x),
            lambda asked: ResultExplorer(asked.x),
        ),
        Kind(
            "a lab.tasks.Sraven",
            "SravenExplorer",
            lambda x: isinstance(x, Sraven),
            lambda asked: SravenExplorer(asked.x, asked.wanted),
            SCALED,
        ),
        Kind(
            "a lab.tasks.Logic",
            "LogicExplorer",
            lambda x: isinstance(x, Logic),
            lambda asked: LogicExplorer(asked.x, asked.wanted),
            SCALED,
        ),
        Kind(
            "a lab.tasks.Operation, or its name, such as 'ab mod 27'",
            "GrokkingExplorer",
            lambda x: isinstance(named(x), Operation),
            lambda asked: GrokkingExplorer(named(asked.x), asked.scale),
            SCALED,
        ),
        Kind(
            f"an algorithmic task ({', '.join(tasks.NAMES)}), a lab.Task, a table of lab.tasks or its name",
            "TrainingExplorer",
            lambda x: isinstance(x, str) and x in tasks.NAMES or isinstance(named(x), (TableTask, Task)),
            lambda asked: TrainingExplorer(named(asked.x), asked.scale),
            SCALED,
        ),
        Kind(
            "what lab.train returned",
            "TrainingExplorer",
            lambda x: isinstance(x, (Run, Runs)),
            runs_of,
            SCALED,
        ),
        Kind("a lab.Data", "DataExplorer", lambda x: isinstance(x, Data), lambda asked: DataExplorer(asked.x)),
        Kind(
            "what probes.landscape returned",
            "LandscapeExplorer",
            lambda x: isinstance(x, Landscape),
            lambda asked: LandscapeExplorer(asked.x),
        ),
        Kind(
            "what lab.compare or another probe returned",
            "ResultExplorer",
            lambda x: isinstance(x, results),
            lambda asked: ResultExplorer(asked.x),
        ),
        Kind(
            "a torch.nn.Module with inputs=X (and targets=y), or with inputs=a lab.Data",
            "ModelExplorer",
            lambda x: isinstance(x, nn.Module),
            model,
            MODEL,
        ),
    )


def _flat(x: Any) -> Any:
    """Runs of a dictionary: of several on one name the first."""
    from lab.run import Runs

    return {name: run[0] if isinstance(run, Runs) else run for name, run in x.items()} if isinstance(x, dict) else x


def _table(name: str) -> object:
    """The table of this name; the name itself where there is none."""
    from lab.tasks.named import table_named

    try:
        return table_named(name) or name
    except ArgumentError:  # it looks like an operation and is none
        return name
