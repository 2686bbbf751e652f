"""What is read from latent codes, run by run and layer by layer: decoded labels, maps, similarities.

Codes are those of the last token, a query, attending to itself (hypernetwork paper, Sections 3.2 and 4.4).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from lab import estimates
from lab.errors import LabError
from lab.papers.claims import Verdict, all_of
from lab.papers.tables import Labelled, paired, per_seed, percent
from lab.plots import latent_codes
from lab.plots.caption import true_minus
from lab.plots.style import method_title
from lab.probes import code_similarity, codes_by_layer, decode, embed
from lab.probes.codes import Codes
from lab.run import Run
from lab.tasks.stream import Examples

SEED = 0  # of the examples, of decoders and maps
SHUFFLES, FEW = 10, 1_000  # decoders of shuffled labels; two where there are fewer examples, as at scale smoke
# A departure that all maps have.
MAPS = "the paper states no setting of its t-SNE: here perplexity 30, started from PCA; codes of one model, seed 0"
Sample = Callable[[Run, str, int], Examples]  # (run, split, number of examples)
Labels = Callable[[Examples], np.ndarray]  # numbers, or text


def fresh(run: Run, split: str, count: int, **how) -> Examples:
    """Examples of the run's task that no training and no evaluation drew; the same for all runs of a seed."""
    generator = torch.Generator().manual_seed(2**40 + SEED)
    return run.spec.task.sample(split, count, generator, run.spec.seed, **how)


def layers(run: Run, examples: Examples) -> tuple[Codes, ...]:
    """The codes of every layer, on one example after the other."""
    return codes_by_layer(run.model(), examples, query=-1, key=-1)


def converged(runs: Labelled) -> Labelled:
    """The runs that did not diverge: of the others, no code is a number."""
    survivors = [(labels, run) for labels, run in runs if not run.diverged]
    if not survivors:
        raise LabError("every run diverged, so there are no codes to read; lower the rate in the settings")
    return survivors


def decoded(
    runs: Labelled, count: int, sample: Sample, labels: Labels, groups: str, names: Callable[[int], str] | None = None
) -> pd.DataFrame:
    """Decoders trained on combinations that training saw, tested on unseen ones: one row a run and layer, with the
    accuracy; or, with `names` of classes, one a run, layer and class, with the F1. `count` examples of either kind.

    Columns: the run's labels, seed, layer (from 0), label, value, low, high, chance, shuffled (mean), all from 0 to 1.
    groups: the latent that tells combinations apart.
    """
    rows = []
    for run_labels, run in converged(runs):
        parts = [sample(run, split, count) for split in ("test", "ood")]
        truth = np.concatenate([labels(part) for part in parts])
        group = np.concatenate([part.latents[groups].numpy() for part in parts])
        train = np.arange(2 * count) < count
        for layer, codes in enumerate(zip(*(layers(run, part) for part in parts), strict=True)):
            both = np.concatenate([part.codes for part in codes])
            # one function in six has a term: a decoder that does not weigh classes alike would never say yes
            shuffles = SHUFFLES if count >= FEW else 2
            result = decode(both, truth, group, SEED, train=train, shuffles=shuffles, balanced=True)
            score = result.f1 if names else result.accuracy
            columns = (score.value, score.low, score.high, score.chance, score.shuffled.mean(0))
            for index, values in enumerate(zip(*map(np.atleast_1d, columns), strict=True)):
                row = dict(zip(("value", "low", "high", "chance", "shuffled"), map(float, values), strict=True))
                label = {"label": names(result.classes[index])} if names else {}
                rows.append(run_labels | {"seed": run.spec.seed, "layer": layer} | label | row)
    return pd.DataFrame(rows)


def by_layer(table: pd.DataFrame) -> str:
    """Of a table of `decoded`, the mean of each layer by method, in percent, in words; – where there is one code."""
    words, depths = [], sorted(table["layer"].unique())
    for method, rows in latent_codes.with_codes(table)[0].groupby("method", sort=False):
        means = rows.groupby("layer")["value"].mean().reindex(depths)
        words.append(f"{method_title(method)} {', '.join(map(percent, means))}")
    return "; ".join(words) or "one code for all examples"


def decodable(table: pd.DataFrame) -> Verdict:
    """For every method, see `decodable_each`."""
    return all_of(decodable_each(table))


def decodable_each(table: pd.DataFrame) -> list[Verdict]:
    """In the last layer, the score above that of shuffled labels and of the best constant answer (yes to every term, or
    the most frequent rule), for each method: what a run's decoder has to beat is the higher of the two."""
    last = table[table["layer"] == table["layer"].max()]
    trivial = last[["shuffled", "chance"]].groupby([last["method"], last["seed"]]).transform("mean").max(axis=1)
    scores = per_seed(last.assign(above=last["value"] - trivial), "method", "above")
    return paired({method: scores[method] for method in scores}, above=0.0)


