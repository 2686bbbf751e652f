"""Section 4.4 of the hypernetwork paper: what latent codes tell of SRAVEN's rules (Figs. 5, A6, A7, A8).

All entries read runs of Figure 4A, those with the most problems; Figure A7 the deepest of Figure 4B.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers import codes
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork import sraven
from lab.papers.hypernetwork.settings import (
    ONE,
    PROBLEMS,
    SEEDS,
    best_runs,
    origin,
    two_features,
)
from lab.papers.tables import Labelled, paired, per_seed, percent
from lab.plots import latent_codes, similarity
from lab.plots.caption import TOO_EARLY, too_early
from lab.plots.style import method_title
from lab.tasks.sraven import RULES
from lab.tasks.stream import Examples

MOST = {scale: numbers[-1:] for scale, numbers in PROBLEMS.items()}
PAIR = ("addition", "subtraction")
NO_CLUSTERS = "no layer's codes cluster by rule or target"
plan = partial(sraven.plan, numbers=MOST)


def _deepest(scale: str, seeds: int) -> list[Planned]:
    softmax = [(labels, spec) for labels, spec in sraven.by_layers(scale, seeds) if labels["method"] == "softmax"]
    most = max((labels["layers"], labels["problems"]) for labels, _ in softmax)
    return [(labels, spec) for labels, spec in softmax if (labels["layers"], labels["problems"]) == most]


def rules(examples: Examples) -> np.ndarray:
    """The rule that the last token's answer follows."""
    return np.array(RULES)[examples.latents["answer_rules"][:, -1].numpy()]


TARGET: dict[str, codes.Labels] = {"target": lambda examples: examples.targets[:, -1].numpy().astype(float)}
RULE: dict[str, codes.Labels] = {"rule": rules}


def _maps(colours: dict[str, codes.Labels], last: bool = False) -> Callable[[Labelled, int], pd.DataFrame]:
    return lambda runs, examples: codes.mapped(best_runs(runs), examples, codes.fresh, colours, last)


def _deep_maps(runs: Labelled, examples: int) -> pd.DataFrame:
    """As `codes.mapped`, and accuracy, that of the model on unseen combinations at the end of training."""
    accuracy = float(np.mean([run.scores["accuracy_ood"][-1] for _, run in best_runs(runs)]))
    return _maps(RULE | TARGET)(runs, examples).assign(accuracy=round(accuracy, 4))


def _absent(labels: pd.Series) -> str:
    """Which rules no answer follows."""
    known = set(labels.dropna())
    absent = [rule for rule in RULES if known and rule not in known]
    return f" No unseen combination here has {' or '.join(absent)}." if absent else ""


def _last_summary(table: pd.DataFrame) -> str:
    name, *others = table["colouring"].unique()
    last = codes.near_by_layer(table, name).loc[table["layer"].max()]
    verdict = ""
    if not others and last.notna().all() and last.round(2).nunique() > 1:
        most, least = method_title(last.idxmax()), method_title(last.idxmin())
        verdict = f"Here, with one model each, codes of {most} cluster by {name} most, of {least} least. "
    return codes.maps_summary(table, verdict) + _absent(table["label"])


def _layers_summary(table: pd.DataFrame) -> str:
    """Whether rules and the target explain more of the last layer or of the second, over methods."""
    near, words = codes.alike(table).unstack("method"), []
    if len(near) < 3:
        return codes.maps_summary(table)
    for name, expected in (("rule", True), ("target", False)):
        changes = (near.iloc[-1] - near.iloc[1])[name]
        change = codes.over_maps(changes)
        known = change.low > 0 or change.high < 0
        rises = (changes > 0).sum() * 2 > changes.notna().sum()
        counts = f"{(changes > 0).sum()} of {changes.notna().sum()}"
        against = "" if rises == expected else f"; paper: {'fewer' if rises else 'more'}"
        words.append(f"the {name} in {counts} ({'surely' if known else 'not surely'}{against})")
    return codes.maps_summary(table, f"From layer 2 to the last more neighbours share {', '.join(words)}. ")


def _deep_summary(table: pd.DataFrame) -> str:
    last = table[table["layer"] == table["layer"].max()]
    rule, target = (latent_codes.neighbours(last[last["colouring"] == name]) for name in ("rule", "target"))
    problem = too_early("" if latent_codes.clustered(table) else NO_CLUSTERS)
    return problem + (
        f"In the last of {last['layer'].iloc[0] + 1} layers {percent(rule[0])} % of neighbours have the same rule (by"
        f" chance {percent(rule[1])}), {percent(target[0])} % the same target (by chance {percent(target[1])})."
        f" The model answers {percent(table['accuracy'].iloc[0])} % of unseen combinations."
    )


def _decoded_summary(table: pd.DataFrame) -> str:
    controls = f"{percent(table['chance'].mean())} and {percent(table['shuffled'].mean())}"
    return (
        f"Rules decoded on unseen combinations, in %, from the first layer to the last: {codes.by_layer(table)}."
        f" The best constant answer and decoders of shuffled labels: {controls}."
    )


