"""Columns that number the rows, or hold dates: left out with a line, and read where that is asked for."""

import numpy as np
import pandas as pd
import pytest

import lab
from lab.data import Data
from tests.data.test_meaning import CHANCE, OWNERS, ROWS, X, Y, Z, read, said


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Unnamed: 0", np.arange(ROWS)),
        ("idx", CHANCE.permutation(ROWS) + 1),
        ("PassengerId", CHANCE.permutation(ROWS) * 3.0),
        ("row_id", [f"r{number}" for number in range(ROWS)]),
        ("position", np.arange(ROWS) + 1),
        ("counted", np.arange(ROWS) * 1.0),
        ("downwards", np.arange(ROWS)[::-1]),
        *((name, CHANCE.permutation(ROWS)) for name in ("RowNumber", "Row_Number", "row no", "S.No", "Sr. No.", "SNo")),
    ],
)
def test_what_numbers_the_rows_is_no_input_unless_asked(name, values, tmp_path):
    pd.DataFrame({"z": Z, name: values, "y": Y}).to_csv(tmp_path / "a.csv", index=False)
    data = Data.read(tmp_path / "a.csv", target="y")
    assert data.columns == ("z",) and f"number the rows were left out: {name}; keep=['{name}']" in "".join(data.notes)
    assert len(Data.read(tmp_path / "a.csv", target="y", keep=name).columns) > 1
    table = pd.DataFrame({"z": Z, name: np.arange(ROWS)})
    assert f"what numbers the rows is among the inputs: {name}" in said(lambda: Data.from_arrays(table, Y))


def test_what_only_looks_like_it_is_an_input():
    data = read(id=OWNERS, paid=CHANCE.permutation(ROWS), count=np.arange(ROWS) * 2, arrow_no=np.arange(ROWS) / 2)
    assert data.columns == ("z", "id", "paid", "count", "arrow_no")
    alone = Data.read(pd.DataFrame({"x": np.arange(ROWS), "y": Y}), target="y")
    assert alone.columns == ("x",) and "x counts the rows, and is all that there is" in alone.notes[0]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_what_numbers_the_rows_of_an_array_is_said(kind):
    numbers = CHANCE.integers(0, 9, (ROWS, 3)).astype(kind)
    for column, counting in enumerate((np.arange(ROWS), 7 - np.arange(ROWS))):
        numbers[:, column] = counting
    words = "what numbers the rows is among the inputs: column 0, column 1"
    assert words in said(lambda: Data.from_arrays(numbers, Y))


def test_running_numbers_of_a_data_set_are_no_arguments_of_the_model():
    rows = [
        {"ids": np.array([1, n % 3]), "mask": np.array([True, n % 2 > 0]), "idx": n, "label": n % 2} for n in range(60)
    ]
    data = Data.from_dataset({"train": rows, "test": rows[:20]})
    assert set(data.inputs) == {"ids", "mask"} and "was left out: idx" in data.notes[0]
    assert set(Data.from_dataset(rows, inputs=["ids", "idx"]).inputs) == {"ids", "idx"}
    with pytest.raises(lab.ArgumentError, match="name those that the model reads"):
        Data.from_dataset([{"sentence": "a", "idx": n, "label": n % 2} for n in range(60)])


DAYS = pd.date_range("2020-01-03", periods=ROWS, freq="31h")
DATES = {
    "times": DAYS,
    "zone": DAYS.tz_localize("UTC"),
    "objects": DAYS.to_pydatetime(),
    "ISO": DAYS.strftime("%Y-%m-%dT%H:%M:%S"),
    "points": DAYS.strftime("%d.%m.%Y %H:%M"),
    "months": DAYS.strftime("%d %B %Y"),
    "slashes": DAYS.strftime("%m/%d/%Y %H:%M:%S"),
}


PARTS = ("month", "day", "weekday"), ("month", "day", "weekday", "hour")


