"""Where the settings of the hypernetwork paper come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.papers.hypernetwork import settings
from lab.papers.hypernetwork.settings import HyperSetting
from lab.papers.origin import Origin


@dataclass(frozen=True)
class Hyper:
    """The hypernetwork paper: the settings of `lab.papers.hypernetwork.settings`.

    task: "logic" or "sraven". varied: what the entry's own axes and lines vary, and so does not belong to its setting.
    """

    task: str
    varied: tuple[str, ...] = ()
    guesses: Sequence[str] = settings.GUESSES

    def data(self, scale: str) -> list[dict]:
        """Examples are made as they are needed, from the seed of each run: there is no file."""
        return [{"name": self.task, "from": "generated afresh by lab.tasks from each run's seed"}]

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """Those of the paper are Table A3's."""
        here, paper, found = self._fields(scale), self._fields("paper"), {}
        for name, value in here.items():
            source = "paper, Table A3" if name in _TABLE_A3 else "reference code; the paper does not say"
            if _in_grid(value, paper[name]):
                source = "paper, Table A3: one point of its grid"
            elif value != paper[name]:
                tuned = name == "peak rate" and scale == "laptop"
                source = "sweep on val at laptop scale" if tuned else f"reduced for scale {scale}"
            found[f"{self.task}: {name}"] = {"value": value, "from": source}
        return found

    def departures(self, scale: str) -> list[str]:
        """What differs from the settings of the paper, and that there is no grid search below `paper`."""
        here, paper = self._fields(scale), self._fields("paper")
        told = [
            f"{name} {value} (paper {paper[name]})"
            for name, value in here.items()
            if value != paper[name] and not _in_grid(value, paper[name])
        ]
        found = [f"{self.task}: {', '.join(told)}"] if told else []
        if scale != "paper":
            found.append(
                "one learning rate, weight decay and warm-up for all methods; the paper picks them from a grid for each"
            )
        return found

    def _setting(self, scale: str) -> HyperSetting:
        return getattr(settings, self.task)(scale)

    def _fields(self, scale: str) -> dict[str, object]:
        found = self._setting(scale)
        task, model, recipe = found.task, found.model, found.recipe
        own = {"variables": "variables", "terms": "terms", "length": "length", "held out": "held_out"}
        if self.task == "sraven":
            own = {"features": "features", "values": "values", "held out": "held_out"}
        fields = {name: getattr(task, field) for name, field in own.items()} | {
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
            fields |= {"peak rate": list(found.rates), "weight decay": list(found.decays)}
            fields["warm-up steps"] = list(found.warmups)
        else:
            fields |= {"peak rate": recipe.rate, "weight decay": recipe.decay, "warm-up steps": recipe.warmup}
        return {name: value for name, value in fields.items() if name not in self.varied}


@dataclass(frozen=True)
class JoinedProvenance:
    """An entry that trains on more than one task: parts(scale) are the origins of what it trains at that scale."""

    parts: Callable[[str], Sequence[Origin]]
    guesses: Sequence[str] = settings.GUESSES

    def data(self, scale: str) -> list[dict]:
        """Of all parts."""
        return [source for part in self.parts(scale) for source in part.data(scale)]

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """Of all parts; names begin with the task."""
        return {name: fact for part in self.parts(scale) for name, fact in part.hyperparameters(scale).items()}

    def departures(self, scale: str) -> list[str]:
        """Of all parts, each once."""
        return list(dict.fromkeys(told for part in self.parts(scale) for told in part.departures(scale)))


def _in_grid(value: object, paper: object) -> bool:
    """Whether the paper tried this value among others, and left the choice to the grid search."""
    return isinstance(paper, list) and value in paper


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
