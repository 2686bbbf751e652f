"""Section 4 of the hypernetwork paper: symbolic Raven's matrices (SRAVEN), and what latent codes tell of their rules.

All entries read the same runs, one for each method and seed; figure 4A has shorter ones besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.codes_tables import MAPS, Labelled, decoded, fresh, listed, mapped, similarities
from lab.papers.hypernetwork.logic.figures import POINT, finals
from lab.papers.hypernetwork.logic_codes.figures import ONE
from lab.papers.hypernetwork.origin import origin
from lab.papers.hypernetwork.settings import FIGURE_METHODS, SEEDS, sraven
from lab.papers.hypernetwork.sraven import captions, plots
from lab.papers.hypernetwork.sraven.claims import FIG4A, FIG5E, FIG5F
from lab.plots import decoding, embedding, similarity
from lab.run import Run
from lab.tasks.sraven import RULES
from lab.tasks.stream import Examples

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

# Trained on; None: as many as the setting has. The paper's marks are 25 to 40 million.
PROBLEMS = {
    "smoke": (None,),
    "laptop": (256_000, None),
    "overnight": (1_280_000, None),
    "paper": (20_000_000, 40_000_000),
}


def by_problems(scale: str, seeds: int, numbers: Sequence[int | None] = ()) -> list[Planned]:
    """Runs of every method for each number of problems trained on: each a training of its own, with a schedule of its
    own; at paper scale, of every point of the grid."""
    runs = []
    for number in numbers or PROBLEMS[scale]:
        for method in FIGURE_METHODS:
            setting = sraven(scale, method, problems=number)
            for spec in setting.grid(seeds) if scale == "paper" else setting.runs(seeds):
                point = {name: getattr(spec.recipe, name) for name in POINT}
                problems = spec.recipe.steps * spec.recipe.batch
                runs.append(({"method": method, "problems": problems} | point, spec))
    return runs


def plan(scale: str, seeds: int) -> list[Planned]:
    """Those with the most problems."""
    return by_problems(scale, seeds, PROBLEMS[scale][-1:])


def chosen(runs: Labelled) -> Labelled:
    """Of a grid of hyper-parameters, the runs at the point that is best on `val` for their method."""
    return [pair for pair, keep in zip(runs, scores(runs)["chosen"], strict=True) if keep]


def rules(examples: Examples) -> np.ndarray:
    """The rule that the last token's answer follows."""
    return np.array(RULES)[examples.latents["answer_rules"][:, -1].numpy()]


