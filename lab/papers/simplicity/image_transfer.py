"""Appendix E.3 of the simplicity paper: functions that were learned on one image set, used on another.

The functions are learned with four hidden layers. Table 4 has such models; Figure 19 has others with them, too.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate, apart, correlation
from lab.papers.claims import Claim, Verdict, all_of, any_of, on_every_reading
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.images.accuracy import DEEPEST, accuracies, falls_short, images_tested, plus_minus
from lab.papers.simplicity.images.settings import DEPTHS, REGRESSION, RELU, SEEDS, SETS, TITLES, images, present
from lab.papers.simplicity.interpolations import origin, with_depth
from lab.papers.tables import POINTS, alive, compare_one, gains_on_rows, per_seed
from lab.plots import go
from lab.plots.caption import set_reading, signed
from lab.plots.panels import BOTTOM, colour_bar, grid, place, points, whiskers, write_cells
from lab.plots.style import CELL_INK, DIVERGING, GREY, SEQUENCE, SIZE, faded
from lab.spec import EpisodeSpec, Learned, Part, replace
from lab.statistics import INTERVAL, LEVEL, half_width

DEEP = 4  # hidden layers
ALL = "all"  # the function that is learned on all sets
_RATES = {"smoke": (0.1,), "laptop": (0.05,), "overnight": (0.05, 0.1), "paper": (0.05,)}  # of the knots
# Table 4, accuracy in percent; columns as SETS
PRINTED = {
    RELU: (76.7, 73.9, 42.9, 16.1),
    "mnist": (79.7, 73.0, 41.0, 18.2),
    "fashion_mnist": (64.3, 75.1, 39.7, 23.7),
    "svhn": (61.0, 73.2, 54.1, 19.2),
    "cifar10": (57.6, 74.5, 41.0, 22.6),
    ALL: (76.2, 72.8, 45.0, 17.4),
}
NAMES = {RELU: RELU, ALL: "learned on all sets"} | {name: f"learned on {TITLES[name]}" for name in SETS}
# Points by which functions of one search differ from those of another (standard deviation), of how many searches: Table
# 1 at scale overnight, the mean of the models with the function that was chosen. Those have one hidden layer and 4,000
# images: a reading beside that of the one search, which can leave a claim open and decide none.
BETWEEN_SEARCHES, SEARCHES_OF_TABLE_1 = 2.1, 10
FEWEST_FUNCTIONS = 5  # for a correlation over functions
EASIER = ("mnist", "fashion_mnist")  # where ReLU is the most accurate in the paper
REACH = 20.0  # points at which the colours end
ROW = 58  # px


def shared_search(scale: str, source: str) -> EpisodeSpec:
    """A search for one function for four hidden layers on a set, or on all sets, each in its turn (App. E.3).

    >>> shared_search("laptop", ALL).episodes // shared_search("laptop", "mnist").episodes
    2
    """
    sets = present(scale) if source == ALL else (source,)
    settings = [images(scale, name, REGRESSION) for name in sets]
    base = with_depth(settings[0].base, scale, DEEP, _RATES[scale])
    tasks = tuple(one.task for one in settings)
    return replace(base, task=tasks if len(tasks) > 1 else tasks[0], episodes=base.episodes * len(tasks))


def _plan(scale: str, seeds: int, sources: tuple[str, ...], depths: tuple[int, ...]) -> list[Planned]:
    planned: list[Planned] = []
    for source, target, layers in product((RELU, *sources), present(scale), depths):
        phi: Part = "relu" if source == RELU else Learned(shared_search(scale, source), "phi")
        labels = {"source": source, "target": target, "layers": layers}
        runs = images(scale, target, REGRESSION).runs(RELU, layers, seeds)
        planned += [(labels, replace(run, model=replace(run.model, phi=phi))) for run in runs]
    return planned


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a function and set, in percent: source, target, mean, half (of the 95 % interval over seeds), runs, lost
    (diverged), gain (over ReLU), paper, paper_gain. table: source, target, seed, accuracy (0 to 1), diverged.
    """
    rows = []
    for (source, target), part in table.groupby(["source", "target"], sort=False):
        percent = 100 * alive(part)["accuracy"].dropna().to_numpy(float)
        printed, printed_relu = (PRINTED[name][SETS.index(target)] for name in (source, RELU))
        row = {"source": source, "target": target, "mean": percent.mean() if len(percent) else np.nan}
        row |= {"half": half_width(percent), "runs": len(percent), "lost": len(part) - len(percent)}
        rows.append(row | {"paper": printed, "paper_gain": printed - printed_relu})
    cells = pd.DataFrame(rows)
    base = cells[cells["source"] == RELU].set_index("target")["mean"]
    return cells.assign(gain=cells["mean"] - cells["target"].map(base))


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Cells of learned functions: source, target, ours, theirs, both as gains over ReLU in points."""
    cells = means(table)
    cells = cells[cells["source"] != RELU].dropna(subset=["gain"])
    return cells.rename(columns={"gain": "ours", "paper_gain": "theirs"})[["source", "target", "ours", "theirs"]]


def _baseline_as_printed(table: pd.DataFrame, scale: str) -> str:
    rows = table[(table["source"] == RELU) & (table["layers"] == DEEPEST)]
    return falls_short(rows.groupby("target", sort=False)["accuracy"].mean().dropna())


def _over_relu(table: pd.DataFrame, same_set: bool) -> list[Verdict]:
    """For each function and set, of its own or another one, gains over ReLU; that of all sets has no other."""
    sets = set(table["target"])
    names = [(source, target) for source in sets for target in sets if (source == target) == same_set]
    return _by_search(_gains(table, sorted(names), above=0.0))


def _by_search(verdicts: list[Verdict]) -> list[Verdict]:
    """Each as a statement about this search, and about any."""
    return [
        on_every_reading({"this search": one, "any": replace(one, estimate=_of_any_search(one.estimate))})
        for one in verdicts
    ]


def _gains(table: pd.DataFrame, names: list[tuple[str, str]], **claimed) -> list[Verdict]:
    """Of functions by (source, target), over ReLU."""
    groups = per_seed(table, ["source", "target"])
    pairs = {
        f"{source} on {target}": ((source, target), (RELU, target))
        for source, target in names
        if (source, target) in groups
    }
    return gains_on_rows(groups, pairs, dict.fromkeys(pairs, images_tested(table)), unit=POINTS, **claimed)


def _of_any_search(estimate: Estimate) -> Estimate:
    """What one search found, as a statement about searches: they differ as those of Table 1 do."""
    from scipy.special import stdtrit

    def interval(level: float) -> tuple[float, float]:
        half = float(stdtrit(SEARCHES_OF_TABLE_1 - 1, 0.5 + level / 2)) * BETWEEN_SEARCHES
        return -half, half

    spread = replace(estimate, effect=0.0, interval=interval)
    return replace(apart(estimate, spread), covers="seeds, and searches as far as those of Table 1 differ")


def _of_all_on_easier(table: pd.DataFrame) -> Verdict:
    names = [(ALL, target) for target in table["target"].unique() if target in EASIER]
    return all_of(_by_search(_gains(table, names, below=0.0)))


def _fewer_sets(table: pd.DataFrame, scale: str) -> str:
    """A function of all sets is one of those that are here."""
    here = [TITLES[name] for name in SETS if (table["target"] == name).any()]
    return "" if len(here) == len(SETS) else f"a function of {' and '.join(here)} in place of one of all four sets"


def _several_functions(table: pd.DataFrame, scale: str) -> str:
    """Numbers of layers repeat a function; a correlation over functions takes several of them."""
    count = table.loc[table["source"] != RELU, "source"].nunique()
    few = f"models of {count} functions alone" if count < FEWEST_FUNCTIONS else ""
    return _baseline_as_printed(table, scale) or few


def _together(table: pd.DataFrame) -> Verdict:
    """Over models (functions and numbers of layers, each the mean of its seeds); of several pairs the lowest."""
    over = per_seed(table, ["target", "source", "layers"]).mean().unstack(["source", "layers"])
    rise = over.drop(columns=RELU, level="source") - over[RELU].reindex(columns=over.columns, level="layers")
    rise = rise.dropna(axis=1)
    return all_of(
        Verdict(correlation(rise.loc[one], rise.loc[other], "models"), above=0.0, case=f"{one} and {other}")
        for one, other in combinations(rise.index, 2)
    )


TABLE4 = (
    Claim(
        "own",
        "Functions optimized for a data set work well on it (better than ReLU)",
        lambda table: all_of(_over_relu(table, same_set=True)),
        _baseline_as_printed,
        "five searches a set, so that their own spread counts and not that of Table 1's",
        1.5,
    ),
    Claim(
        "transfer",
        "Functions of one data set surpass ReLU on another, too (some)",
        lambda table: any_of(_over_relu(table, same_set=False)),
        _baseline_as_printed,
        "the whole sets and 4,000 steps, where ReLU comes near the paper's accuracy (Figure 2 overnight)",
        1.5,
    ),
    Claim(
        "all-easier",
        "The function of all sets does not improve on the easier ones (MNIST and Fashion-MNIST)",
        _of_all_on_easier,
        _baseline_as_printed,
        "SVHN and CIFAR-10 among the sets that a function is learned on",
        stands_in=_fewer_sets,
    ),
)
TOGETHER = Claim(
    "together",
    "Improvements over ReLU often correlate across data sets, over models",
    _together,
    _several_functions,
    "five searches a set, and a second pair of sets",
    3.0,
)


def _mean_gains(table: pd.DataFrame) -> str:
    """Beside the paper's over the same sets: its last column has means over four."""
    cells, words = means(table), []
    cells, sets = cells[cells["source"] != RELU], cells["target"].nunique()
    fewer = f" (here {sets} of {len(SETS)})" if sets < len(SETS) else ""
    for source, rows in cells.groupby("source", sort=False)[["gain", "paper_gain"]].mean().iterrows():
        name = NAMES[str(source)].removeprefix("learned ") + fewer * (source == ALL)
        words.append(f"{name} {signed(rows['gain'])} (paper {signed(rows['paper_gain'])})")
    where = cells[cells["source"] == cells["target"]]
    on_its_own = ", ".join(f"{TITLES[row.target]} {signed(row.gain)}" for row in where.itertuples())
    return (
        f"Gain over ReLU in points, on its own set: {on_its_own}. Mean over these {sets} sets (paper's, too),"
        f" learned {', '.join(words)}."
    )