def _alike_summary(table: pd.DataFrame) -> str:
    different = table[table["a"] != table["b"]]
    pair = different[different[["a", "b"]].isin(PAIR).all(axis=1)]
    if pair.empty:
        return "No problem has addition or subtraction in its last place, so they cannot be compared."
    words = []
    for method, rows in different[different["a"] < different["b"]].groupby("method", sort=False):
        means = rows.groupby(["a", "b"])["similarity"].mean()
        rank = f"{(means > means[PAIR]).sum() + 1} of {len(means)} ({means[PAIR]:.3f}" if PAIR in means else "– (–"
        words.append(f"{method_title(method)} {rank}; {means.mean():.2f})")
    return (
        "Rank of addition and subtraction among pairs of rules, the most alike first (cosine similarity; mean of all"
        f" pairs): {', '.join(words)}."
    )


def _listed_summary(table: pd.DataFrame) -> str:
    shares, number = similarity.nearest_means(table), table["label"].nunique()
    words = ", ".join(f"{method_title(method)} {percent(share)}" for method, share in shares.items())
    return (
        f"Most alike by rule in {method_title(shares.idxmax())}. Codes nearest to the mean of their rule, in %: {words}"
        f" (chance {100 / number:.0f})." + _absent(table["label"])
    )


_CODES = (
    "codes of the last query attending to itself, as in the text; the reference code reads that query's scores"
    " for two context panels, of problems without permutations"
)


def _notes(scale: str, *more: str) -> list[str]:
    labels, spec = plan(scale, 1)[0]
    trained = f"{labels['problems']:,} problems trained on (paper 40 million), {spec.recipe.steps:,} steps"
    return [trained, _CODES, *more]


def _deep_notes(scale: str) -> list[str]:
    labels, _ = _deepest(scale, 1)[0]
    trained = f"{labels['layers']} layers (paper 16), {labels['problems']:,} problems trained on (paper 40 million)"
    return [trained, _CODES, codes.MAPS]


def _sum_and_difference(table: pd.DataFrame) -> Verdict:
    """HYLA: the share of all other pairs of rules that are less alike than addition and subtraction (half of them,
    were the pair like any other). By rank, because similarities of other pairs differ by much."""
    rows = table[(table["method"] == "hyla") & (table["a"] < table["b"])].dropna(subset=["similarity"])
    shares = []
    for _, part in rows.groupby("seed"):
        pair = part[["a", "b"]].isin(PAIR).all(axis=1)
        if pair.any() and not pair.all():
            shares.append(100 * float((part["similarity"][~pair] < part["similarity"][pair].iloc[0]).mean()))
    return Verdict(estimates.mean(shares, covers="seeds (splits)").cut(0, 100), above=50.0, unit="%")


def _later_layers(table: pd.DataFrame) -> Verdict:
    """Last layer minus second, for every method. In the first, the query is the same in all problems, and so is its
    code unless softmax compares it with others: there is nothing that could be read from it."""
    scores, depths = per_seed(table, ["method", "layer"], "value"), sorted(table["layer"].unique())
    early, last = depths[1], depths[-1]
    return all_of(paired({m: scores[m, last] - scores[m, early] for m in table["method"].unique()}, above=0.0))


def _magnitude_early(table: pd.DataFrame) -> Verdict:
    """Second layer minus last, neighbours with the same target: in the first, two methods have one code."""
    by_layer = codes.near_by_layer(table, "target")
    return codes.over_maps(by_layer.iloc[1] - by_layer.iloc[-1])


_of_maps = partial(Claim, decides="a map of each of several models a method, where one is drawn of each", hours=2.9)
FIG5B = (
    _of_maps(
        "rules",
        "Clusters of the last layer's codes match the rules (neighbours above chance, over attentions)",
        codes.clusters_by("rule"),
        stands_in=two_features,
    ),
)
FIGA6 = (
    _of_maps(
        "magnitude",
        "The target's magnitude explains clusters more in early layers (2nd than last, over attentions)",
        _magnitude_early,
        stands_in=two_features,
    ),
)
_claim = partial(
    Claim,
    decides="9 seeds more of each method, with 5 million problems: 27 runs of 57 minutes",
    hours=13.0,
    stands_in=two_features,
)
FIG5E = (
    sraven.of_four_features(
        "related",
        "HYLA's codes of addition and subtraction are more alike than those of other pairs",
        _sum_and_difference,
    ),
)
FIG5F = (
    _claim(
        "decodable",
        "The rule can be decoded from codes of unseen combinations (above any constant answer)",
        codes.decodable,
    ),
    _claim("later", "The last layer tells more of the rule than the second", _later_layers),
)

