"""Data from arrays: splits are disjoint, classes keep their shares, groups stay whole, identity is the content."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lab
from lab.data import Data
from lab.data.splits import divide

X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.arange(120) % 3


@given(st.integers(30, 300), st.integers(2, 4), st.integers(0, 9))
def test_splits_are_disjoint_cover_all_rows_and_keep_the_shares_of_classes(count, classes, seed):
    labels = np.random.default_rng(seed).permutation(np.arange(count) % classes)
    found = divide({"search": 0.2, "val": 0.15, "test": 0.15}, count, labels, seed=seed)
    joined = np.concatenate(list(found.values()))
    assert sorted(joined) == list(range(count))
    shares = np.bincount(labels) / count
    for rows in found.values():
        assert (np.abs(np.bincount(labels[rows], minlength=classes) - shares * len(rows)) <= 2).all()


def test_another_seed_draws_other_rows_and_the_same_seed_the_same():
    one, two, three = (divide({"test": 0.5}, 40, seed=seed)["test"].tolist() for seed in (0, 0, 1))
    assert one == two != three


def test_groups_stay_whole():
    groups = np.repeat(np.arange(20), 6)
    data = Data.from_arrays(X, Y, groups=groups, splits={"val": 0.25, "test": 0.25})
    owners = [set(groups[rows]) for rows in data.rows.values()]
    assert sum(map(len, owners)) == len(set.union(*owners)) == 20
    assert [len(owner) for owner in owners] == [5, 5, 10]


def test_rows_that_are_all_given_need_no_groups_to_draw():
    given = {
        "train": np.arange(60),
        "search": np.arange(60, 80),
        "val": np.arange(80, 100),
        "test": np.arange(100, 120),
    }
    data = Data.from_arrays(X, Y, groups=np.repeat(np.arange(6), 20), splits=given)
    assert all(data.rows[name].tolist() == part.tolist() for name, part in given.items())


def test_rows_may_be_given_and_shares_are_of_what_is_left():
    data = Data.from_arrays(X, Y, splits={"test": np.arange(30), "val": 0.1, "search": 9})
    assert data.rows["test"].tolist() == list(range(30)) and {n: len(r) for n, r in data.rows.items()} == {
        "test": 30,
        "val": 9,
        "search": 9,
        "train": 72,
    }
    mask = np.arange(120) < 30
    assert torch.equal(Data.from_arrays(X, Y, splits={"test": mask}).rows["test"], data.rows["test"])


def test_identity_is_the_content():
    data = Data.from_arrays(X, Y)
    assert data.digest == Data.from_arrays(torch.from_numpy(X), Y.tolist(), name="other").digest
    changed = X.copy()
    changed[7, 2] += 1e-3
    others = [
        Data.from_arrays(changed, Y),
        Data.from_arrays(X, Y[::-1]),
        Data.from_arrays(X, Y, seed=1),
        Data.from_arrays(X, Y, metrics=["cross_entropy"]),
        Data.from_arrays(X, Y.astype(float)),
        Data.from_arrays(X, np.array(["a", "b", "c"])[Y]),
    ]
    assert len({data.digest, *(other.digest for other in others)}) == 7
    for name in ("a", "targets", "split test"):  # also called as something else that counts
        assert len({Data.from_arrays({"x": X, name: part}, Y).digest for part in (X, changed)}) == 2


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (Y, ("0", "1", "2")),
        (Y + 5, ("5", "6", "7")),
        (Y > 0, ("False", "True")),
        (np.array(["cat", "dog", "eel"])[Y], ("cat", "dog", "eel")),
        (pd.Series(["cat", "dog", "eel"] * 40, dtype="category"), ("cat", "dog", "eel")),
        (Y.astype(float), ()),
        (X[:, :2], ()),
    ],
)
def test_what_is_predicted_follows_from_the_targets(y, classes):
    data = Data.from_arrays(X, y)
    assert data.classes == classes and data.is_classification == bool(classes)
    assert list(data.metrics) == (["accuracy"] if classes else ["r2"])
    if classes:
        assert [data.classes[i] for i in data.targets[:3]] == [str(value) for value in list(y)[:3]]


@pytest.mark.parametrize("kind", [int, float, bool])
def test_one_hot_targets_are_refused_with_what_to_give(kind):
    one_hot = np.eye(3)[Y].astype(kind)
    with pytest.raises(lab.ArgumentError, match=r"\(120, 3\) is one-hot; give y\.argmax\(1\)"):
        Data.from_arrays(X, one_hot)
    assert Data.from_arrays(X, one_hot.argmax(1)).classes == ("0", "1", "2")
    assert Data.from_arrays(X, one_hot, kind="regression").targets.shape == (120, 3)
    several = one_hot.copy()
    several[0] = 1  # two classes of one row: no classes, so nothing is said of them
    Data.from_arrays(X, several)


def test_numbers_come_as_models_read_them():
    images = Data.from_arrays(np.full((120, 1, 2, 2), 255, np.uint8), Y)
    assert images.inputs.dtype == torch.float32 and float(images.inputs.max()) == 1.0 and "255" in images.notes[0]
    tokens = Data.from_arrays({"ids": np.ones((120, 5), int), "mask": np.ones((120, 5), bool)}, Y)
    assert tokens.inputs["ids"].dtype == torch.int64
    inputs, targets = tokens.split("val")
    assert inputs["ids"].shape == (12, 5) and targets.shape == (12,)


def test_numbers_in_arrays_of_objects_are_numbers():
    plain, objects = Data.from_arrays(X, X[:, 0]), Data.from_arrays(X.astype(object), X[:, 0].astype(object))
    assert plain.digest == objects.digest
    labels = Data.from_arrays(X, np.array([3, 20, 100], dtype=object)[Y])
    assert labels.classes == ("3", "20", "100"), "in their order"


def test_test_rows_that_are_also_trained_on_are_counted(monkeypatch):
    twice, labels = np.concatenate([X, X[:30]]), np.concatenate([Y, Y[:30]])
    splits = {"test": np.arange(120, 150), "val": np.arange(30)}
    assert "have inputs" not in repr(Data.from_arrays(twice, labels, splits=splits)), "val is not trained on"
    splits["val"] = np.arange(10, 30)
    said = "10 of 30 test examples have inputs that are in train, too"
    assert said in repr(Data.from_arrays(twice, labels, splits=splits))
    assert said in repr(Data.from_arrays({"a": twice, "b": twice[:, 0]}, labels, splits=splits))
    assert said not in repr(Data.from_arrays({"a": twice, "b": np.arange(150)}, labels, splits=splits))
    monkeypatch.setattr("lab.data.splits.LARGEST", (10, 10))
    assert said not in repr(Data.from_arrays(twice, labels, splits=splits))


HOLE = X.copy()
HOLE[17, 2] = np.nan
WRONG = {
    "X has 1 values that are NaN or infinite, the first in row 17, column 2": lambda: Data.from_arrays(HOLE, Y),
    "y has 1 values that are NaN": lambda: Data.from_arrays(X, np.where(np.arange(120) == 3, np.nan, X[:, 0])),
    "y has 1 targets missing, the first in row 1": lambda: Data.from_arrays(X, ["a", None] + ["b"] * 118),
    "y has one class, 7": lambda: Data.from_arrays(X, np.full(120, 7)),
    "y has one value, 1, in every row": lambda: Data.from_arrays(X, np.ones(120)),
    "X has 120 rows and y 119": lambda: Data.from_arrays(X, Y[:-1]),
    "parts of X have 100, 120 rows": lambda: Data.from_arrays({"a": X, "b": X[:100]}, Y),
    "class 1 has 2 rows, fewer than the 4 splits": lambda: Data.from_arrays(X, (np.arange(120) < 2).astype(int)),
    "split 'val' of 0.01 would have no row of 12": lambda: Data.from_arrays(X[:12], Y[:12], splits={"val": 0.01}),
    "take all 120 rows": lambda: Data.from_arrays(X, Y, splits={"val": 60, "test": 60}),
    "need more rows than the 120": lambda: Data.from_arrays(X, Y, splits={"train": 100, "test": 60}),
    "share 1 rows, the first 3": lambda: Data.from_arrays(X, Y, splits={"val": [1, 3], "test": [3, 4]}),
    "give a share between 0 and 1": lambda: Data.from_arrays(X, Y, splits={"val": -0.5}),
    "groups has 2 groups, fewer than the 4": lambda: Data.from_arrays(X, Y, groups=Y > 1),
    "different whole numbers": lambda: Data.from_arrays(X, np.arange(120)),
    "X holds words": lambda: Data.from_arrays([["a"]] * 120, Y),
    "unknown kind 'ranking'": lambda: Data.from_arrays(X, Y, kind="ranking"),
    "metric 'r2' does not fit targets that are classes": lambda: Data.from_arrays(X, Y, metrics=["r2"]),
    "loss is the class MSELoss; give a name (mse, mae), or a function (outputs, targets) → number, as MSELoss()": (
        lambda: Data.from_arrays(X, X[:, 0], loss=torch.nn.MSELoss)
    ),
    "metric is the class CrossEntropyLoss; give a name (accuracy, cross_entropy), or a function": (
        lambda: Data.from_arrays(X, Y, metrics=[torch.nn.CrossEntropyLoss])
    ),
    "metrics has two of the name '<lambda>'; give functions by name": (
        lambda: Data.from_arrays(X, Y, metrics=eval("[lambda o, t: 1.0, lambda o, t: 2.0]"))
    ),
    "metrics has two of the name 'HuberLoss()'": (
        lambda: Data.from_arrays(X, X[:, 0], metrics=[torch.nn.HuberLoss(delta=delta) for delta in (1.0, 5.0)])
    ),
    "a metric has the name 'loss'; give words, and none of": lambda: Data.from_arrays(X, Y, metrics={"loss": min}),
    "a metric has the name 1; give words": lambda: Data.from_arrays(X, Y, metrics={1: "accuracy"}),
    "unknown loss 'hinge'": lambda: Data.from_arrays(X, Y, loss="hinge"),
    "has no split 'dev'": lambda: Data.from_arrays(X, Y).split("dev"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_used_is_said_in_one_line(said):
    with pytest.raises(lab.ArgumentError) as error:
        WRONG[said]()
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": [1.0, 2.0] * 20, "l": [[1, 2]] * 40}, "column 'l' holds a list in a cell.*drop=..l.."),
        ({"a": [1.0, 2.0] * 20, "m": [{}] * 40}, "column 'm' holds a dict"),
    ],
)
def test_cells_that_are_no_values_are_said(columns, said):
    with pytest.raises(lab.ArgumentError, match=said):
        Data.read(pd.DataFrame(columns | {"y": [0, 1] * 20}), target="y")


def test_columns_of_one_name_are_said():
    table = pd.DataFrame(np.ones((40, 3)), columns=["a", "a", "y"])
    with pytest.raises(lab.ArgumentError, match="2 columns are called 'a'"):
        Data.read(table, target="y")


GAP = np.ma.masked_array(X, mask=np.arange(480).reshape(120, 4) == 9)  # row 2, column 1


@pytest.mark.parametrize(
    ("inputs", "targets", "given", "said"),
    [
        (GAP, Y, {}, "X has 1 masked values, the first in row 2; drop"),
        (list(GAP), Y, {}, "X has 1 masked values, the first in row 2"),
        ({"a": X, "b": GAP}, Y, {}, r"X\['b'\] has 1 masked"),
        (X, np.ma.masked_equal(Y, 1), {}, "y has 40 masked values, the first in row 1"),
        (X, Y, {"groups": np.ma.masked_equal(Y, 1)}, "groups has 40 masked"),
    ],
)
def test_a_mask_is_never_lost(inputs, targets, given, said):
    with pytest.raises(lab.ArgumentError, match=said):
        Data.from_arrays(inputs, targets, **given)


def test_a_masked_array_without_a_mask_is_its_numbers():
    assert Data.from_arrays(np.ma.masked_array(X), Y).digest == Data.from_arrays(X, Y).digest


def test_masked_rows_of_a_data_set_and_masked_points_of_a_probe_are_refused():
    with pytest.raises(lab.ArgumentError, match="x has 1 masked values, the first in row 2"):
        Data.from_dataset([{"x": row, "label": y} for row, y in zip(GAP, Y.tolist(), strict=True)])
    with pytest.raises(lab.ArgumentError, match="points has masked values"):
        lab.probes.total_variation(lambda x: x[:, 0], GAP)


@pytest.mark.parametrize(
    ("inputs", "targets", "said"),
    [
        (pd.DataFrame(X).astype("Float64").where(X > -2), Y, "X has .* NaN"),
        (X, pd.Series(Y).astype("Int64").where(Y > 0), "y has 40 "),
        (X, pd.Series(np.array(["a", "b", "c"])[Y], dtype="string").where(Y > 0), "y has 40 targets missing.*row 0"),
    ],
)
def test_what_pandas_calls_missing_is_missing(inputs, targets, said):
    with pytest.raises(lab.ArgumentError, match=said):
        Data.from_arrays(inputs, targets)
