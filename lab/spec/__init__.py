"""What a run is: frozen dataclasses whose canonical JSON is the run's identity.

A spec says everything that decides a result and nothing that does not (device, fleet, folder). Two specs with the
same canonical JSON are the same run, so the store can find it, and a figure can list what it needs before anything
was trained: a learned non-linearity is named by the search that finds it (`Learned`), not by its values.

>>> spec = RunSpec("addmod", ModelSpec(width=32), AdamTrapezoid(steps=100, rate=0.003, batch=64), seed=0)
>>> spec == from_json(to_json(spec))
True
>>> key(spec) == key(replace(spec, seed=1))
False
"""

# ruff: noqa: F401  these names are imported from here
from dataclasses import replace

from lab.spec.canonical import SCHEMA, TYPES, form, from_json, key, register, to_json
from lab.spec.models import (
    UNCHANGED,
    Coefficients,
    HyperModel,
    Knots,
    KnotTable,
    Learned,
    ModelSpec,
    ModuleFunction,
    ModuleSpec,
    Part,
    Perceptron,
    Resolved,
    Shaped,
    as_printed,
)
from lab.spec.own import DataSpec, OwnTable, OwnTask, known_here_alone, object_of, own_table, own_task, register_object
from lab.spec.recipes import TUNINGS, AdamTrapezoid, AdamWCosine, ConstantRate, Fit, Tuning
from lab.spec.runs import FineTuning, RunSpec, all_needs, needs, sources
from lab.spec.searches import (
    EpisodeSpec,
    InterpolatedSpec,
    ModuleEpisodes,
    ModuleSearch,
    Restart,
    Search,
    SearchSpec,
    SharedSearch,
    TwoLossSpec,
    is_search,
    later,
    on_sequences,
)
