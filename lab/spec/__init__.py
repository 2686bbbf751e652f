"""What a run is: frozen dataclasses whose canonical JSON is the run's identity.

A spec says everything that decides a result and nothing that does not (device, fleet, folder). Two specs with the
same canonical JSON are the same run, so the store can find it, and a figure can list what it needs before anything
was trained: a learned non-linearity is named by the search that finds it (`Learned`), not by its values.

Modules, each of which imports only those before it: parts, models, recipes, modules, searches, runs, finetuning,
canonical, forms, own_tables.

>>> spec = RunSpec("addmod", ModelSpec(width=32), AdamTrapezoid(steps=100, rate=0.003, batch=64), seed=0)
>>> spec == from_json(to_json(spec))
True
>>> key(spec) == key(replace(spec, seed=1))
False
"""

from dataclasses import replace

from lab.spec.canonical import SCHEMA, TYPES, from_json, key, register, to_json
from lab.spec.finetuning import TUNINGS, FineTuning, Tuning
from lab.spec.models import HyperModel, ModelSpec, Perceptron, as_printed
from lab.spec.modules import (
    UNCHANGED,
    DataSpec,
    Fit,
    ModuleSearch,
    ModuleSpec,
    OwnTask,
    known_here_alone,
    object_of,
    register_object,
)
from lab.spec.own_tables import OwnTable, own_table
from lab.spec.parts import Coefficients, Knots, KnotTable, Learned, ModuleFunction, Part, Resolved, Shaped
from lab.spec.recipes import AdamTrapezoid, AdamWCosine, ConstantRate
from lab.spec.runs import RunSpec, Search, all_needs, is_search, needs
from lab.spec.searches import (
    EpisodeSpec,
    InterpolatedSpec,
    ModuleEpisodes,
    Restart,
    SearchSpec,
    SharedSearch,
    TwoLossSpec,
    by_episodes,
    on_sequences,
)

__all__ = [
    "SCHEMA",
    "TUNINGS",
    "TYPES",
    "UNCHANGED",
    "AdamTrapezoid",
    "AdamWCosine",
    "Coefficients",
    "ConstantRate",
    "DataSpec",
    "EpisodeSpec",
    "FineTuning",
    "Fit",
    "HyperModel",
    "InterpolatedSpec",
    "KnotTable",
    "Knots",
    "Learned",
    "ModelSpec",
    "ModuleEpisodes",
    "ModuleFunction",
    "ModuleSearch",
    "ModuleSpec",
    "OwnTable",
    "OwnTask",
    "Part",
    "Perceptron",
    "Resolved",
    "Restart",
    "RunSpec",
    "Search",
    "SearchSpec",
    "Shaped",
    "SharedSearch",
    "Tuning",
    "TwoLossSpec",
    "all_needs",
    "as_printed",
    "by_episodes",
    "from_json",
    "is_search",
    "key",
    "known_here_alone",
    "needs",
    "on_sequences",
    "own_table",
    "register",
    "register_object",
    "object_of",
    "replace",
    "to_json",
]
