"""Effects and intervals of shipped tables, computed a second time with pandas and scipy alone."""

from math import exp, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.ndimage import uniform_filter1d

from lab.catalogue import scorecard
from lab.places import RESULTS


@pytest.fixture(scope="module")
def rows():
    return {row["id"]: row for row in scorecard.score("laptop")["claims"]}


def read(name, which="table"):
    return pd.read_csv(RESULTS / name / "laptop" / f"{which}.csv.gz")


def welch(a, b, level=0.95):
    found = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    return np.mean(a) - np.mean(b), found.low, found.high


def student(values, level=0.95):
    found = stats.ttest_1samp(values, 0).confidence_interval(level)
    return np.mean(values), found.low, found.high


def pooled(a, b, groups, level=0.95):
    df = sum(len(group) - 1 for group in groups)
    error = sqrt(sum(((group - group.mean()) ** 2).sum() for group in groups) / df * (1 / len(a) + 1 / len(b)))
    gap, half = a.mean() - b.mean(), stats.t.ppf(0.5 + level / 2, df) * error
    return gap, gap - half, gap + half


def small_widths():
    table = read("transformers/fig4")
    rows = table[(table["task"] == "memorize") & (table["width"] < 32)]
    means = 100 * rows.groupby(["method", "seed"])["accuracy"].mean()
    return welch(means["learned MLP"], means["baseline"], 1 - 0.05 / 7)  # seven tasks are learned at smaller widths


def mlp():
    table = read("transformers/fig10")
    means = 100 * table.groupby(["task", "method", "seed"])["accuracy"].mean().groupby(["task", "method"]).mean()
    means = means.unstack()
    return student(means["learned MLP"] - means["baseline"])


def hyla_linear():
    table = read("hypernetwork/fig2c").query("length == 32 and held_out == 0.7 and chosen")
    wide = 100 * table.pivot(index="seed", columns="method", values="r2_paper_ood")
    return student(wide["hyla"] - wide["linear"])


def later():
    table = read("hypernetwork/fig5f")
    wide = 100 * table.pivot(index="seed", columns=["method", "layer"], values="value")
    gaps = {method: (wide[method, 3] - wide[method, 1]).to_numpy() for method in ("softmax", "linear", "hyla")}
    spread = sqrt(np.mean([gap.var(ddof=1) for gap in gaps.values()]) / 3)
    half = stats.t.ppf(0.975, 6) * spread
    return gaps["softmax"].mean(), gaps["softmax"].mean() - half, gaps["softmax"].mean() + half


def related():
    table = read("hypernetwork/fig5e").query("method == 'hyla'")
    shares = []
    for _, rows in table.groupby("seed"):
        square = rows.pivot(index="a", columns="b", values="similarity")
        names = list(square)
        pairs = {(a, b): square.loc[a, b] for a in names for b in names if a < b and np.isfinite(square.loc[a, b])}
        own = pairs.pop(("addition", "subtraction"))
        shares.append(100 * np.mean([value < own for value in pairs.values()]))
    mean, low, high = student(shares)
    return mean, max(low, 0.0), min(high, 100.0)  # a share is no more than that


def words():
    row = read("hypernetwork/tableA2").query('counting == "paper\'s words" and values == 8').iloc[0]
    of, hits = row["problems"], round(row["fraction"] * row["problems"])
    low, high = stats.beta.ppf(0.025, hits, of - hits + 1), stats.beta.ppf(0.975, hits + 1, of - hits)
    return 100 * hits / of, 100 * low, 100 * high


def more_correlated():
    """MNIST, with the signs and without. Correlations have Bonett and Wright's interval, their difference Zou's."""
    table, found = read("simplicity/fig18").query("set == 'mnist'"), []
    for sign in (lambda r: r, abs):
        sides = {}
        for mode, rows in table.groupby("mode"):
            means = rows.groupby(["method", "layers"])[["tv", "accuracy"]].mean()
            r = sign(stats.spearmanr(means["tv"], means["accuracy"]).statistic)
            half = stats.norm.ppf(0.975) * sqrt((1 + r**2 / 2) / (len(means) - 3))
            sides[mode] = r, np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)
        (r, a, b), (s, c, d) = sides["regression"], sides["classification"]
        found.append((r - s, r - s - sqrt((r - a) ** 2 + (d - s) ** 2), r - s + sqrt((b - r) ** 2 + (s - c) ** 2)))
    return found[0][0], min(low for _, low, _ in found), max(high for *_, high in found)


