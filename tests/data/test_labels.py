"""Labels keep the order and the words that whoever wrote them gave them."""

import numpy as np
import pandas as pd
import pytest
import torch

import lab
from lab.data import Data
from lab.widgets.model import examples_of
from tests.data.test_meaning import ROWS, X, Y, Z, read, said

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


def test_one_target_that_is_missing_does_not_make_values_of_classes(tmp_path):
    rows = [f"{z},{y}" for z, y in zip(Z, Y, strict=True)]
    for gaps in ({}, {5}, {0, ROWS - 1}):
        lines = [row.rpartition(",")[0] + "," if number in gaps else row for number, row in enumerate(rows)]
        (tmp_path / "a.csv").write_text("\n".join(["z,y", *lines]))
        data = Data.read(tmp_path / "a.csv", target="y")
        assert data.classes == ("0", "1", "2") and len(data) == ROWS - len(gaps)
        assert bool(gaps) == ("y was read as whole numbers" in data.notes)
    gap = np.where(np.arange(ROWS) == 5, np.nan, Z)
    assert not Data.read(pd.DataFrame({"x": Z, "y": gap}), target="y").classes


def test_a_column_may_be_named_by_a_number_and_labels_may_be_bytes():
    table = pd.DataFrame({0: Z, 1: X[:, 1], 2: Y, 3: np.arange(ROWS) // 2})
    assert Data.read(table, target=2, drop=[1], groups=3).columns == ("0",)
    assert Data.read(table, target=2, drop=3).columns == ("0", "1")
    assert Data.from_arrays(X, np.array([b"low", b"mid", b"top"])[Y]).classes == ("low", "mid", "top")


def test_one_row_to_train_on_says_that_it_has_one_value():
    table = pd.DataFrame({"x": Z, "y": X[:, 1]})
    with pytest.raises(lab.ArgumentError, match="y has one value, .* in all rows of train"):
        Data.read(table, "y", splits={"train": [0], "test": [1, 2, 3]})


@pytest.mark.parametrize("word", ["None", "NA", "null"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_a_word_for_none_in_a_file_is_a_word_among_words(word, decimal, tmp_path):
    words = np.array([word, "Insomnia", "Apnea"])[Y]
    table = pd.DataFrame({"z": Z, "n": Z, "flag": np.where(Y, Y > 1, None), "w": words, "y": words, "who": words})
    table["when"] = pd.date_range("2020-01-01", periods=ROWS).strftime("%Y-%m-%d")
    table["n"] = table["n"].map(lambda number: f"{number:.4f}".replace(".", decimal)).where(Y > 0, word)
    table["when"] = table["when"].where(Y > 0, word)
    table.loc[1, "y"] = ""

    def file(**given):
        table.to_csv(tmp_path / "a.csv", index=False, decimal=decimal, sep=";")
        return Data.read(tmp_path / "a.csv", "y", **given)

    data = file(drop="who")
    assert data.classes == tuple(sorted(["Apnea", "Insomnia", word])) and len(data) == ROWS - 1
    assert f"y has the class {word}; drop these rows where it stands" in "".join(data.notes)
    assert {f"w_{word}", "n", "missingindicator_n"} <= set(data.columns) and "dates (when)" in "".join(data.notes)
    assert f"{(Y == 0).sum()} of {ROWS - 1} groups are missing" in said(lambda: file(groups="who"))
    table["y"] = np.where(Y > 0, "sick", word)
    assert file(drop=["w", "who"]).classes == tuple(sorted(["sick", word]))
    table["y"] = np.where(Y > 0, Y > 1, None)  # True, False and gaps
    table["y"] = table["y"].where(Y > 0, word)
    assert file(drop=["w", "who"]).classes == ("False", "True")
