"""Where the settings of the hypernetwork paper come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lab.papers.hypernetwork import settings
from lab.papers.hypernetwork.settings import HyperSetting
from lab.papers.origin import Field, Origin


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


def joined(parts: Callable[[str], Sequence[Origin]]) -> Origin:
    """Of an entry that trains on more than one task: parts(scale) are the origins of what it trains at that scale."""
    return Origin(
        data=lambda scale: [source for part in parts(scale) for source in part.data(scale)],
        facts=lambda scale: [fact for part in parts(scale) for fact in part.facts(scale)],
        guesses=settings.GUESSES,
    )


def _fields(task: str, scale: str) -> Iterator[Field]:
    paper = _numbers(task, "paper")
    for name, value in _numbers(task, scale).items():
        theirs = paper[name]
        source = "paper, Table A3" if name in _TABLE_A3 else "reference code; the paper does not say"
        if isinstance(theirs, list) and value in theirs:  # the paper leaves the choice to the grid search
            theirs, source = value, "paper, Table A3: one point of its grid"
        other = "sweep on val at laptop scale" if name == "peak rate" and scale == "laptop" else ""
        yield Field(name, value, theirs, source, other, task=task)


def _numbers(task: str, scale: str) -> dict[str, object]:
    setting: HyperSetting = getattr(settings, task)(scale)
    model, recipe = setting.model, setting.recipe
    attributes = {"variables": "variables", "terms": "terms", "length": "length", "held out": "held_out"}
    if task == "sraven":
        attributes = {"features": "features", "values": "values", "held out": "held_out"}
    fields = {name: getattr(setting.task, field) for name, field in attributes.items()} | {
        "layers": model.layers,
        "heads": model.heads,
        "width": model.width,
        "key width": model.key_width,
        "MLP width": model.mlp_width,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "betas": list(recipe.betas),
        "examples an evaluation": recipe.examples,
    }
    if scale == "paper":
        fields |= {"peak rate": list(setting.rates), "weight decay": list(setting.decays)}
        fields["warm-up steps"] = list(setting.warmups)
    else:
        fields |= {"peak rate": recipe.rate, "weight decay": recipe.decay, "warm-up steps": recipe.warmup}
    return fields


_ONE_POINT = "one learning rate, weight decay and warm-up for all methods; the paper picks them from a grid for each"
_TABLE_A3 = {
    "layers",
    "heads",
    "width",
    "key width",
    "MLP width",
    "batch",
    "peak rate",
    "weight decay",
    "warm-up steps",
    "variables",
    "terms",
    "length",
    "held out",
    "features",
    "values",
}
