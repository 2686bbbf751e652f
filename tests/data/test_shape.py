"""What does not fit the catalogue is named: sizes, types, classes, and values that are no numbers."""

import numpy as np
import pytest

from lab.data.shape import ImageShape, TableShape, unusable

TABLE = TableShape(40, 3)
IMAGES = ImageShape(20, 10, (4, 5))


def table(rows=40, columns=3, ones=20):
    inputs = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    return {"inputs": inputs, "labels": (np.arange(rows) < ones).astype(np.uint8)}


def images():
    random = np.random.default_rng(0)
    found = {}
    for part, count in (("train", 20), ("test", 10)):
        found[f"{part}_images"] = random.integers(0, 256, (count, 4, 5), dtype=np.uint8)
        found[f"{part}_labels"] = (np.arange(count) % 10).astype(np.uint8)
    return found


def holed(value=np.nan):
    arrays = table() | {"columns": np.array(["a", "b", "c"])}
    arrays["inputs"][5:9, 1] = value
    return arrays


def test_what_fits_is_not_complained_of():
    assert TABLE.misfit(table()) == TABLE.misfit(table() | {"columns": np.array(["a", "b", "c"])}) == ""
    assert IMAGES.misfit(images()) == ""


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (table(rows=38, ones=19), "38 rows, not 40"),
        (table(columns=2), "2 columns of inputs, not 3"),
        (table(ones=1), "39 rows of one class and 1 of the other"),
        (table(ones=40), "0 rows of one class and 40"),
        (table() | {"labels": table()["labels"] * 2}, "classes other than 0 and 1"),
        (table() | {"labels": table(rows=44, ones=22)["labels"]}, "44 labels, not 40"),
        (table() | {"inputs": table()["inputs"].astype(np.float64)}, "inputs is float64 of shape"),
        (table() | {"inputs": table()["inputs"][:, 0]}, r"inputs is float32 of shape \(40,\), not float32 with 2 axes"),
        (table(rows=0), "not float32 with 2 axes"),
        (table() | {"columns": np.array(["a"])}, "names of columns"),
        (table() | {"columns": np.zeros(3)}, "names of columns"),
        ({"labels": table()["labels"]}, "no array 'inputs' among 'labels'"),
        ({}, "no array 'inputs' among none"),
        (holed(), "4 values missing or infinite in column 'b'"),
        (holed(-np.inf), "4 values missing or infinite in column 'b'"),
    ],
)
def test_a_table_that_does_not_fit(arrays, said):
    found = TABLE.misfit(arrays)
    assert found and "\n" not in found
    pytest.raises(ValueError, _raise, found).match(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"train_images": images()["train_images"][:7]}, "7 train images, not 20"),
        ({"test_images": images()["test_images"].transpose(0, 2, 1)}, "test images of 5×4 pixels, not 4×5"),
        ({"test_images": images()["test_images"][..., None]}, "not uint8 with 3 axes"),
        ({"train_labels": images()["test_labels"]}, "10 train labels, not 20"),
        ({"test_labels": images()["test_labels"] + np.uint8(1)}, "test labels that are not the ten classes"),
        ({"test_labels": images()["test_labels"] // 2}, "test labels that are not the ten classes"),
        ({"train_labels": images()["train_labels"].astype(float)}, "train_labels is float64"),
    ],
)
def test_images_that_do_not_fit(changes, said):
    pytest.raises(ValueError, _raise, IMAGES.misfit(images() | changes)).match(said)


def test_of_many_columns_with_holes_four_are_named():
    arrays = {"inputs": np.full((3, 9), np.nan, np.float32)}
    found = unusable(arrays)
    assert found.startswith("3 values missing or infinite in column '0', 3 in column '1'")
    assert found.endswith("and more in 5 other columns")


def _raise(text):
    raise ValueError(text)
