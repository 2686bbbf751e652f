"""Publishers' formats, on files made here byte by byte; tables made as the benchmark makes them; digests."""

import gzip
import io
import struct
import tarfile

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat, savemat

from lab.data import convert
from lab.data.download import unpacked

MOST = 1_000_000


def pixels(*shape, seed=0, high=256):
    return np.random.default_rng(seed).integers(0, high, shape, dtype=np.uint8)


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_idx_files_are_read_and_a_cut_one_is_refused():
    arrays = [pixels(7, 5, 4), pixels(7, high=10), pixels(3, 5, 4, seed=1), pixels(3, seed=1, high=10)]
    files = {f"{name}.gz": gzip.compress(idx(a)) for name, a in zip(convert.IDX, arrays, strict=True)}
    found = convert.idx_images(unpacked(files, MOST))
    for name, array in zip(("train_images", "train_labels", "test_images", "test_labels"), arrays, strict=True):
        assert found[name].dtype == np.uint8 and (found[name] == array).all()
    for broken in (idx(arrays[0])[:-1], b"\0\0\x09\1" + b"\0\0\0\1\0", b"<html>no such page</html>"):
        with pytest.raises(ValueError, match="not an IDX file"):
            convert.idx(broken)


def test_cifar_is_read_from_its_batches_in_order():
    images, labels = pixels(12, 32, 32, 3), pixels(12, high=10)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
        for number, name in reversed(list(enumerate(names))):
            rows = slice(2 * number, 2 * number + 2)
            planes = images[rows].transpose(0, 3, 1, 2).reshape(2, -1)
            content = np.concatenate([labels[rows, None], planes], 1).tobytes()
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    found = convert.cifar_images(unpacked({"cifar-10-binary.tar.gz": gzip.compress(archive.getvalue())}, MOST))
    assert (found["train_images"] == images[:10]).all() and (found["test_images"] == images[10:]).all()
    assert (found["train_labels"] == labels[:10]).all() and (found["test_labels"] == labels[10:]).all()


def test_svhn_calls_the_digit_zero_zero():
    files, made = {}, {}
    for part in ("train", "test"):
        made[part] = pixels(4, 32, 32, 3, seed=len(part))
        content = io.BytesIO()
        savemat(content, {"X": made[part].transpose(1, 2, 3, 0), "y": np.array([[10], [1], [9], [10]], np.uint8)})
        files[f"{part}_32x32.mat"] = content.getvalue()
    found = convert.svhn_images(files)
    for part in made:
        assert (found[f"{part}_images"] == made[part]).all() and found[f"{part}_labels"].tolist() == [0, 1, 9, 0]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("y", [np.array([[10], [1]], np.uint8), np.array([[10.0, 0.5]]), np.array([[-300], [2**40]])])
def test_a_matlab_file_is_read_as_scipy_reads_it(packed, y):
    content = io.BytesIO()
    savemat(content, {"X": pixels(5, 4, 3, 2), "y": y, "a_longer_name": y.T}, do_compression=packed)
    found, meant = convert.matlab(content.getvalue()), loadmat(content)
    assert set(found) == {"X", "y", "a_longer_name"}
    for name, array in found.items():
        assert array.shape == meant[name].shape and (array == meant[name]).all()


def test_a_digest_is_of_the_content_alone():
    arrays = {"a": pixels(4, 3), "b": np.arange(5, dtype=np.float32)}
    own = convert.digest(arrays)
    big = {"b": arrays["b"].astype(">f4"), "a": np.asfortranarray(arrays["a"]), "rows": np.arange(3)}
    assert convert.digest(big) == own
    different = [
        arrays | {"a": arrays["a"] ^ np.eye(4, 3, dtype=np.uint8)},
        arrays | {"a": arrays["a"].reshape(3, 4)},
        arrays | {"b": arrays["b"].astype(np.float64)},
        {"a": arrays["a"], "c": arrays["b"]},
        arrays | {"more": np.zeros(1)},
    ]
    assert len({own, *map(convert.digest, different)}) == 6


def raw(rows=400):
    """A table with three classes, 200 : 120 : 80, and a column of every kind that has to go."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "kept": random.normal(size=rows),
            "few": random.integers(0, 9, rows),
            "words": random.choice(list("xyz"), rows),
            "empty": np.where(random.random(rows) < 0.8, np.nan, random.normal(size=rows)),
            "holes": random.normal(size=rows),
            "number": np.arange(rows),
            "class": ["often"] * 200 + ["rare"] * 80 + ["seldom"] * 120,
        }
    )
    frame.loc[[0, 205, 390], "holes"] = np.nan
    return frame


def csv(frame):
    return {"table.csv": frame.to_csv(index=False).encode()}


def test_a_table_is_made_as_the_benchmark_makes_it():
    frame = raw()
    found = convert.raw_table(csv(frame), label="class", drop=("number",))
    assert found["columns"].tolist() == ["kept", "holes"] and found["inputs"].dtype == np.float32
    whole = frame[frame["holes"].notna()].set_index(frame.loc[frame["holes"].notna(), "kept"].astype(np.float32))
    names = whole.loc[found["inputs"][:, 0], "class"]
    assert names.value_counts().to_dict() == {"often": 119, "seldom": 119}  # one of each had a hole
    assert (found["labels"] == (names == "seldom")).all()  # in alphabetical order
    assert len(np.unique(found["inputs"][:, 0])) == 238 and not np.isnan(found["inputs"]).any()
    kept = convert.raw_table(csv(frame), label=-1)
    assert kept["columns"].tolist() == ["kept", "holes", "number"]  # `few` has nine values


def test_one_class_against_all_others():
    found = convert.raw_table(csv(raw()), label="class", one="seldom")
    number = found["inputs"][:, found["columns"].tolist().index("number")]
    assert ((number >= 280) == (found["labels"] == 1)).all() and found["labels"].mean() == 0.5


def test_balancing_cuts_the_larger_class_at_random_and_keeps_the_smaller_one():
    labels = np.array(["b"] * 300 + ["a"] * 100 + ["c"] * 7)
    rows = convert.balanced(labels)
    assert sorted(rows[100:]) == list(range(300, 400)) and len(set(rows[:100])) == 100 and max(rows[:100]) < 300
    assert abs(rows[:100].mean() - 149.5) < 4 * (300**2 / 12 / 100) ** 0.5
    assert (convert.balanced(labels) == rows).all()


def test_an_upload_of_the_benchmark_is_taken_as_it_is():
    frame = pd.DataFrame({"x": [3.0, 1.0, 2.0], "few": [0, 0, 1], "label": ["P", "N", "P"]})
    found = convert.benchmark_table(csv(frame))
    assert found["inputs"].tolist() == [[3, 0], [1, 0], [2, 1]] and found["labels"].tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="3 classes"):
        convert.benchmark_table(csv(pd.DataFrame({"x": [1, 2, 3], "label": [0, 1, 2]})))
