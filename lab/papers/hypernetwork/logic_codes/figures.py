"""Section 3.2 and Figure A2 of the hypernetwork paper: what latent codes tell of fuzzy logic functions.

Figures 2B, 2D and A2 read runs that figure 2C trains: those with 32 tokens and 70 % of the functions held out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.codes_tables import MAPS, Labelled, decoded, fresh, mapped
from lab.papers.hypernetwork.logic.figures import finals
from lab.papers.hypernetwork.logic.figures import plan as all_runs
from lab.papers.hypernetwork.logic_codes.claims import CONTEXT, FIG2B, QUERY, of_context
from lab.papers.hypernetwork.origin import origin
from lab.papers.hypernetwork.settings import READ, READ_HELD_OUT, SEEDS, read_length
from lab.plots import decoding, embedding
from lab.plots.style import method_title
from lab.run import Run
from lab.scale import SCALES
from lab.tasks import Logic
from lab.tasks.stream import Examples

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

TERMS = 2 ** Logic().variables - Logic().reserved  # that training sees
ONE = dict.fromkeys(SCALES, 1)


def plan(scale: str, seeds: int) -> list[Planned]:
    """The runs of figure 2C with 32 tokens (fewer at smoke scale) and 70 % held out."""
    return all_runs(scale, seeds, (read_length(scale),), (READ_HELD_OUT,))


def chosen(runs: Labelled) -> Labelled:
    """Of a grid of hyper-parameters, the runs at the point that is best on `val` for their method."""
    return [pair for pair, keep in zip(runs, finals(runs)["chosen"], strict=True) if keep]


def sample(run: Run, split: str, count: int, varied: str = CONTEXT) -> Examples:
    """Sequences with the same query, and points in context of their own, as in the reference code's data for this; or,
    as Section 3.2 has it, with the same points in context and a query of their own."""
    return fresh(run, split, count, fixed=QUERY if varied == CONTEXT else CONTEXT)


def which_terms(examples: Examples, count: int = TERMS) -> np.ndarray:
    """Whether a function has each of the terms that training saw, (examples, terms)."""
    terms = examples.latents["terms"].numpy()
    return (terms[:, :, None] == np.arange(count)).any(1).astype(int)


def _decoded(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    """As `decoded`, of either kind of sequences; varied: "context" or "query"."""
    import pandas as pd

    tables = []
    for varied in (CONTEXT, QUERY):
        draw = partial(sample, varied=varied)
        table = decoded(chosen(runs), examples, draw, which_terms, "terms", names=written)
        tables.append(table.assign(varied=varied))
    return pd.concat(tables, ignore_index=True)


def _plot(table: pd.DataFrame) -> go.Figure:
    return decoding.by_class(of_context(table))


def written(term: int, variables: int = Logic().variables) -> str:
    """A term by the signs of its variables, x1 first: − is negated.

    >>> written(13)
    '++−+'
    """
    return "".join("+" if bit == "1" else "−" for bit in f"{term:0{variables}b}")


def _term(number: int) -> Callable[[Examples], np.ndarray]:
    return lambda examples: np.array([written(term) for term in examples.latents["terms"][:, number].tolist()])


def _functions(examples: Examples) -> np.ndarray:
    return np.array([" ∨ ".join(map(written, terms)) for terms in examples.latents["terms"].tolist()])


COLOURS = {
    "target": lambda examples: examples.targets[:, 0].numpy(),
    "function": _functions,
    "term 1": _term(0),
    "term 2": _term(1),
}


def _last(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    two = {name: COLOURS[name] for name in ("target", "term 1")}
    return mapped(chosen(runs), examples, sample, two, last=True)


def _all(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    return mapped(chosen(runs), examples, sample, COLOURS, last=False)


def _decoded_summary(table: pd.DataFrame) -> str:
    """Mean F1 over terms and seeds, by method and layer; its range over these where the query varies."""
    of_queries = table[table["varied"] == QUERY].groupby(["method", "layer"])["value"].mean()
    words, table = [], of_context(table)
    for method, rows in table.groupby("method", sort=False):
        means = 100 * rows.groupby("layer")["value"].mean()
        words.append(f"{method_title(method)} {', '.join(f'{mean:.0f}' for mean in means)}")
    chance, shuffled = 100 * table["chance"].mean(), 100 * table["shuffled"].mean()
    return (
        f"Mean F1 over terms on unseen functions, in %, from the first layer to the last: {'; '.join(words)}."
        f" Saying yes to every term gives {chance:.0f}, decoders of shuffled labels {shuffled:.0f}; where the query"
        f" varies, not the context, F1 is {100 * of_queries.min():.0f} to {100 * of_queries.max():.0f}."
    )


def maps_summary(table: pd.DataFrame) -> str:
    """How far neighbours on the maps of the last layer are alike, by colouring and method."""
    words, titles = [], [method_title(name) for name in table["method"].unique()]
    for colouring, rows in table[table["layer"] == table["layer"].max()].groupby("colouring", sort=False):
        pairs = [embedding.neighbours(part) for _, part in rows.groupby("method", sort=False)]
        known = [alike for alike, _ in pairs if alike == alike]
        if not known:
            continue
        if rows["label"].isna().all():
            words.append(f"{colouring} {_each(pairs, '.2f')} (correlation with the neighbours' mean)")
        else:
            percent = [(100 * alike, 100 * chance) for alike, chance in pairs]
            chance = np.nanmean([chance for _, chance in percent])
            words.append(f"{colouring} {_each(percent, '.0f')} % with the same label (chance {chance:.0f})")
    return f"Neighbours on the map of the last layer ({', '.join(titles)}): {'; '.join(words)}." if words else ""


def _each(pairs: Sequence[tuple[float, float]], form: str) -> str:
    """The first number of each pair, – where there is none."""
    return ", ".join("–" if alike != alike else format(alike, form) for alike, _ in pairs)


def _notes(scale: str) -> list[str]:
    length = read_length(scale)
    shorter = [f"{length} tokens (paper {READ})"] if length != READ else []
    return [
        *shorter,
        f"{100 * READ_HELD_OUT:.0f} % of the functions held out, {length} tokens; the query is the same for all"
        " examples, and points in context vary, as in the reference code's data (the paper's text: the query varies;"
        " then codes follow the query, and hardly tell the terms)",
    ]


def _decoder_notes(scale: str) -> list[str]:
    return [
        *_notes(scale),
        "the paper states no setting of its classifiers: here one logistic regression a term (L2,"
        " C = 1, standardized codes, yes and no weighted to count alike), trained on fresh examples"
        " of functions that the model was trained on, tested on functions it was not",
    ]


def _map_notes(scale: str) -> list[str]:
    return [*_notes(scale), MAPS]


def _last_maps(table: pd.DataFrame) -> go.Figure:
    return embedding.maps(table, height=190)


_SHARED: dict[str, Any] = {"tasks": ("logic",), "plan": plan, "origin": origin("logic", ("length",))}
ENTRIES = (
    Entry(
        "hypernetwork/fig2b",
        "3.2",
        "Terms decoded from latent codes",
        "F1 of logistic regressions that decode from the latent code (the attention scores across heads of the response"
        " token attending to itself) whether a function has a term, on unseen functions, by term and layer",
        "the latent code is predictive of the terms of each function",
        measure=_decoded,
        plot=_plot,
        summary=_decoded_summary,
        notes=_decoder_notes,
        seeds=SEEDS,
        claims=FIG2B,
        examples={"smoke": 200, "laptop": 4_000, "overnight": 8_000, "paper": 16_000},
        minutes={"smoke": 0.5, "laptop": 8, "overnight": 70, "paper": 10},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/fig2d",
        "3.2",
        "Latent codes on fuzzy logic",
        "t-SNE of the latent codes of the last layer on unseen functions, coloured by the target and by the first term"
        " (the signs of its variables, − if negated)",
        "clusters are explained by the terms of the function more than by the value of its output",
        measure=_last,
        plot=_last_maps,
        summary=maps_summary,
        notes=_map_notes,
        seeds=ONE,
        examples={"smoke": 60, "laptop": 800, "overnight": 1_200, "paper": 2_000},
        minutes={"smoke": 0.5, "laptop": 4, "overnight": 30, "paper": 5},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/figA2",
        "3.2",
        "Latent codes on fuzzy logic, all layers",
        "t-SNE of the latent codes of each layer on unseen functions, coloured by the target, the function, its first"
        " and its second term (the signs of its variables, − if negated)",
        "clusters follow the terms",
        measure=_all,
        plot=embedding.maps,
        summary=maps_summary,
        notes=_map_notes,
        seeds=ONE,
        examples={"smoke": 60, "laptop": 500, "overnight": 800, "paper": 1_000},
        minutes={"smoke": 0.5, "laptop": 4, "overnight": 30, "paper": 5},
        **_SHARED,
    ),
)