def mapped(
    runs: Labelled, count: int, sample: Sample, colours: Mapping[str, Labels], last: bool = False
) -> pd.DataFrame:
    """t-SNE of codes on unseen combinations, a row for each run, layer (`last`: of the last alone), colouring and
    example: method, layer, colouring, x, y, label or value, trustworthiness, embedding."""
    parts = []
    for run_labels, run in converged(runs):
        examples = sample(run, "ood", count)
        for codes in layers(run, examples)[-1 if last else 0 :]:
            points, trust = embedding(codes.codes)
            part = {"method": run_labels["method"], "layer": codes.layer, "x": points[:, 0], "y": points[:, 1]}
            part |= {"trustworthiness": trust, "embedding": "tsne"}
            for name, read in colours.items():
                shown = read(examples)
                kind = {"label": shown, "value": np.nan} if shown.dtype.kind == "U" else {"label": None, "value": shown}
                parts.append(pd.DataFrame(part | {"colouring": name} | kind).astype({"label": object, "value": float}))
    table = pd.concat([part.round({"x": 3, "y": 3, "value": 4}) for part in parts], ignore_index=True)
    return _sorted(table, ["layer", "colouring"], colouring=list(colours))


def _sorted(table: pd.DataFrame, columns: list[str], **orders: Sequence[str]) -> pd.DataFrame:

    def place(column: pd.Series) -> pd.Series:
        order = orders.get(column.name)
        return column.map({label: number for number, label in enumerate(order)}) if order else column

    return table.sort_values(columns, key=place, kind="stable", ignore_index=True)


def embedding(codes: np.ndarray, method: str = "tsne", perplexity: float | None = None) -> tuple[np.ndarray, float]:
    """Points (examples, 2) of a map, and their trustworthiness; all in one place, without any, of equal codes."""
    if same(codes):
        return np.zeros((len(codes), 2)), float("nan")
    result = embed(codes, method, SEED, perplexity)
    return result.points.astype(np.float64), round(result.trustworthiness, 4)  # as they are read from a table


def same(codes: np.ndarray) -> bool:
    """Whether codes differ by rounding alone, as in the first layer of SRAVEN's models, where queries are the same."""
    return bool(np.ptp(codes, axis=0).max() <= 1e-5 * np.abs(codes).max())


def alike(table: pd.DataFrame) -> pd.DataFrame:
    """How far neighbours on maps are alike, from 0, as by chance, to 1: (layer, method) × colourings."""
    groups = table.groupby(names := ["layer", "method", "colouring"], sort=False)
    near = pd.Series({keys: latent_codes.above_chance(rows) for keys, rows in groups})
    return near.rename_axis(names).unstack(sort=False)


def near_by_layer(table: pd.DataFrame, colouring: str) -> pd.DataFrame:
    """Of `alike`, one colouring: layers × methods."""
    return alike(table)[colouring].unstack()


def maps_summary(table: pd.DataFrame, verdict: str = "") -> str:
    """How far neighbours on the maps of the last layer are alike, by colouring and method."""
    last = alike(table).loc[table["layer"].max()]
    if last.isna().all(axis=None):
        return ""
    words = [f"{name} {_each(last[name], '.2f')}" for name in last]
    titles = ", ".join(map(method_title, last.index))
    return f"{verdict}Alike in the last layer (0: chance, 1: all), {titles}: {'; '.join(words)}."


def _each(numbers: Sequence[float], form: str) -> str:
    return true_minus(", ".join("–" if number != number else format(number, form) for number in numbers))


def over_maps(values: pd.Series, **claimed) -> Verdict:
    """Over methods, of one map each."""
    return Verdict(
        estimates.mean(values, "methods", "methods and their noise, of one model each"), above=0.0, **claimed
    )


def clusters_by(colouring: str) -> Callable[[pd.DataFrame], Verdict]:
    """In the last layer: how far neighbours are alike, from 0, as by chance, to 1."""
    return lambda table: over_maps(near_by_layer(table, colouring).iloc[-1])


def similarities(runs: Labelled, count: int, sample: Sample, labels: Labels, order: Sequence[str]) -> pd.DataFrame:
    """Cosine similarity between the mean codes of labels in the last layer, on unseen combinations: method, seed, a, b
    (in the given order), similarity, pairs, pairs_std."""
    rows = []
    for run_labels, run in converged(runs):
        examples = sample(run, "ood", count)
        result = code_similarity(layers(run, examples)[-1].codes, labels(examples))
        at = {str(label): number for number, label in enumerate(result.labels)}
        for a in filter(at.__contains__, order):
            for b in filter(at.__contains__, order):
                pair = at[a], at[b]
                values = result.similarity[pair], result.pairs[pair], result.pairs_std[pair]
                numbers = dict(zip(("similarity", "pairs", "pairs_std"), map(float, values), strict=True))
                rows.append({"method": run_labels["method"], "seed": run.spec.seed, "a": a, "b": b} | numbers)
    return _sorted(pd.DataFrame(rows), ["a", "b"], a=order, b=order)  # a label that one run lacks keeps its place


def listed(
    runs: Labelled, count: int, sample: Sample, labels: Labels, order: Sequence[str], each: int = 5
) -> pd.DataFrame:
    """Codes of the last layer, as they are: `each` examples of a label, and the mean of all: method, kind ("sample" or
    "mean"), row, label, head, value."""
    rows = []
    for run_labels, run in converged(runs):
        examples = sample(run, "ood", count)
        codes, names = layers(run, examples)[-1].codes, labels(examples)
        present = {name: codes[names == name] for name in order if (names == name).any()}
        shown = {
            "sample": [(name, code) for name, group in present.items() for code in group[:each]],
            "mean": [(name, group.mean(0)) for name, group in present.items()],
        }
        rows += [
            {"method": run_labels["method"], "kind": kind, "row": row, "label": name, "head": head, "value": value}
            for kind, of_kind in shown.items()
            for row, (name, code) in enumerate(of_kind)
            for head, value in enumerate(code.tolist())
        ]
    return pd.DataFrame(rows)
