"""What is asked of data is done, or refused in one line; nothing is taken and then left aside."""

import numpy as np
import pandas as pd
import pytest

from lab.data import Data
from tests.data.test_meaning import ROWS, X, Y, Z, said

OUT = np.arange(ROWS) % 5 == 0
IGNORED = {
    "values": (np.where(OUT, -999, Z), -999, {}),
    "class numbers": (np.where(OUT, -1, Y), -1, {}),
    "words": (np.where(OUT, -1, Y).astype(str), -1, {}),
    "objects": (np.where(OUT, -1, Y).astype(object), -1, {}),
    "words that are values": (np.where(OUT, -999, Z).astype(str), -999, {}),
    "whole numbers as values": (np.where(OUT, -1, np.arange(ROWS)), -1, {"kind": "regression"}),
    "words among labels": (np.where(OUT, "-1", np.array(["a", "b", "c"])[Y]), -1, {}),
}


@pytest.mark.parametrize("kind", IGNORED)
def test_rows_that_are_ignored_are_left_out_of_targets_of_any_type(kind):
    y, ignored, given = IGNORED[kind]
    given = {**given, "ignore_index": ignored}
    read = Data.read(pd.DataFrame({"a": Z, "b": Z**2, "y": y}), "y", **given)
    for data in (Data.from_arrays(X, y, **given), read):
        assert len(data) == (~OUT).sum() and str(ignored) not in data.classes
        assert f"{OUT.sum()} rows without a target ({ignored}) were left out" in "".join(data.notes)


def test_values_of_minus_100_are_values_and_several_a_row_are_not_ignored():
    cold = np.where(OUT, -100.0, Z)
    assert len(Data.from_arrays(X, cold)) == ROWS
    both = np.stack([np.where(OUT, -1.0, Z), Z], 1)
    assert "24 values that are -1, and only classes are" in said(lambda: Data.from_arrays(X, both, ignore_index=-1))
    tags = np.where(np.arange(ROWS * 3).reshape(ROWS, 3) % 4 == 0, "-1", "a")
    tags[:, 1] = "b"
    data = Data.from_arrays(X, tags, ignore_index=-1)
    assert data.classes == ("a", "b") and (data.targets == -100).any()
