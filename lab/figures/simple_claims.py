"""What the simplicity paper claims of its figures, measured in their tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lab.figures.claims import Claim, Verdict, all_of, mean, per_seed, ratio, speed_up, steps_to
from lab.figures.shortcut_settings import FOR
from lab.figures.simple_settings import LEARNED, LEVEL, RELU
from lab.tasks.collage import TILES

if TYPE_CHECKING:
    import pandas as pd


def faster(table: pd.DataFrame, **claimed) -> Verdict:
    """How many times fewer steps models with the learned function need to `LEVEL` test accuracy than with ReLU; of
    several tasks the one that speaks most against the claim."""
    pairs = {task: [rows[rows["method"] == method] for method in (RELU, LEARNED)]
             for task, rows in table.groupby("task", sort=False)}  # fmt: skip
    return all_of(speed_up(*pair, level=LEVEL, case=task, **claimed) for task, pair in pairs.items())


def delays(rows: pd.DataFrame) -> pd.Series:
    """For each seed of one kind of runs: steps from `LEVEL` in training to `LEVEL` in testing. Until the last step,
    where the second is not reached; NaN where the first is not, or where the run diverged."""
    train, test = (steps_to(rows.assign(accuracy=rows[name]), LEVEL) for name in ("accuracy_train", "accuracy"))
    return (test.clip(upper=rows["step"].max()) - train).where(train < float("inf"))


def _shorter_delay(table: pd.DataFrame) -> Verdict:
    by_method = [delays(table[table["method"] == method]) for method in (RELU, LEARNED)]
    return mean(by_method[0] - by_method[1], above=0.0, unit="steps")


def _sooner_everywhere(table: pd.DataFrame) -> Verdict:
    """At every fraction and width: ratio of first steps; a run that does not get there counts with its last step."""
    found = []
    for (fraction, width), rows in table.groupby(["fraction", "width"], sort=False):
        steps = rows["step"].fillna(rows["last"]).where(~rows["diverged"].astype(bool) & rows["accuracy"].notna())
        pairs = np.log(steps).groupby([rows["seed"], rows["method"]]).mean().unstack("method")
        case = f"{100 * fraction:.0f} %, width {width}"
        found.append(ratio(pairs[RELU] - pairs[LEARNED], unit="×", above=1.0, case=case))
    return all_of(found)


def _better_on_average(table: pd.DataFrame) -> Verdict:
    """Mean test accuracy over training, learned minus ReLU; over operations."""
    means = per_seed(table, ["task", "method"]).mean().unstack()
    return mean(means[LEARNED] - means[RELU], "tasks", above=0.0, unit="points")


def watched(method: str) -> str:
    """The column of validation accuracy that stops a method's training: of its tile, or of ambiguous collages.

    >>> watched("learned for hard"), watched("ReLU")
    ('val_hard', 'val')
    """
    return next((f"val_{tile}" for tile, name in FOR.items() if name == method), "val")


def stopped(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """For each seed of one kind of runs, the first evaluation that is best in `column`; NaN where the run diverged."""
    trained = rows[rows["step"] > 0].sort_values(["seed", "step"], kind="stable", ignore_index=True)
    known = trained[column].fillna(-np.inf)
    found = trained.loc[known.groupby(trained["seed"]).idxmax()].set_index("seed")
    lost = found["diverged"].astype(bool)
    values = found.select_dtypes(float).columns
    return found.assign(**{name: found[name].where(~lost) for name in values})


def _relies_on_easy(table: pd.DataFrame) -> Verdict:
    """With ReLU: accuracy where only the easy tile tells the label, less that where only the hard one does."""
    found = []
    for spectral, rows in table[table["method"] == RELU].groupby("spectral", sort=False):
        ends = stopped(rows, watched(RELU))
        found.append(mean(100 * (ends["easy"] - ends["hard"]), above=0.0, unit="points", case=_case(spectral)))
    return all_of(found)


def _ignores_hard(table: pd.DataFrame) -> Verdict:
    """With ReLU: accuracy where only the hard tile tells the label, less chance. Two points: a test split of 1,000."""
    found = []
    for spectral, rows in table[table["method"] == RELU].groupby("spectral", sort=False):
        ends = stopped(rows, watched(RELU))
        found.append(mean(100 * ends["hard"] - 10, below=2.0, unit="points", case=_case(spectral)))
    return all_of(found)


def _raises_its_tile(table: pd.DataFrame) -> Verdict:
    """Accuracy of each learned function where its tile alone tells the label, less that of ReLU with the same early
    stopping; the less favourable tile."""
    found = []
    for spectral, rows in table.groupby("spectral", sort=False):
        for tile in TILES:
            both = [stopped(rows[rows["method"] == method], f"val_{tile}")[tile] for method in (FOR[tile], RELU)]
            case = f"{tile} tile, {_case(spectral)}"
            found.append(mean(100 * (both[0] - both[1]), above=0.0, unit="points", case=case))
    return all_of(found)


def steering(rows: pd.DataFrame) -> pd.Series:
    """For each seed: by how many points the function for the easy tile prefers that tile (its accuracy less that of the
    hard one) more than the function for the hard tile does."""
    ends = [stopped(rows[rows["method"] == FOR[tile]], f"val_{tile}") for tile in TILES]
    return 100 * ((ends[0]["easy"] - ends[0]["hard"]) - (ends[1]["easy"] - ends[1]["hard"]))


def _steers(table: pd.DataFrame) -> Verdict:
    by_kind = table.groupby("spectral", sort=False)
    return all_of(mean(steering(rows), above=0.0, unit="points", case=_case(kind)) for kind, rows in by_kind)


def _steers_more(table: pd.DataFrame) -> Verdict:
    with_it, without = (steering(table[table["spectral"].astype(bool) == kind]) for kind in (True, False))
    return mean(with_it - without, above=0.0, unit="points")


def _case(spectral: bool) -> str:
    return "spectral normalization" if spectral else "no normalization"


_STEERS = Claim("The functions learned for either tile steer towards it", _steers)
FIG9 = (
    Claim("ReLU goes by the easy tile more than by the hard one", _relies_on_easy),
    Claim("With ReLU the hard tile is at chance (within two points)", _ignores_hard),
    Claim("Either learned function is better on its tile than ReLU", _raises_its_tile),
    _STEERS,
)
FIG25 = (Claim("Learned functions steer more with spectral normalization", _steers_more),)
FIG26 = (_STEERS,)


def scores(table: pd.DataFrame) -> pd.DataFrame:
    """Figure 14: for each operation and function the speed (easy) or accuracy (hard) as a share of the best of its
    operation, 0 to 1: task, function, kind, score. Easy: every run with ReLU ends with `LEVEL` or more. A mean over
    seeds; NaN where no run has a number.

    table: task, function, seed, step (NaN: never), accuracy, diverged.
    """
    import pandas as pd

    alive = ~table["diverged"].astype(bool) & table["accuracy"].notna()
    speed = (1 / table["step"]).fillna(0.0).where(alive)
    table = table.assign(easy=speed, hard=table["accuracy"].where(alive))
    parts = []
    for _, rows in table.groupby("task", sort=False):
        kind = "easy" if (rows.loc[rows["function"] == RELU, "hard"] >= LEVEL).all() else "hard"
        means = rows.groupby(["task", "function"], sort=False)[kind].mean()
        parts.append((means / means.max()).rename("score").reset_index().assign(kind=kind))
    return pd.concat(parts, ignore_index=True)[["task", "function", "kind", "score"]]


def _by_function(table: pd.DataFrame) -> pd.DataFrame:
    """For each operation the score, in percent, with ReLU, with that of all ("every"), and the mean of those of other
    operations ("other") and of all specific ones ("specific")."""
    from lab.figures.transfer_settings import EVERY

    found = scores(table)
    found["score"] *= 100
    specific = found[~found["function"].isin((RELU, EVERY))]
    plain = {"relu": found[found["function"] == RELU], "every": found[found["function"] == EVERY],
             "other": specific[specific["function"] != specific["task"]], "specific": specific}  # fmt: skip
    means = {name: rows.groupby("task")["score"].mean() for name, rows in plain.items()}
    return means["relu"].to_frame("relu").assign(**means)


def _gains(first: str, second: str) -> Callable[[pd.DataFrame], Verdict]:
    def measure(table: pd.DataFrame) -> Verdict:
        found = _by_function(table)
        return mean(found[first] - found[second], "tasks", above=0.0, unit="points")

    return measure


def transfer_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Mean scores beside those of the paper: method, ours, theirs."""
    import pandas as pd

    means = _by_function(table).mean()
    cells = {"ReLU": ("relu", 19.9), "functions of one operation": ("specific", 54.0),
             "the function of all operations": ("every", 61.5)}  # fmt: skip
    return pd.DataFrame([(cell, means[name], theirs) for cell, (name, theirs) in cells.items()],
                        columns=["method", "ours", "theirs"])  # fmt: skip


FIG11 = (
    Claim("The learned function reaches 95 % test accuracy sooner than ReLU", lambda table: faster(table, above=1.0)),
    Claim("It does so about ten times sooner (at least five)", lambda table: faster(table, above=5.0)),
    Claim("It shortens the delay between training and test accuracy", _shorter_delay),
)
FIG12 = (
    Claim("On every version of addition the learned function is sooner at 95 % than ReLU",
          lambda table: faster(table, above=1.0)),
)  # fmt: skip
FIG13 = (Claim("At every amount of data and width the learned function is sooner at 95 %", _sooner_everywhere),)
FIG28 = (Claim("Test accuracy over training is higher with learned functions, over operations", _better_on_average),)
FIG14 = (
    Claim("Functions learned for other operations score higher than ReLU", _gains("other", "relu")),
    Claim("The function learned for all operations scores higher than ReLU", _gains("every", "relu")),
    Claim("It scores higher than functions of one operation do on average", _gains("every", "specific")),
)