def on_rows(found, percent, rows, level=0.95):
    """With the error of the rows that all models share: .21 of what independent models have."""
    effect, low, high = found
    error = 100 * sqrt(0.21 * sum(one / 100 * (1 - one / 100) for one in percent) / rows)
    wide = [sqrt((end - effect) ** 2 + (stats.norm.ppf(0.5 + level / 2) * error) ** 2) for end in (low, high)]
    return effect, effect - wide[0], effect + wide[1]


def everywhere():
    """Of the table with the least gain; each has the variance of its own two kinds of runs."""
    table = read("simplicity/fig6").query("chosen and table == 'MagicTelescope'")
    pair = [100 * table.loc[table["method"] == name, "accuracy"].to_numpy() for name in ("learned", "ReLU")]
    return on_rows(pooled(*pair, pair), [one.mean() for one in pair], 2_810)


def first(run, level):
    at = np.flatnonzero(run.to_numpy() >= level)[0]
    x, y = run.index.to_numpy(), run.to_numpy()
    return float(np.interp(level, y[at - 1 : at + 1], x[at - 1 : at + 1])) if at else float(x[0])


def ten_times():
    """To 95, 99 and 100 % of test accuracy, with initial weights of each size; a run that does not get there counts
    with its last step."""
    intervals = []
    for _, table in read("simplicity/sizes").query("width == 256").groupby("size", sort=False):
        for level in (0.95, 0.99, 1.0):
            logs = {}
            for method, rows in table.groupby("method"):
                wide = rows.pivot(index="step", columns="seed", values="accuracy")
                steps = [first(wide[seed], level) if (wide[seed] >= level).any() else wide.index[-1] for seed in wide]
                logs[method] = np.log(steps)
            intervals.append([exp(end) for end in welch(logs["ReLU"], logs["learned"])])
    words = {(low > 7) - (high < 5) for _, low, high in intervals}
    (effect, *_), (_, lows, highs) = intervals[0], zip(*intervals, strict=True)
    return intervals[0] if len(words) == 1 else (effect, min(lows), max(highs))


def every_function():
    """Easy operations by speed, hard ones by accuracy, as shares of the best of the row."""
    table = read("simplicity/fig14")
    gaps = []
    for _, rows in table.groupby("task"):
        rows = rows.set_index("function")
        easy = rows.loc["ReLU", "accuracy"] >= 0.95
        score = (1 / rows["step"]).fillna(0) if easy else rows["accuracy"]
        gaps.append(100 * (score["all operations"] - score["ReLU"]) / score.max())
    return student(gaps)


def average():
    table = read("simplicity/table1")
    units = 100 * table.query("method == 'learned'").groupby("restart")["accuracy"].mean()
    relu = 100 * table.query("method == 'ReLU'")["accuracy"]
    return on_rows(welch(units, relu), [units.mean(), relu.mean()], 1_000)


def best():
    table = read("simplicity/table1")
    sides = [100 * table.loc[rows, "accuracy"] for rows in (table["chosen"], table["method"] == "ReLU")]
    # the accuracy of learned functions that the rows are counted at is that of the chosen ones
    return on_rows(welch(*sides), [side.mean() for side in sides], 1_000)


def rises():
    """Complexity at the end of training over that at its start; of all networks the one nearest to failing."""
    found = []
    for _, rows in read("simplicity/fig24").query("part == 'course'").groupby(["table", "method"]):
        wide = np.log(rows.pivot(index="x", columns="seed", values="value").sort_index())
        found.append([exp(end) for end in student(wide.iloc[-1] - wide.iloc[0])])
    return tuple(min(found, key=lambda one: (one[1] - 1) / (one[2] - one[1])))


def interpolation():
    table = read("simplicity/table2")
    sides = [100 * table.loc[table["method"] == name, "accuracy"] for name in ("linear", "nearest")]
    return on_rows(welch(*sides), [side.mean() for side in sides], 1_000)


def irregular():
    """Ups and downs over the range, of functions as they are, smoothed over three and five knots; beyond the range. Of
    each reading the set counts that is lowest beside its interval."""
    table, found = read("simplicity/fig16", "functions").query("method == 'learned from zero'"), []
    for width in (1, 3, 5):
        kinds = table.sort_values("x").groupby(["set", "restart", "mode"])["value"]
        wide = kinds.agg(_ups, width).unstack("mode")
        found.append(_worse_set(wide["regression"] - wide["classification"]))
    ways, ranges = (kinds.agg(f).unstack("mode") for f in (lambda y: y.diff().abs().sum(), np.ptp))
    wide = (ways - ranges).div(ranges.mean(axis=1), axis=0)
    found.append(_worse_set(wide["regression"] - wide["classification"]))
    level = 0.975 if any(fails for fails, _ in found) else 0.95  # all as wide as the widest
    each = [student(values, level) for _, values in found]
    return each[0][0], min(one[1] for one in each), max(one[2] for one in each)


