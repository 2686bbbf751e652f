"""Numbers that were trained elsewhere are compared as the lab's own; what does not fit is refused or said in a line."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

import lab
from lab import estimates
from lab.differences import difference_of, interval_of
from lab.errors import ArgumentError, LabError
from lab.simultaneous import Simultaneous, against, all_within, at_once, p_of_all, p_value

COLUMNS = {"group": "act", "seed": "seed", "metric": "bits"}
BITS = {"relu": [3.31, 3.28, 3.30], "mine": [3.21, 3.24, 3.22]}


def table(bits=BITS, **more):
    rows = [
        {"act": name, "seed": seed, "bits": value} for name, runs in bits.items() for seed, value in enumerate(runs)
    ]
    return pd.DataFrame(rows).assign(**more)


def compared(frame=None, **given):
    return lab.Comparison.from_table(table() if frame is None else frame, **COLUMNS | given)


def test_the_numbers_are_those_of_the_labs_own_comparison():
    result = compared()
    groups = {name: [np.array(BITS[name])] for name in ("mine", "relu")}
    assert result.difference("mine") == difference_of(groups, "seeds", 0.95, "bits, mine minus relu")
    assert result.functions == ["relu", "mine"] and compared(baseline="mine").functions == ["mine", "relu"]
    assert compared(baseline="mine").difference("relu").mean == pytest.approx(-result.difference("mine").mean)
    assert result.notes == () and str(result.difference("mine")) in repr(result)


def test_a_file_is_read(tmp_path):
    path = tmp_path / "runs.csv"
    table().to_csv(path, index=False)
    assert lab.Comparison.from_table(path, **COLUMNS).difference("mine") == compared().difference("mine")
    with pytest.raises(LabError, match="there is no file"):
        lab.Comparison.from_table(tmp_path / "no.csv", **COLUMNS)


def test_pairs_are_students_t_of_differences():
    rng = np.random.default_rng(0)
    hard = np.repeat(rng.normal(0, 10, 8), 2)  # tasks differ much more than functions do
    frame = pd.concat(
        pd.DataFrame({"act": name, "seed": [0, 1] * 8, "task": np.repeat(range(8), 2), "bits": hard + gain})
        for name, gain in (("relu", rng.normal(0, 0.1, 16)), ("mine", rng.normal(1, 0.1, 16)))
    )
    result = compared(frame, pair_by="task")
    wide = frame.groupby(["task", "act"])["bits"].mean().unstack()
    wanted, found = estimates.mean(wide["mine"] - wide["relu"]), result.difference("mine")
    assert (found.low, found.high) == pytest.approx(wanted.interval(0.95)) and found.n == 8
    assert found.covers == "values of task" and "Student's t over differences of pairs" in result.report()
    with pytest.raises(ArgumentError, match="pair_by='task'"):
        compared(frame)
    lacking = compared(frame[~((frame["act"] == "mine") & (frame["task"] == 3))], pair_by="task")
    assert lacking.difference("mine").n == 7 and "task 3: not of all" in lacking.notes[0]
    by_seed = compared(pair_by="seed").difference("mine")
    assert by_seed.n == 3 and by_seed.mean == pytest.approx(compared().difference("mine").mean)


def test_what_is_left_out_is_said():
    result = compared(table({"relu": [3.31, 3.28, np.nan], "mine": [3.21, np.inf, 3.22, 3.2]}))
    assert result.notes[0] == "2 of 7 values of bits are missing or not finite, and are left out: relu (1), mine (1)"
    assert result.notes[1] == "numbers of seed differ: relu 2, mine 3"
    assert all(f"{note[0].upper()}{note[1:]}" in result.report() for note in result.notes)
    none = compared(table({"relu": [3.31, 3.28], "mine": [np.nan, np.nan]}))
    for pair_by in (None, "seed"):
        none = compared(table({"relu": [3.31, 3.28], "mine": [np.nan, np.nan]}), pair_by=pair_by)
        assert none.difference("mine").diverged == ("mine",) and "mine no finite value" in none.report()
        said = "none, for mine has no finite value; fill in its numbers, or drop the rows"
        assert said in str(none.difference("mine")) and said in none.report() and "rate" not in none.report()


@pytest.mark.parametrize("pair_by", [None, "seed"])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e-9, 1e-5, 1e7, 1e300, 3e307])
def test_numbers_of_any_size_are_compared(size, pair_by):
    usual = compared(pair_by=pair_by)
    result = compared(table({name: [size * bit for bit in bits] for name, bits in BITS.items()}), pair_by=pair_by)
    one, other = usual.difference("mine"), result.difference("mine")
    assert (other.mean, other.low, other.high) == pytest.approx(
        (size * one.mean, size * one.low, size * one.high), rel=1e-9, abs=0
    )
    assert f"relu {size * 3.29666667:.4g}" in result.report() and f"{other.mean:+.4g}" in result.report()
    assert ("one variance" in result.report()) == ("one variance" in usual.report())


@pytest.mark.parametrize(("base", "more"), [(1.0, 0.1), (1e8, 0.1), (1e10, 0.3), (1e300, 1e299), (1e-7, 1e-8)])
def test_equal_differences_of_pairs_have_no_interval_at_any_size(base, more):
    relu = [base * one for one in (1.1, 2.3, 3.7, 4.9)]
    mine = compared(table({"relu": relu, "mine": [one + more for one in relu]}), pair_by="seed").difference("mine")
    assert np.isnan(mine.low) and mine.mean == pytest.approx(more, rel=1e-6, abs=0)


def test_the_report_says_means_of_pairs_where_runs_have_others():
    bits = {"relu": [1.0, 2.0, 9.0], "mine": [1.5, 2.4, np.nan]}
    report = compared(table(bits), pair_by="seed").report()
    assert "relu 4 (3 runs); mine 1.95 (2 runs)" in report and "minus relu: +0.45" in report
    assert "over all runs; over the 2 values of seed that both have they are mine 1.95 and relu 1.5." in report
    assert "over all runs" not in compared(pair_by="seed").report()


def test_groups_and_seeds_are_compared_as_words():
    frame = table({"1": [1.0, 2.0], "b": [3.0, 4.0]})
    mixed = pd.concat([frame, frame.assign(act=["1 ", 1, "b", " b"], seed=["7", 8, 7, "8 "])])
    result = compared(mixed)
    assert result.functions == ["1", "b"] and result.difference("b").n == 4
    assert result.notes[0] == "act: '1' and '1 ' and 1, 'b' and ' b' are taken as one"
    with pytest.raises(ArgumentError, match="2 rows of bits"):
        compared(pd.concat([frame, frame.astype({"seed": str})]))
    with pytest.raises(ArgumentError, match="2 rows of bits"):
        compared(pd.concat([frame, frame.assign(act=[1, 1, "b", "b"])]))
    numbers = compared(frame.replace({"act": {"1": 0, "b": 1}}).set_axis([0, 1, 2], axis=1), group=0, seed=1, metric=2)
    assert numbers.difference(1, 0).mean == 2.0 and "2 was compared by 0" in numbers.report()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("act,seed,bits,bits\na,0,1,2\nb,0,3,4\n", "several columns are named 'bits'"),
        ("act;seed;bits\na;0;1.234\nb;0;1.235\n", "whether 1.234 has decimals or thousands is not clear; read it with"),
        ("act;seed;bits;x\na;0;1,23;0,5\nb;0;12.5;0,5\n", "'1,23' in a file with decimal commas; read it with"),
        ("act;seed;bits\na;0;3,31\nb;0;x\n", "decimal=',') reads decimal commas"),
    ],
)
def test_a_file_that_could_be_read_wrongly_is_refused(text, said, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError) as error:
        lab.Comparison.from_table(path, **COLUMNS)
    assert said in str(error.value)


def test_a_file_with_decimal_commas_is_read_and_this_is_said(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("act;seed;bits\na;0;3,31\na;1;1.234,5\nb;0;3\nb;1;2,125\n")
    result = lab.Comparison.from_table(path, **COLUMNS)
    np.testing.assert_equal(result.table["value"].to_numpy(), [3.31, 1234.5, 3, 2.125])
    assert result.notes[0] == "how the file was read: columns are separated by semicolons, decimal commas"


@pytest.mark.parametrize(
    ("bits", "said"),
    [({"a": [1.0], "b": [2.0]}, "give more seeds"), ({"a": [1.0] * 3, "b": [1.0] * 3}, "do not differ")],
)
@pytest.mark.parametrize("pair_by", [None, "seed"])
def test_one_seed_and_ties_have_no_interval(bits, said, pair_by):
    result = compared(table(bits), pair_by=pair_by)
    assert np.isnan(result.difference("b").low) and said in str(result.difference("b")) and said in result.report()


def test_the_report_says_how_the_interval_is_made():
    report = compared().report()
    assert "3.297 (3 runs)" in report and "n = 3 seeds" in report and "[-0.108, -0.0387]" in report
    assert "Student's t, one variance for both groups" in report and "covers seeds" in report and "\n" not in report
    many = {name: list(np.random.default_rng(0).normal(size=8)) for name in "abc"}
    assert (
        "Welch's t" in compared(table(many)).report()
        and "2 intervals are not corrected" in compared(table(many)).report()
    )
    assert interval_of({"a": [np.arange(3.0), np.arange(3.0)], "b": [np.arange(3.0)]}).startswith("Welch's t, the mean")
    several = [np.arange(3.0), np.arange(3.0) + 1]
    assert interval_of({"a": several, "b": several}).startswith("Student's t, one variance for both groups, the mean")


@pytest.mark.parametrize("size", [2, 3, 7])
def test_intervals_and_p_values_are_those_of_scipy(size):
    rng = np.random.default_rng(size)
    one, other = rng.normal(1, 1, size).round(6), rng.normal(0, 3, size).round(6)
    frame = table({"relu": list(other), "mine": list(one)})
    paired = compared(frame, pair_by="seed").difference("mine")
    wanted = stats.ttest_rel(one, other)
    assert (paired.low, paired.high) == pytest.approx(tuple(wanted.confidence_interval(0.95)), abs=1e-10)
    assert paired.p == pytest.approx(wanted.pvalue, abs=1e-10)
    found, wanted = compared(frame).difference("mine"), stats.ttest_ind(one, other, equal_var=size < estimates.FEW)
    assert (found.low, found.high) == pytest.approx(tuple(wanted.confidence_interval(0.95)), abs=1e-10)
    assert found.p == pytest.approx(wanted.pvalue, abs=1e-10)


def test_simultaneous_intervals_are_dunnetts_where_variances_are_alike():
    rng = np.random.default_rng(0)
    groups = {name: rng.normal(shift, 1, size) for name, shift, size in (("a", 0, 6), ("b", 1, 6), ("c", 2, 8))}
    result = compared(table({name: list(values) for name, values in groups.items()}), better="higher")
    wanted = stats.dunnett(groups["b"], groups["c"], control=groups["a"], rng=np.random.default_rng(0))
    ends = wanted.confidence_interval(0.95)
    found = against(groups, "a")
    for number, name in enumerate("bc"):  # scipy integrates by random points, three digits
        assert found[name].interval(0.95) == pytest.approx((ends.low[number], ends.high[number]), abs=2e-3)
        assert found[name].p == pytest.approx(wanted.pvalue[number], abs=1e-3)
    groups["a"] = groups["a"].round(6)
    like = groups["a"][1:] + 1
    alone, student = against({"a": groups["a"], "b": like}, "a")["b"], stats.ttest_ind(like, groups["a"])
    assert (*alone.interval(0.95), alone.p) == pytest.approx(
        (*student.confidence_interval(0.95), student.pvalue), abs=1e-10
    )
    report = result.report(simultaneous=True)
    assert "hold simultaneously" in report and f"[{found['c'].interval(0.95)[0]:+.4g}" in report and "Dunnett" in report
    assert "More is better: c is better than a; b is not clearly different from a." in report


def test_simultaneous_intervals_of_pairs_and_unlike_variances_are_wide_enough_for_their_number():
    rng = np.random.default_rng(0)
    groups = {name: list(rng.normal(0, spread, 8)) for name, spread in (("a", 1), ("b", 1), ("c", 50))}
    for pair_by in (None, "seed"):
        result = compared(table(groups), pair_by=pair_by)
        report, wide = result.report(simultaneous=True), result.difference("c", level=0.975)
        assert (
            f"95 % confidence interval [{wide.low:+.4g}, {wide.high:+.4g}]" in report and "Bonferroni for 2" in report
        )


def test_what_is_better_is_said_or_not_known():
    assert "was not said (better=)" in lab.Comparison.from_table(table(), **COLUMNS).report()
    assert "Less is better: mine is better than relu." in compared(better="lower").report()
    assert "More is better: mine is worse than relu." in compared(better="higher").report()
    with pytest.raises(ArgumentError, match="better"):
        compared(better="less")


def test_every_run_is_drawn_the_baseline_first():
    figure = compared(baseline="mine").plot()
    assert [trace.name for trace in figure.data] == ["mine, runs", "mine, mean", "relu, runs", "relu, mean"]
    assert figure.data[0].y.tolist() == BITS["mine"] and figure.layout.yaxis.title.text == "bits"


TWO = pd.concat([table(name="bits"), table(name="loss")])


@pytest.mark.parametrize(
    ("frame", "given", "said"),
    [
        (TWO, {}, "keep one, as table[table['name'] == 'loss']"),
        (pd.concat([table(step=0), table(step=9)]), {}, "keep one, as table[table['step'] == 9]"),
        (pd.concat([table(), table()]), {}, "give one row a run"),
        (pd.concat([table(), table()]), {"pair_by": "seed"}, "give one row a run"),
        (table(bits={"relu": [1.0, 2.0]}), {}, "at least two"),
        (table().head(0), {}, "at least two"),
        (table().astype({"bits": str}).replace({"3.28": "n/a"}), {}, "has 'n/a'"),
        (table().astype({"bits": bool}), {}, "real numbers"),
        (table().assign(bits=[True, False, None] * 2), {}, "metric='bits' has True"),
        (table().assign(bits=[3.31, True, None] * 2), {}, "metric='bits' has True"),
        (table().astype({"bits": "datetime64[ns]"}), {}, "metric='bits' has Timestamp"),
        (table().assign(bits=[pd.Timestamp("2026-01-01"), pd.NaT] * 3), {}, "metric='bits' has Timestamp"),
        (table().assign(bits=[pd.NaT] * 6), {}, "metric='bits' has NaT"),
        (table().assign(bits=pd.to_timedelta([1, 2, 3, 4, 5, 6], "s")), {}, ".dt.total_seconds()"),
        (table().assign(bits=[torch.tensor(1.5)] * 6), {}, ".item() of each"),
        (table().assign(bits=[10**400] * 6), {}, "metric='bits'"),
        (table(act=[["relu"]] * 3 + [["mine"]] * 3), {}, "'act' has ['relu']; give words"),
        (table(seed=[{"a": 1}] * 6), {}, "'seed' has {'a': 1}; give words"),
        (table(seed=[torch.tensor(1)] * 6), {}, "'seed' has tensor(1); give words"),
        (table(act=["relu"] * 3 + [" "] * 3), {}, "'act' is empty in 3 of 6 rows"),
        (table().set_index("seed"), {}, "reset_index"),
        (table().replace({"act": {"relu": None}}), {}, "'act' is empty in 3 of 6 rows"),
        (table(), {"metric": "loss"}, "unknown metric"),
        (table(), {"group": 3}, "unknown group"),
        (table(), {"pair_by": "task"}, "unknown pair_by"),
        (table(), {"pair_by": "act"}, "a column of its own"),
        (table(), {"seed": "act"}, "a column of its own"),
        (table(), {"baseline": "gelu"}, "unknown baseline"),
        (table(split=[1, 2, 3, 4, 5, 6]), {"pair_by": "split"}, "no split in common"),
        (table().set_axis(["act", "seed", "seed"], axis=1), {"metric": "act", "group": "seed", "seed": "act"}, "own"),
        (3, {}, "source=3"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(frame, given, said):
    with pytest.raises(ArgumentError) as error:
        compared(frame, **given)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("given", [{"a": "gelu"}, {"a": "relu"}, {"a": "mine", "b": "x"}, {"a": "mine", "level": 95}])
def test_differences_of_what_is_there(given):
    with pytest.raises(ArgumentError):
        compared().difference(**given)


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5), (0.95, 0.9), (0.99, 0.99)])
def test_dunnetts_probability_is_that_of_a_fine_quadrature(shares):
    df, limit, (s, z) = 20, 2.5, (np.linspace(1e-6, 3, 1501), np.linspace(-9, 9, 4001))
    inside = np.ones((len(z), len(s)))
    for share in shares:
        middle, rest = z[:, None] * np.sqrt(share), np.sqrt(1 - share)
        inside *= stats.norm.cdf((middle + limit * s) / rest) - stats.norm.cdf((middle - limit * s) / rest)
    density = stats.chi.pdf(s, df, scale=1 / np.sqrt(df))
    wanted = stats.norm.pdf(z) @ inside @ density * (z[1] - z[0]) * (s[1] - s[0])
    assert all_within(limit, shares, df) == pytest.approx(wanted, abs=1e-11)


def test_a_p_value_follows_its_interval():
    estimate = estimates.compare({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.5, 1.0]}, {"": ("a", "b")})[""]
    wide = at_once(estimate, 2)
    assert isinstance(wide, Simultaneous) and p_value(wide) == pytest.approx(2 * p_value(estimate))
    assert p_value(wide.shifted(-wide.effect)) == 1.0 and np.isnan(p_of_all(float("nan"), 3))


@pytest.mark.parametrize("scores", [(0.1, 0.2, 0.3, 0.2, 0.3, 0.4), (0.3, 0.1 + 0.2, 0.3, 0.4, 0.4, 0.4)])
@pytest.mark.parametrize("pair_by", [None, "seed"])
def test_what_rounding_leaves_is_no_spread(scores, pair_by):
    """.3 - .2 and .2 - .1 differ by 3e-17, which is no variance: an interval of that width would decide anything."""
    frame = pd.DataFrame({"act": list("aaabbb"), "seed": [0, 1, 2] * 2, "bits": scores})
    made = lab.Comparison.from_table(frame, **COLUMNS, better="higher", pair_by=pair_by)
    assert "better than" not in made.report() and "p < 0.0001" not in made.report()