def scores(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The last evaluation of each run; the point of the grid is picked by accuracy on `val`."""
    return finals(runs, "accuracy_val")


def _decoded(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    return decoded(chosen(runs), examples, fresh, rules, "rules")


COLOURS = {"target": lambda examples: examples.targets[:, -1].numpy().astype(float), "rule": rules}


def _maps(last: bool, *colourings: str) -> Callable[[Labelled, int], pd.DataFrame]:
    def measure(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
        return mapped(chosen(runs), examples, fresh, {name: COLOURS[name] for name in colourings}, last)

    return measure


def _similarities(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    return similarities(chosen(runs), examples, fresh, rules, RULES)


def _listed(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    return listed(chosen(runs), examples, fresh, rules, RULES)


def _notes(scale: str) -> list[str]:
    labels, spec = plan(scale, 1)[0]
    return [
        f"{labels['problems']:,} problems trained on (paper 40 million), {spec.recipe.steps:,} steps",
        "codes of the last query attending to itself, as in the text; the reference code reads that query's scores"
        " for two context panels, of problems without permutations",
    ]


def _decoder_notes(scale: str) -> list[str]:
    return [
        *_notes(scale),
        "the paper states no setting of its classifier: here multinomial (L2, C = 1, standardized"
        " codes, rules weighted to count alike)",
    ]


def _map_notes(scale: str) -> list[str]:
    return [*_notes(scale), MAPS]


def _all_layers_notes(scale: str) -> list[str]:
    return [
        *_map_notes(scale),
        "in the first layer, linear attention and HYLA have one code for all problems:"
        " queries are zero, and only softmax compares with other keys",
    ]


def _scaling_notes(scale: str) -> list[str]:
    numbers = sorted({labels["problems"] for labels, _ in by_problems(scale, 1)})
    text = ", ".join(f"{number:,}" for number in numbers)
    return [f"{text} problems (paper 25 to 40 million), one width and depth (paper three of each)"]


def _high_maps(table: pd.DataFrame) -> go.Figure:
    return embedding.maps(table, height=200)


_MINUTES = {"smoke": 1, "laptop": 60, "overnight": 265, "paper": 600}  # of the runs that all entries share
_SHARED: dict[str, Any] = {"tasks": ("sraven",), "origin": origin("sraven", ("steps",)), "minutes": _MINUTES}
_CODES: dict[str, Any] = {"plan": plan, **_SHARED}
_MINUTES_OF_ONE = {"smoke": 0.5, "laptop": 20, "overnight": 90, "paper": 200}
_ONE_SEED: dict[str, Any] = _CODES | {"seeds": ONE, "minutes": _MINUTES_OF_ONE}
_POINTS = {"smoke": 60, "laptop": 800, "overnight": 1_200, "paper": 2_000}
_MANY = {"smoke": 200, "laptop": 4_000, "overnight": 8_000, "paper": 16_000}
ENTRIES = (
    Entry(
        "hypernetwork/fig4a",
        "4.4",
        "SRAVEN by number of training problems",
        "Accuracy (all features of the answer right) on unseen combinations of rules, at the end of training, against"
        " the number of problems trained on; thin: on combinations that training saw",
        "given enough problems and a large enough model, all methods solve 80 % of unseen combinations; HYLA is best"
        " where either is small",
        plan=by_problems,
        measure=scores,
        plot=plots.fig4a,
        summary=captions.accuracy,
        notes=_scaling_notes,
        seeds=SEEDS,
        claims=FIG4A,
        **_SHARED | {"minutes": {"smoke": 1, "laptop": 80, "overnight": 330, "paper": 900}},
    ),
    Entry(
        "hypernetwork/fig5a",
        "4.4",
        "Latent codes on SRAVEN, by target",
        "t-SNE of the latent codes of the last layer on unseen combinations of rules, coloured by the magnitude of the"
        " target",
        "magnitude explains clusters more in early layers",
        measure=_maps(True, "target"),
        plot=_high_maps,
        summary=captions.maps,
        notes=_map_notes,
        examples=_POINTS,
        **_ONE_SEED,
    ),
    Entry(
        "hypernetwork/fig5b",
        "4.4",
        "Latent codes on SRAVEN, by rule",
        "t-SNE of the latent codes of the last layer on unseen combinations of rules, coloured by the rule that the"
        " answer follows",
        "clusters of the last layer match the rules",
        measure=_maps(True, "rule"),
        plot=_high_maps,
        summary=captions.maps,
        notes=_map_notes,
        examples=_POINTS,
        **_ONE_SEED,
    ),
    Entry(
        "hypernetwork/fig5e",
        "4.4",
        "How alike the codes of two rules are",
        "Cosine similarity between the mean latent codes of rules in the last layer, on unseen combinations",
        "related rules such as addition and subtraction can have similar codes (HYLA)",
        measure=_similarities,
        plot=similarity.matrices,
        summary=captions.alike,
        notes=_notes,
        seeds=SEEDS,
        examples=_MANY,
        claims=FIG5E,
        **_CODES,
    ),
    Entry(
        "hypernetwork/fig5f",
        "4.4",
        "Rules decoded from latent codes",
        "Accuracy of a logistic regression that decodes from the latent code which rule the answer follows, trained on"
        " combinations that the model was trained on and tested on unseen ones, by layer",
        "strongly predictive in later layers",
        measure=_decoded,
        plot=decoding.by_layer,
        summary=captions.decoded,
        notes=_decoder_notes,
        seeds=SEEDS,
        examples=_MANY,
        claims=FIG5F,
        **_CODES,
    ),
    Entry(
        "hypernetwork/figA6",
        "4.4",
        "Latent codes on SRAVEN, all layers",
        "t-SNE of the latent codes of each layer on unseen combinations of rules, coloured by the magnitude of the"
        " target and by the rule that the answer follows",
        "early layers cluster by magnitude, the last one by rule",
        measure=_maps(False, "target", "rule"),
        plot=embedding.maps,
        summary=captions.maps,
        notes=_all_layers_notes,
        examples={"smoke": 60, "laptop": 500, "overnight": 800, "paper": 1_000},
        **_ONE_SEED,
    ),
    Entry(
        "hypernetwork/figA8",
        "4.4",
        "Attention scores across heads, rule by rule",
        "Latent codes of the last layer on unseen combinations: a sample for each rule, and the mean of each rule;"
        " part C of the paper's figure, their similarities, is Figure 5E here",
        "codes of a rule are alike",
        measure=_listed,
        plot=similarity.codes,
        notes=_notes,
        examples=_MANY,
        **_ONE_SEED,
    ),
)
