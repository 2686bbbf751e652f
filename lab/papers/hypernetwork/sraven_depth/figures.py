"""SRAVEN by number of layers (hypernetwork paper, Figs. 4B, A4), and the codes of a deep model's layers (Fig. A7)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.codes_tables import MAPS, fresh, mapped
from lab.papers.hypernetwork.logic_codes.figures import ONE, maps_summary
from lab.papers.hypernetwork.origin import origin
from lab.papers.hypernetwork.sraven import figures as sraven_figures
from lab.papers.hypernetwork.sraven import plots
from lab.papers.hypernetwork.sraven_depth.claims import FIG4B
from lab.papers.hypernetwork.sraven_variations import figures as variations
from lab.plots import embedding
from lab.plots.style import method_title
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd

LAYERS = {"smoke": (2, 4), "laptop": (2, 4, 8), "paper": (4, 8, 16)}
PROBLEMS = variations.FEWER | {"paper": sraven_figures.PROBLEMS["paper"]}  # trained on
_MARKS = "paper 25 to 40 million"


def plan(scale: str, seeds: int) -> list[Planned]:
    """Runs of every method and depth."""
    return variations.along("layers", LAYERS, scale, seeds, PROBLEMS)


def _all_sizes(scale: str, seeds: int) -> list[Planned]:
    """Those of Figure 4A, and these."""
    wide = [
        (labels | {"varied": "problems", "layers": spec.model.layers}, spec)
        for labels, spec in sraven_figures.by_problems(scale, seeds)
    ]
    return wide + [(labels | {"varied": "layers"}, spec) for labels, spec in plan(scale, seeds)]


def _deepest(scale: str, seeds: int) -> list[Planned]:
    """Softmax attention with the most layers and problems."""
    softmax = [(labels, spec) for labels, spec in plan(scale, seeds) if labels["method"] == "softmax"]
    most = max((labels["layers"], labels["problems"]) for labels, _ in softmax)
    return [(labels, spec) for labels, spec in softmax if (labels["layers"], labels["problems"]) == most]


def _maps(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    colours = {name: sraven_figures.COLOURS[name] for name in ("rule", "target")}
    return mapped(sraven_figures.chosen(runs), examples, fresh, colours, last=False)


def _losses_summary(table: pd.DataFrame) -> str:
    """Loss by method along each axis, where the most is on the other."""
    best, words = table[table["chosen"]], []
    for by, other in (("problems", "layers"), ("layers", "problems")):
        rows = best[best["varied"] == by]
        rows = rows[rows[other] == rows[other].max()]
        losses = {method: part.groupby(by)["loss"].mean() for method, part in rows.groupby("method", sort=False)}
        phrases = [f"{method_title(name)} {loss.iloc[0]:.2f} to {loss.iloc[-1]:.2f}" for name, loss in losses.items()]
        words.append(f"from the fewest {by} to the most {', '.join(phrases)}")
    return f"Training loss in nats a feature: {'; '.join(words)}."


def _few(scale: str) -> list[str]:
    drawn = "drawn against layers, one panel a number of problems; the paper has a panel for each depth"
    return [*variations.notes("layers", LAYERS, "paper 4, 8, 16", _MARKS, scale, PROBLEMS), drawn]


def _loss_notes(scale: str) -> list[str]:
    numbers = sorted({labels["problems"] for labels, _ in sraven_figures.by_problems(scale, 1)})
    layers, trained = variations.notes("layers", LAYERS, "paper 4, 8, 16", _MARKS, scale, PROBLEMS)
    return [
        f"by problems: the runs of Figure 4A, {' and '.join(f'{number:,}' for number in numbers)} ({_MARKS}), one"
        f" width (paper three); by layers: {layers}, {trained}"
    ]


def _map_notes(scale: str) -> list[str]:
    labels, spec = _deepest(scale, 1)[0]
    return [
        f"{labels['layers']} layers (paper 16), {labels['problems']:,} problems trained on (paper 40 million)",
        "codes of the last query attending to itself, as in the text; the reference code reads that query's scores"
        " for two context panels, of problems without permutations",
        MAPS,
    ]


_SRAVEN: dict[str, Any] = {"tasks": ("sraven",), "origin": origin("sraven", ("steps", "layers"))}
ENTRIES = (
    Entry(
        "hypernetwork/fig4b",
        "4.4",
        "SRAVEN by number of layers",
        "Accuracy (all features of the answer right) on unseen combinations of rules, at the end of training, against"
        " the number of layers; thin: on combinations that training saw",
        "given enough problems and a large enough model, all methods solve 80 % of unseen combinations; HYLA is best"
        " where either is small",
        plan=plan,
        measure=sraven_figures.scores,
        plot=partial(plots.accuracy, by="layers"),
        summary=partial(variations.summary, by="layers"),
        notes=_few,
        seeds=variations.SEEDS,
        claims=FIG4B,
        minutes={"smoke": 0.5, "laptop": 19, "paper": 6_300},
        **_SRAVEN,
    ),
    Entry(
        "hypernetwork/figA4",
        "4.4",
        "SRAVEN: training loss by number of problems and of layers",
        "Training loss (cross-entropy) at the end of training, against the number of problems trained on and against"
        " the number of layers",
        "training loss for the widths and depths of Figure 4; drawn, without a printed number",
        plan=_all_sizes,
        measure=sraven_figures.scores,
        plot=plots.fig_a4,
        summary=_losses_summary,
        notes=_loss_notes,
        seeds=variations.SEEDS,
        minutes={"smoke": 1, "laptop": 38, "paper": 6_600},
        **_SRAVEN,
    ),
    Entry(
        "hypernetwork/figA7",
        "4.4",
        "Latent codes of a deep model on SRAVEN, all layers",
        "t-SNE of the latent codes of each layer of the deepest softmax transformer on unseen combinations of rules,"
        " coloured by the rule that the answer follows and by the magnitude of the target",
        "codes of a softmax transformer with 16 layers, coloured by rule and by magnitude; no claim in words",
        plan=_deepest,
        measure=_maps,
        plot=embedding.layers,
        summary=maps_summary,
        notes=_map_notes,
        seeds=ONE,
        examples={"smoke": 60, "laptop": 500, "paper": 1_000},
        minutes={"smoke": 0.5, "laptop": 8, "paper": 270},
        **_SRAVEN,
    ),
)