def _correlation(table: pd.DataFrame) -> str:
    verdict = _together(table)
    if verdict.effect != verdict.effect:
        return ""
    low, high = np.clip([verdict.low, verdict.high], -1, 1)  # NaN stays
    pair = " and ".join(TITLES[name] for name in verdict.case.split(" and "))
    reason = _several_functions(table, "")
    spread = f" [{low:.2f}, {high:.2f}]" if low == low and not reason else ""
    words = f"correlation of gains over ReLU on {pair}, over learned functions and depths: {verdict.effect:.2f}{spread}"
    count = table.loc[table["source"] != RELU, "source"].nunique()
    if reason and count < FEWEST_FUNCTIONS:
        reason = f"{count} functions are too few to tell"
    return f"{reason}; {words}." if reason else f"{words[0].upper()}{words[1:]}."


def table4(table: pd.DataFrame) -> go.Figure:
    """A row a function, a column a set; colours are gains over ReLU. table: as for `means`."""
    cells = means(table)
    sources, targets = list(cells["source"].unique()), list(cells["target"].unique())

    def matrix(values: str) -> pd.DataFrame:
        return cells.pivot(index="source", columns="target", values=values).loc[sources, targets]

    gains = cells[["gain", "paper_gain"]].map(lambda gain: f" ({signed(gain)})").where(cells["source"] != RELU, "")
    cells["text"] = [
        f"{plus_minus(row.mean, row.half)}{gain}<br>paper {row.paper:.1f}{theirs}"
        for row, gain, theirs in zip(cells.itertuples(), gains["gain"], gains["paper_gain"], strict=True)
    ]
    figure = grid([""], 1, ROW * len(sources), top=34, left=104)
    bar = colour_bar("gain over ReLU (points)", -14 / (ROW * len(sources)), (-20, -10, 0, 10, 20))
    colours = {"zmin": -REACH, "zmax": REACH, "colorscale": DIVERGING, "colorbar": bar}
    cell = {"xgap": 2, "ygap": 2, "hoverinfo": "skip", "name": "gain", "row": 1, "col": 1}
    texts = matrix("text").where(matrix("gain").notna(), "").to_numpy().tolist()
    z, places = matrix("gain").to_numpy(float), (list(range(len(targets))), list(range(len(sources))))
    figure.add_heatmap(z=z, **colours, **cell)
    write_cells(figure, *places, texts, z, (-REACH, REACH))
    heads, names = [f"<b>{TITLES[name]}</b>" for name in targets], [NAMES[name] for name in sources]
    bare = {"ticks": "", "showline": False, "showgrid": False}
    figure.update_xaxes(tickvals=list(range(len(targets))), ticktext=heads, side="top", **bare)
    figure.update_yaxes(
        tickvals=list(range(len(sources))),
        ticktext=[name.replace(" on ", "<br>on ") for name in names],
        autorange="reversed",
        **bare,
    )
    figure.update_layout(height=figure.layout.height + 24, margin={"b": BOTTOM + 24})
    divergences = [f"{NAMES[row.source]}, {TITLES[row.target]}: {row.lost}" for row in cells.itertuples() if row.lost]
    several = cells["runs"].max() > 1
    spread = " ± half the width of its 95 % interval (Student's t)" if several else " (one seed, no interval)"
    set_reading(
        figure,
        f"In a cell: accuracy in %, mean over seeds{spread}; below, what the paper prints; in brackets,"
        " the gain over ReLU.",
        f"Diverged runs (left out): {'; '.join(divergences)}." if divergences else "",
    )
    return figure