def _worse_set(values):
    """Whether a set's functions are below 0, wide enough for two sets; and the values of the set that is lowest."""
    sets = [of.to_numpy() for _, of in values.groupby("set")]
    failing = [of for of in sets if student(of, 0.975)[2] < 0]
    ends = {id(of): student(of, 0.975 if failing else 0.95) for of in sets}
    worst = min(failing or sets, key=lambda of: ends[id(of)][1] / (ends[id(of)][2] - ends[id(of)][1]))
    return bool(failing), worst


def _ups(values, width):
    y = uniform_filter1d(values.to_numpy(), width, mode="nearest")
    return np.abs(np.diff(y)).sum() / np.ptp(y)


def worse():
    """Cells off the diagonal, functions × tasks: both are samples, and the noise of cells is in the means of both."""
    table = read("transformers/fig5").query("part == 'MLP'")
    wide = table.pivot(index=["task", "seed"], columns="architecture", values="accuracy")
    gains = wide.sub(wide["baseline"], axis=0).drop(columns="baseline").groupby("task").mean()
    names = list(gains.index)
    below = np.where(np.eye(8, dtype=bool), np.nan, 100.0 * (gains[names].to_numpy() < 0))
    down, across, mean = np.nanmean(below, axis=0), np.nanmean(below, axis=1), np.nanmean(below)
    left = below - down - across[:, None] + mean
    noise = np.nansum(left**2) / (56 - 15) / 56
    sides = down.var(ddof=1) / 8, across.var(ddof=1) / 8
    half = stats.t.ppf(0.975, 7) * sqrt(max(sum(sides) - noise, *sides))
    return mean, mean - half, mean + half


def sums():
    table = read("transformers/fig10").query("task == 'addreversed'")
    means = 100 * table.groupby(["method", "seed"])["accuracy"].mean()
    return welch(means["learned MLP"], means["baseline"])


def decodable():
    """Above the best constant answer, which scores more than shuffled labels do."""
    last = read("hypernetwork/fig5f").query("layer == 3 and method in ('softmax', 'linear', 'hyla')")
    above = (100 * (last["value"] - last["chance"])).groupby(last["method"]).agg(list).map(np.array)
    half = stats.t.ppf(0.975, 6) * sqrt(np.mean([gap.var(ddof=1) for gap in above]) / 3)
    return above["linear"].mean(), above["linear"].mean() - half, above["linear"].mean() + half


def local_optimum():
    rows = read("transformers/fig8").query("task == 'shakespeare char'")
    logs = np.log(rows.pivot(index="seed", columns="method", values="perplexity"))
    gaps = logs.drop(columns="baseline").sub(logs["baseline"], axis="index")  # of one seed: of the same batches
    seeds, methods = gaps.shape
    mean, error = gaps["learned MLP from GELU"].mean(), np.sqrt(gaps.var(ddof=1).mean() / seeds)
    half = stats.t.ppf(1 - 0.05 / 4, methods * (seeds - 1)) * error  # of two texts
    return tuple(100 * (exp(end) - 1) for end in (mean, mean - half, mean + half))


ORACLE = {
    "transformers/fig5/worse": worse,
    "transformers/fig10/sums": sums,
    "transformers/fig8/local-optimum": local_optimum,
    "hypernetwork/fig5f/decodable": decodable,
    "transformers/fig4/small-widths": small_widths,
    "transformers/fig10/mlp": mlp,
    "hypernetwork/fig2c/hyla-linear": hyla_linear,
    "hypernetwork/fig5f/later": later,
    "hypernetwork/fig5e/related": related,
    "hypernetwork/tableA2/words": words,
    "simplicity/fig18/more-correlated": more_correlated,
    "simplicity/fig6/everywhere": everywhere,
    "simplicity/sizes/ten-times": ten_times,
    "simplicity/fig16/irregular": irregular,
    "simplicity/fig14/every": every_function,
    "simplicity/table1/average": average,
    "simplicity/table1/best": best,
    "simplicity/fig24/rises": rises,
    "simplicity/table2/nearest": interpolation,
}


@pytest.mark.parametrize("identifier", ORACLE)
def test_a_second_computation_gives_the_same_numbers(rows, identifier):
    row = rows[identifier]
    assert [row["effect"], row["low"], row["high"]] == pytest.approx(list(ORACLE[identifier]()), rel=1e-6)
