"""What stands for something else than it looks: codes that are no numbers, marks of gaps, words written twice."""

import numpy as np
import pandas as pd
import pytest
import torch

from lab.data import Data
from lab.errors import ArgumentError

ROWS = 200
CHANCE = np.random.default_rng(0)
Z = CHANCE.normal(size=ROWS)


def frame(**columns):
    return pd.DataFrame({"z": Z, "y": np.arange(ROWS) % 2, **columns})


CODES = {"01 and 1": ("01", "1"), "1 and 1.0": ("1", "1.0"), "capitals": ("No", "no"), "a space": ("no", "no ")}


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("as_file", [True, False])
def test_words_that_differ_stay_classes_and_it_is_said(kind, as_file, tmp_path):
    one, two = CODES[kind]
    table = frame(y=np.where(Z > 0, one, two))
    if as_file and kind == "1 and 1.0":
        return  # a file of numbers: both are 1
    table.to_csv(tmp_path / "table.csv", index=False)
    data = Data.read(tmp_path / "table.csv" if as_file else table, target="y")
    assert set(data.classes) == {one, two} and f"{two!r}" in str(data) and "two classes" in str(data)


def test_codes_of_one_length_stay_numbers_in_a_file(tmp_path):
    frame(code=[f"{number % 90:03d}" for number in range(ROWS)]).to_csv(tmp_path / "table.csv", index=False)
    assert "code" in Data.read(tmp_path / "table.csv", target="y").columns


@pytest.mark.parametrize("mark", ["?", "-", "n/a", "missing", "."])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_marks_of_gaps_among_numbers_are_gaps(mark, share):
    gap = CHANCE.random(ROWS) < share
    data = Data.read(frame(p=np.where(gap, mark, [f"{value:.3f}" for value in Z])), target="y")
    assert {"p", "missingindicator_p"} <= set(data.columns) and f"{int(gap.sum())} words" in str(data)


@pytest.mark.parametrize(("value", "is_said"), [(-999.0, True), (9999.0, True), (99.0, True), (0.0, False)])
def test_a_number_that_may_stand_for_none_is_said(value, is_said):
    data = Data.read(frame(p=np.where(np.arange(ROWS) % 5, Z, value)), target="y")
    assert ("stands for no number" in str(data)) == is_said


def test_a_scale_that_ends_in_99_has_no_marks():
    assert "stands for" not in str(Data.read(frame(p=CHANCE.integers(0, 100, ROWS)), target="y"))


def test_times_between_are_values_in_days():
    data = Data.read(frame(y=pd.to_timedelta(Z, unit="D")), target="y")
    assert not data.classes and "y was read as days" in str(data)


WRONG = {
    "levels": lambda: Data.read(pd.DataFrame({("f", "a"): Z, ("t", "y"): Z}), target="y"),
    "pandas.DataFrame": lambda: Data.read([{"a": 1.0, "y": 1}], target="y"),
    "meta": lambda: Data.from_arrays(torch.empty(ROWS, 3, device="meta"), np.arange(ROWS) % 2),
    ".filled(-100)": lambda: Data.from_arrays(Z[:, None], np.ma.array(np.arange(ROWS) % 2, mask=Z > 1)),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_data_is_told_what_to_give(words):
    with pytest.raises(ArgumentError) as error:
        WRONG[words]()
    assert words in str(error.value) and "\n" not in str(error.value)