def fig19(table: pd.DataFrame) -> go.Figure:
    """A panel a pair of sets: what functions gain over ReLU on either, by number of hidden layers. table: source,
    target, layers, seed, accuracy (0 to 1), diverged."""
    gains = _gains_by_model(table)
    cells = gains["mean"].unstack("target")
    pairs = list(combinations([name for name in SETS if name in cells], 2))
    columns = min(2, len(pairs))
    figure = grid([""] * len(pairs), columns, 290, gap=64, top=60)
    for number, (one, other) in enumerate(pairs):
        at, both = place(number, columns), cells[[one, other]].dropna()
        lowest, highest = [0.0], [0.0]
        for index, (source, rows) in enumerate(both.groupby("source", sort=False)):
            halves = [gains["half"].unstack("target").loc[rows.index, name] for name in (one, other)]
            highest.append((rows[other] + halves[1].fillna(0)).max())
            lowest.append((rows[other] - halves[1].fillna(0)).min())
            ink = SEQUENCE[index]
            error_x, error_y = (whiskers(half, 0, 1) | {"color": faded(ink, 0.7)} for half in halves)
            look: dict[str, Any] = {"name": NAMES[source], "legendgroup": source, "showlegend": not number}
            look |= {"error_x": error_x, "error_y": error_y, "mode": "markers+text"}
            look |= {
                "text": [str(layers) for layers in rows.index.get_level_values("layers")],
                "textposition": "middle center",
            }
            look |= {"textfont": {"size": SIZE - 1, "color": CELL_INK}}
            hover = f"{NAMES[source]}, %{{text}} hidden layers: %{{x:+.1f}} and %{{y:+.1f}} points"
            symbol = ("circle", "square", "diamond", "hexagon")[index % 4]
            points(figure, rows[one], rows[other], faded(ink, 0.6), at, 17, symbol, hovertemplate=hover, **look)
        for add in (figure.add_hline, figure.add_vline):
            add(0, line={"color": GREY, "width": 1.4}, row=at[0], col=at[1])
        room = 0.12 * (max(highest) - min(lowest)) or 1.0  # for the words in two corners
        figure.update_yaxes(range=(min(lowest) - room, max(highest) + room), row=at[0], col=at[1])
        corner = {"xref": "x domain", "yref": "y domain", "showarrow": False}
        for x, y, words in ((1, 1, "better than ReLU on both"), (0, 0, "worse than ReLU on both")):
            side = {"xanchor": ("left", "right")[x], "yanchor": ("bottom", "top")[y]}
            figure.add_annotation(x=x, y=y, text=words, row=at[0], col=at[1], **side, **corner)
        figure.update_xaxes(title_text=f"{TITLES[one]}: gain over ReLU (points)", row=at[0], col=at[1])
        figure.update_yaxes(title_text=f"{TITLES[other]}: gain (points)", row=at[0], col=at[1])
    divergences = int(table["diverged"].astype(bool).sum())
    set_reading(
        figure,
        f"In a mark: the number of hidden layers; functions are learned with {DEEP}. Grey lines: ReLU. Means over seeds"
        + (f"; lines: {INTERVAL}, of ours and of ReLU's." if gains["half"].notna().any() else "."),
        f"{divergences} runs diverged and are left out." if divergences else "",
    )
    return figure


