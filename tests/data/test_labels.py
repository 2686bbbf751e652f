"""Labels keep the order and the words that whoever wrote them gave them."""

import numpy as np
import pandas as pd
import pytest
import torch

from lab.data import Data
from lab.widgets.examples import examples_of
from tests.data.test_meaning import ROWS, X, Y, Z, read

LABELS = {
    "words": ["small", "medium", "large"],
    "numbers": [3, 1, 2],
    "decimals": [0.5, 0.25, 2.0],
    "intervals": pd.IntervalIndex.from_breaks([0, 2, 10, 30]),
    "class numbers": ["10", "9", "2"],
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("unused", [False, True])
def test_ordered_categories_are_classes_in_their_order(kind, unused):
    labels = pd.Index(LABELS[kind])
    codes = Y % 2 * 2 if unused else Y
    made = pd.Categorical.from_codes(codes, labels, ordered=True)
    classes = tuple(str(label) for label in (labels[::2] if unused else labels))
    table = pd.DataFrame({"z": Z, "y": made})
    for data in (
        Data.from_arrays(X, made),
        Data.from_arrays(X, pd.Series(made)),
        Data.from_arrays(X, table[["y"]]),
        Data.read(table, "y"),
    ):
        assert data.classes == classes and data.targets.tolist() == (codes // (1 + unused)).tolist()
    if labels.dtype.kind not in "if":  # a model looked at has learned the codes
        shown = examples_of(torch.tensor(X), made)
        assert shown.targets.tolist() == codes.tolist() and shown.classes == tuple(map(str, labels))


def test_categories_without_an_order_have_that_of_labels():
    made = pd.Categorical.from_codes(Y, ["small", "medium", "large"])
    assert Data.from_arrays(X, made).classes == read("size", {"drop": "y"}, size=made).classes
    assert Data.from_arrays(X, made).classes == ("large", "medium", "small")
    gaps = pd.Categorical.from_codes(np.where(Y > 0, Y, -1), ["small", "medium", "large"], ordered=True)
    data = read("size", {"drop": "y"}, size=gaps)
    assert data.classes == ("medium", "large") and len(data) == ROWS - (Y == 0).sum()
    assert not Data.from_arrays(X, pd.Categorical(Z, ordered=True), kind="regression").classes