@pytest.mark.parametrize("how", DATES)
def test_dates_are_left_out_or_read_as_asked(how):
    when = pd.Series(DATES[how])
    data = read(when=when)
    assert data.columns == ("z",) and "dates='ordinal' reads days" in "".join(data.notes)
    ordinal = read(given={"dates": "ordinal"}, when=when)
    days = (DAYS - DAYS[0]) / pd.Timedelta(days=1)
    assert np.corrcoef(ordinal.inputs[:, 1], days)[0, 1] > 1 - 1e-4
    parts = read(given={"dates": "parts"}, when=when)
    assert parts.columns == ("z", *(f"when_{part}" for part in PARTS[how != "months"]))
    assert np.corrcoef(parts.inputs[:, 3], DAYS.day_of_week)[0, 1] > 1 - 1e-6
    assert "read as days since 1970" in "".join(ordinal.notes) and "unknown dates 'yes'" in said(
        lambda: read(given={"dates": "yes"})
    )


def test_old_dates_and_codes_with_zeros():
    old = [f"{1500 + number}-01-02" for number in range(ROWS)]
    assert np.corrcoef(read(given={"dates": "ordinal"}, old=old).inputs[:, 1], np.arange(ROWS))[0, 1] > 1 - 1e-6
    assert "codes_01" in read(codes=[f"0{number % 30}" for number in range(ROWS)]).columns


def test_columns_that_would_have_one_name_are_refused():
    clashes = {
        "dates='parts' makes a column 'when_month', and the table has one": {"when": DAYS, "when_month": Z},
        "would be called 'w_x'": {"w": np.array(["x", "y", "x"])[Y], "w_x": -Z},
        "would be called 'missingindicator_n'": {"n": np.where(Y, Z, np.nan), "missingindicator_n": -Z},
    }
    for words, columns in clashes.items():
        assert words in said(lambda columns=columns: read(given={"dates": "parts"}, **columns))
    twice = pd.DataFrame(X[:, :2], columns=["a", "a"])
    assert "two columns of X are called 'a'" in said(lambda: Data.from_arrays(twice, Y))


def test_gaps_that_no_training_row_has_are_said_to_have_no_column():
    n = np.where(np.arange(ROWS) == 5, np.nan, Z)
    rows = {"val": [7, 8, 9], "test": [4, 5, 6]}
    data = read(given={"splits": rows}, n=n)
    assert data.columns == ("z", "n") and "gap, so that no column says so): n 1" in "".join(data.notes)
    data = read(given={"splits": {"val": [7, 8, 9], "test": [1, 2, 3]}}, n=n)
    assert data.columns[2:] == ("missingindicator_n",) and "with a column that says so: n 1" in "".join(data.notes)


def test_a_number_far_beyond_the_training_rows_is_named():
    far = np.where(np.arange(ROWS) == 4, 1e40, Y)
    words = said(lambda: read(given={"splits": {"val": [7, 8, 9], "test": [4, 5, 6]}}, far=far))
    assert "row 4 has a number in column 'far' that is over 1e38 standard deviations off" in words


def test_missing_dates_are_missing_numbers_and_dates_are_no_targets():
    data = read(given={"dates": "ordinal"}, when=pd.Series(DAYS).where(Y > 0))
    assert data.columns == ("z", "when", "missingindicator_when")
    assert "when holds dates; give numbers" in said(lambda: read("when", when=DAYS))


@pytest.mark.parametrize("size", [1e200, -1.7e308])
def test_a_number_too_large_to_be_scaled_is_named(size):
    with pytest.raises(lab.ArgumentError, match=r"column 'big' has -?1.*e.* in row 3, whose square no float holds"):
        read(big=np.where(np.arange(ROWS) == 3, size, Z))
    with pytest.raises(lab.ArgumentError, match="column 'big' has .* in row 3, whose square no float holds"):
        Data.read(pd.DataFrame({"z": Z, "big": np.where(np.arange(ROWS) == 3, size, Z)}), target="big")
    with pytest.raises(lab.ArgumentError, match="X has 1 numbers that float32 does not hold, the first, .*, in row 3"):
        Data.from_arrays(np.where(np.arange(ROWS) == 3, size, Z)[:, None], Z)
    with pytest.raises(lab.ArgumentError, match="y has 1 numbers that float32 does not hold, the first, .*, in row 3"):
        Data.from_arrays(np.stack([Z, -Z], 1), np.where(np.arange(ROWS) == 3, size, Z))
    assert read(big=np.where(np.arange(ROWS) == 3, 1e30, Z)).inputs.isfinite().all()
