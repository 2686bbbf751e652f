"""ResultExplorer, ConnectivityExplorer: what a comparison or a probe returned."""

import html
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from lab.comparison import Comparison
from lab.plots.caption import true_minus
from lab.plots.style import GREY
from lab.probes.calling import Slice1D, Slice2D
from lab.probes.codes import Codes
from lab.probes.complexity import Complexity
from lab.probes.connectivity import Connectivity
from lab.probes.cost import Cost
from lab.probes.decoding import Contrast, Decoding
from lab.probes.embedding import CodeSimilarity, Embedding
from lab.probes.language import MinimalPairs, TokenLosses
from lab.probes.profile import Portrait, Profile, Received
from lab.probes.spectrum import Spectrum
from lab.statistics import LEVEL
from lab.widgets.course import few
from lab.widgets.drawing import draw
from lab.widgets.explorer import LABEL, menu
from lab.widgets.model import PictureExplorer
from lab.widgets.pages import Frames

ALONG = "way from a to b"
TITLES: dict[type, str] = {
    CodeSimilarity: "similarity of latent codes",
    Codes: "latent codes",
    Contrast: "two groups of examples",
    Cost: "time that functions take",
    Decoding: "labels decoded from latent codes",
    Embedding: "a map of latent codes",
    MinimalPairs: "minimal pairs",
    Portrait: "a random network on a square",
    Profile: "a function",
    Received: "inputs that a function receives",
    Slice1D: "a model along a line of its inputs",
    Slice2D: "a model on a plane of its inputs",
    Spectrum: "spectrum of the Hessian",
    TokenLosses: "losses of a text's tokens",
}


class ResultExplorer(PictureExplorer):
    """The picture of a result; of a comparison with a choice of the metric."""

    def __init__(self, result: Any):
        super().__init__()
        self._result = result
        several = [*result.data.metrics, "loss"] if isinstance(result, Comparison) else []
        self.metric = menu("metric", several)
        self.metric.layout.display = None if several else "none"
        self.begin(self.metric)

    @property
    def heading(self) -> str:
        """The data of a comparison, the names of runs; else what kind of result it is, in words."""
        result = self._result
        if isinstance(result, dict):
            return f"Runs by name: {', '.join(map(str, result))}"
        if isinstance(result, Comparison):
            return f"Comparison on {result.data.name}"
        words = result.measure if isinstance(result, Complexity) else TITLES[type(result)]
        return f"{words[0].upper()}{words[1:]}"

    def settings(self) -> list[tuple[str, str]]:
        """Of a comparison: how its models were trained."""
        result = self._result
        if not isinstance(result, Comparison):
            return []
        rates = ", ".join(f"{name} {result.rates[name]:g}" for name in result.functions)
        seeds = len({run.spec.seed for run in result.runs})
        return [("seeds", str(seeds)), ("steps", f"{result.runs[0].spec.recipe.last:,}"), ("learning rates", rates)]

    def frames(self) -> Frames:
        """Of a comparison: every metric."""
        if not self.metric.options:
            return super().frames()
        parts = {name: [self._result.plot(name), self.status.value] for name in self.metric.options}
        return Frames("metric", parts, self.metric.value)

    def _draw(self) -> None:
        self._show(self._result.plot(self.metric.value) if self.metric.options else draw(self._result))
        self.say(true_minus(repr(self._result)) if isinstance(self._result, Comparison) else "")


class ConnectivityExplorer(PictureExplorer):
    """Move along the straight path between two models: the measures there in words, in the mean over pairs, as the
    units are and after they were matched.

    result: what `probes.connectivity` returned.

    >>> import torch
    >>> from torch import nn
    >>> from lab import probes
    >>> first, second = nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)
    >>> first.weight.data, second.weight.data = torch.zeros(1, 2), torch.ones(1, 2)
    >>> path = probes.connectivity(first, second, {"size": lambda m: m.weight.sum()}, points=3)
    >>> "as they are: size 1;" in ConnectivityExplorer(path).status.value
    True
    """

    def __init__(self, result: Connectivity):
        super().__init__()
        self._result = result
        options = [(f"{share:.6g}", share) for share in result.along.tolist()]
        self.along = widgets.SelectionSlider(description=ALONG, options=options, style=LABEL, index=len(options) // 2)
        self.begin(self.along)

    def settings(self) -> list[tuple[str, str]]:
        """None: a page has the slider."""
        return []

    def frames(self) -> Frames:
        """Every point of the path, or as many as a page can hold."""
        chosen = sorted({*few(len(self._result.along), self._result.table.size), self.along.index})
        names = [name for name, _ in self.along.options]
        parts = {names[number]: [self._picture(number), self._words(number).replace("\n", "<br>")] for number in chosen}
        return Frames(ALONG, parts, names[self.along.index], slides=True)

    def _draw(self) -> None:
        if not self._place.children:
            self._show(self._picture(self.along.index))
        with self._place.children[0].batch_update():
            for line in self._place.children[0].layout.shapes:
                line.x0 = line.x1 = self.along.value
        self.say(html.unescape(self._words(self.along.index)))

    def _picture(self, number: int) -> go.Figure:
        return draw(self._result).add_vline(self._result.along[number], line={"color": GREY, "dash": "dot"})

    def _words(self, number: int) -> str:
        result, many = self._result, len(self._result.barriers)
        lines = [f"{result.along[number]:.6g} of the way from a to b" + f", mean over {many} pairs" * (many > 1)]
        both = {"as they are": (result.values, result.barrier), "matched": (result.matched, result.matched_barrier)}
        for name, (values, barrier) in both.items():
            if values is not None and barrier is not None:
                said = ", ".join(f"{measure} {each[:, number].mean():.4g}" for measure, each in values.items())
                spread = " [{:.3g}, {:.3g}]".format(*barrier.interval(LEVEL)) if many > 1 else ""
                lines.append(f"units {name}: {said}; barrier of the {result.loss} {barrier.effect:.3g}{spread}")
        return html.escape(true_minus("\n".join([*lines, *result.notes])))