def _gains_by_model(table: pd.DataFrame) -> pd.DataFrame:
    """Of each learned function, number of layers and set: the gain over ReLU in points, and half its interval."""
    known, rises = alive(table), {}
    for (source, layers, target), runs in known[known["source"] != RELU].groupby(["source", "layers", "target"]):
        like = known[(known["layers"] == layers) & (known["target"] == target) & (known["source"] == RELU)]
        if len(like):
            gap = compare_one({"ours": 100 * runs["accuracy"], RELU: 100 * like["accuracy"]}, "ours", RELU)
            low, high = gap.interval(LEVEL)
            rises[source, layers, target] = {"mean": gap.effect, "half": (high - low) / 2}
    gains = pd.DataFrame(rises, ["mean", "half"]).T.rename_axis(["source", "layers", "target"])
    order = [source for source in known["source"].unique() if source != RELU]
    return gains.reindex(order, level="source")


_SHARED: dict[str, Any] = {
    "measure": accuracies,
    "tasks": tuple(images("laptop", name, REGRESSION).task.name for name in present("laptop")),
    "origin": origin(
        SETS,
        lambda scale: shared_search(scale, SETS[0]),
        lambda scale: scale,
        ("paper, App. E.3", "guess, the paper does not say"),
    ),
    "seeds": SEEDS,
    "notes": lambda scale: [
        "functions are learned once; seeds are those of the models that are trained with them",
        "with several sets, each has its turn: an episode on one, then on the next",
    ],
}
ENTRIES = (
    Entry(
        "simplicity/table4",
        "E.3",
        "Functions used on another image set",
        f"Test accuracy of networks with {DEEP} hidden layers that predict the class id of images as a number, with"
        " ReLU and with functions learned on each set and on all sets (rows), on each set (columns)",
        "functions work well on their own set and on others, and one of all sets on SVHN and CIFAR-10 alone",
        plan=lambda scale, seeds: _plan(scale, seeds, (*present(scale), ALL), (DEEP,)),
        plot=table4,
        summary=_mean_gains,
        claims=TABLE4,
        printed=printed,
        minutes={"smoke": 0.2, "laptop": 5, "overnight": 20, "paper": 120},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig19",
        "E.3",
        "Gains on pairs of image sets",
        "What learned functions gain in test accuracy on one image set against what they gain on another, of networks"
        " that predict class ids as numbers; one mark a function and number of hidden layers",
        "improvements often correlate across sets",
        plan=lambda scale, seeds: _plan(scale, seeds, present(scale), DEPTHS[scale]),
        plot=fig19,
        summary=_correlation,
        claims=(TOGETHER,),
        minutes={"smoke": 0.2, "laptop": 6, "overnight": 40, "paper": 200},
        **_SHARED,
    ),
)