_SHARED: dict[str, Any] = {"tasks": ("sraven",), "origin": origin("sraven", ("steps",)), "plan": plan}
_SEEDS: dict[str, Any] = _SHARED | {
    "seeds": SEEDS,
    "minutes": {"smoke": 1, "laptop": 60, "overnight": 265, "paper": 600},  # of the runs that all entries share
}
_ONE: dict[str, Any] = _SHARED | {"seeds": ONE, "minutes": {"smoke": 0.5, "laptop": 20, "overnight": 90, "paper": 200}}
_LAST: dict[str, Any] = _ONE | {
    "plot": partial(latent_codes.maps, height=200),
    "notes": lambda scale: _notes(scale, codes.MAPS),
    "examples": {"smoke": 60, "laptop": 800, "overnight": 1_200, "paper": 2_000},
}
_MANY = {"smoke": 200, "laptop": 4_000, "overnight": 8_000, "paper": 16_000}
ENTRIES = (
    Entry(
        "hypernetwork/fig5a",
        "4.4",
        "Latent codes on SRAVEN, by target",
        "t-SNE of the latent codes of the last layer on unseen combinations of rules, coloured by the magnitude of the"
        " target",
        "magnitude explains clusters more in early layers (Figure A6), the rule in the last (Figure 5b)",
        measure=_maps(TARGET, last=True),
        summary=_last_summary,
        **_LAST,
    ),
    Entry(
        "hypernetwork/fig5b",
        "4.4",
        "Latent codes on SRAVEN, by rule",
        "t-SNE of the latent codes of the last layer on unseen combinations of rules, coloured by the rule that the"
        " answer follows",
        "clusters of the last layer match the rules",
        measure=_maps(RULE, last=True),
        summary=_last_summary,
        claims=FIG5B,
        **_LAST,
    ),
    Entry(
        "hypernetwork/fig5e",
        "4.4",
        "How alike the codes of two rules are",
        "Cosine similarity between the mean latent codes of rules in the last layer, on unseen combinations",
        "related rules such as addition and subtraction can have similar codes (HYLA)",
        measure=lambda runs, examples: codes.similarities(best_runs(runs), examples, codes.fresh, rules, RULES),
        plot=partial(similarity.matrices, pair=PAIR),
        summary=_alike_summary,
        notes=_notes,
        examples=_MANY,
        claims=FIG5E,
        **_SEEDS,
    ),
    Entry(
        "hypernetwork/fig5f",
        "4.4",
        "Rules decoded from latent codes",
        "Accuracy of a logistic regression that decodes from the latent code which rule the answer follows, trained on"
        " combinations that the model was trained on and tested on unseen ones, by layer",
        "strongly predictive in later layers",
        measure=lambda runs, examples: codes.decoded(best_runs(runs), examples, codes.fresh, rules, "rules"),
        plot=latent_codes.by_layer,
        summary=_decoded_summary,
        notes=lambda scale: _notes(
            scale,
            "the paper states no setting of its classifier: here multinomial (L2, C = 1, standardized codes, rules"
            " weighted to count alike)",
        ),
        examples=_MANY,
        claims=FIG5F,
        **_SEEDS,
    ),
    Entry(
        "hypernetwork/figA6",
        "4.4",
        "Latent codes on SRAVEN, all layers",
        "What explains latent codes on unseen combinations of rules: the rule that the answer follows, or the magnitude"
        " of the target; on top by layer, below on t-SNE maps by rule alone",
        "early layers cluster by magnitude, the last one by rule",
        measure=_maps(TARGET | RULE),
        claims=FIGA6,
        plot=partial(latent_codes.layers, below=("rule",)),
        summary=_layers_summary,
        notes=lambda scale: _notes(
            scale,
            codes.MAPS,
            "in the first layer, linear attention and HYLA have one code for all problems: queries are zero, and only"
            " softmax compares with other keys",
        ),
        examples={"smoke": 60, "laptop": 500, "overnight": 800, "paper": 1_000},
        **_ONE,
    ),
    Entry(
        "hypernetwork/figA7",
        "4.4",
        "Latent codes of a deep model on SRAVEN, all layers",
        "How far neighbours on a t-SNE map of latent codes are alike, by the rule of the answer and by the target, in"
        " each layer of the deepest softmax transformer",
        "with 16 layers and 40 million problems, too, magnitude explains clusters more in early layers",
        tasks=("sraven",),
        plan=_deepest,
        measure=_deep_maps,
        plot=partial(latent_codes.layers, below=("rule", "target"), none=f"{TOO_EARLY}: {NO_CLUSTERS}, so no map"),
        summary=_deep_summary,
        notes=_deep_notes,
        origin=origin("sraven", ("steps", "layers")),
        seeds=ONE,
        examples={"smoke": 60, "laptop": 500, "paper": 1_000},
        minutes={"smoke": 0.5, "laptop": 8, "paper": 270},
    ),
    Entry(
        "hypernetwork/figA8",
        "4.4",
        "Attention scores across heads, rule by rule",
        "Latent codes of the last layer on unseen combinations, less the mean of all rules: examples of each rule, and"
        " its mean",
        "codes of a rule are alike",
        measure=lambda runs, examples: codes.listed(best_runs(runs), examples, codes.fresh, rules, RULES),
        plot=similarity.codes,
        summary=_listed_summary,
        notes=_notes,
        examples=_MANY,
        **_ONE,
    ),
)
