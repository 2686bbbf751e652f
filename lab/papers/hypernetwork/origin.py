"""Where the settings of the hypernetwork paper come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from lab.papers.hypernetwork import settings
from lab.papers.origin import Field, Origin

TABLE_A3, CODE = "paper, Table A3", "reference code; the paper does not say"
_ONE_POINT = "one learning rate, weight decay and warm-up for all methods; the paper picks them from a grid for each"
# name → where a setting has it, and its source
_TASKS = {
    "logic": {
        "variables": ("task.variables", TABLE_A3),
        "terms": ("task.terms", TABLE_A3),
        "length": ("task.length", TABLE_A3),
        "held out": ("task.held_out", TABLE_A3),
    },
    "sraven": {
        "features": ("task.features", TABLE_A3),
        "values": ("task.values", TABLE_A3),
        "held out": ("task.held_out", TABLE_A3),
    },
}
_TRAINING = {
    "layers": ("model.layers", TABLE_A3),
    "heads": ("model.heads", TABLE_A3),
    "width": ("model.width", TABLE_A3),
    "key width": ("model.key_width", TABLE_A3),
    "MLP width": ("model.mlp_width", TABLE_A3),
    "steps": ("recipe.steps", CODE),
    "batch": ("recipe.batch", TABLE_A3),
    "betas": ("recipe.betas", CODE),
    "examples an evaluation": ("recipe.examples", CODE),
}
_GRID = {  # name → the point of a setting, and the grid that the paper picks it from
    "peak rate": ("recipe.rate", "rates"),
    "weight decay": ("recipe.decay", "decays"),
    "warm-up steps": ("recipe.warmup", "warmups"),
}


def origin(task: str, varied: Sequence[str] = ()) -> Origin:
    """The hypernetwork paper: the settings of `lab.papers.hypernetwork.settings`. There is no file of data.

    task: "logic" or "sraven". varied: what the entry's own axes and lines vary, and so does not belong to its setting.
    """

    def facts(scale: str) -> Iterator[Field | str]:
        yield from (field for field in _fields(task, scale) if field.name not in varied)
        if scale != "paper":
            yield _ONE_POINT

    source = {"name": task, "from": "generated afresh by lab.tasks from each run's seed"}
    return Origin(lambda scale: [source], facts, settings.GUESSES)


def _fields(task: str, scale: str) -> Iterator[Field]:
    ours, theirs = (getattr(settings, task)(one) for one in (scale, "paper"))
    for name, (where, source) in (_TASKS[task] | _TRAINING).items():
        yield Field(name, attrgetter(where)(ours), attrgetter(where)(theirs), source, task=task)
    for name, (where, grid) in _GRID.items():
        choice = list(getattr(theirs, grid))
        value = choice if scale == "paper" else attrgetter(where)(ours)
        swept = "sweep on val at laptop scale" if name == "peak rate" and scale == "laptop" else ""
        if value in choice:
            yield Field(name, value, value, f"{TABLE_A3}: one point of its grid", swept, task=task)
        else:
            yield Field(name, value, choice, TABLE_A3, swept, task=task)
