"""From the files that publishers give out to arrays, the one form in which the lab keeps a data set; and samples.

Images are `train_images`, `test_images`: uint8 (N, H, W) or (N, H, W, 3), with `train_labels`, `test_labels`: uint8
(N,), 0..9. Tables are `inputs`: float32 (N, D), and `labels`: uint8 (N,), 0 or 1, with the names of their `columns`.
"""

import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, cast

import numpy as np

from lab.data.download import Files, check_zip
from lab.data.shape import Arrays, unusable

NOTES = ("columns", "train_rows", "test_rows", "rows")  # kept beside the data, and no part of it
IMAGES = ("train_images", "train_labels", "test_images", "test_labels")
TABLE = ("inputs", "labels", "columns")
SAMPLE_IMAGES = {"train": 5_000, "test": 1_000}
SAMPLE_ROWS = 20_000
FIRST = {"train": 4_000, "test": 1_000}  # of cifar10_4k1k
MATRIX, PACKED = 14, 15  # kinds of elements of a MATLAB 5 file, and its types of numbers
NUMBERS = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def digest(arrays: Arrays) -> str:
    """SHA-256 of names, shapes, types and values: of the content, however the file is compressed.

    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros(2), "columns": np.array(["x"])})
    True
    """
    hasher = hashlib.sha256()
    for name in sorted(set(arrays) - set(NOTES)):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        hasher.update(f"{name} {little.dtype.str} {little.shape}\n".encode() + little.tobytes())
    return hasher.hexdigest()


def idx_images(files: Files) -> Arrays:
    """MNIST's own format: a header of 4 bytes and one big-endian size an axis, then bytes."""
    return {name: idx(files[file]) for name, file in zip(IMAGES, IDX, strict=True)}


def idx(content: bytes) -> np.ndarray:
    """One IDX file of bytes as an array."""
    axes = content[3] if content[:3] == b"\0\0\x08" else 0
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start], ">u4") if len(content) > start > 4 else np.array([0])
    if len(content) != start + shape.prod(dtype=np.int64):
        raise ValueError("not an IDX file of bytes, or cut short")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def cifar_images(files: Files) -> Arrays:
    """CIFAR-10, the binary version: rows of a label and 3 × 32 × 32 bytes, in five batches and one for testing."""
    arrays = {}
    with tarfile.open(fileobj=io.BytesIO(files["cifar-10-binary.tar"])) as archive:
        members = {member.name.split("/")[-1]: member for member in archive.getmembers()}
        for part, names in {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}.items():
            opened = (cast(IO[bytes], archive.extractfile(members[name])) for name in names)
            content = b"".join(file.read() for file in opened)
            rows = np.frombuffer(content, np.uint8).reshape(-1, 3073)
            arrays[f"{part}_images"] = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
            arrays[f"{part}_labels"] = rows[:, 0].copy()
    return arrays


def svhn_images(files: Files) -> Arrays:
    """SVHN, cropped digits: MATLAB files with X (32, 32, 3, N) and y (N, 1), where 10 stands for the digit 0."""
    arrays = {}
    for part in ("train", "test"):
        content = matlab(files[f"{part}_32x32.mat"])
        arrays[f"{part}_images"] = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2))
        arrays[f"{part}_labels"] = (content["y"].ravel() % 10).astype(np.uint8)
    return arrays


def matlab(content: bytes) -> Arrays:
    """The arrays of a MATLAB 5 file, little-endian, by name. scipy.io.loadmat reads more kinds; of a damaged file it
    reads memory that is not its own."""
    if content[126:128] != b"IM":
        raise ValueError("not a MATLAB 5 file, little-endian")
    arrays = {}
    for kind, data in _elements(memoryview(content)[128:]):
        if kind == PACKED:
            kind, data = next(_elements(memoryview(zlib.decompress(data))))
        if kind == MATRIX:
            _, (_, shape), (_, name), (number, values) = _elements(data)
            axes = np.frombuffer(shape, "<i4")
            arrays[bytes(name).decode("ascii")] = np.frombuffer(values, NUMBERS[number]).reshape(axes, order="F")
    return arrays


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Kinds and data of elements one after the other: each begins at a multiple of 8 bytes, but behind packed ones."""
    at = 0
    while at < len(data):
        kind, size = (int(number) for number in np.frombuffer(data, "<u4", 2, at))
        start, end = at + 8, at + 8 + size + (0 if kind == PACKED else -size % 8)
        if kind >> 16:  # a short one: kind, size and data in 8 bytes
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if start + size > len(data):
            raise ValueError("cut short")
        yield kind, data[start : start + size]
        at = end


def npz(files: Files, most: int, names: Sequence[str] = ()) -> Arrays:
    """The lab's own form. most: bytes of all arrays. names: of those that are kept, where not all are."""
    (content,) = files.values()
    check_zip(content, most)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in names or arrays.files if name in arrays}


def benchmark_table(files: Files) -> Arrays:
    """A table as the benchmark uploaded it: nothing is left to do, the label is the last column.

    Raises ValueError for a value that is missing or no number: the benchmark's tables have none.
    """
    frame = _frame(files)
    if frame.shape[1] < 2 or not len(frame):
        raise ValueError(f"{len(frame)} rows and {frame.shape[1]} columns; a table has rows, inputs and a label behind")
    return _table(frame.iloc[:, :-1], frame.iloc[:, -1])


def raw_table(files: Files, label: str | int = -1, one: str | None = None, drop: tuple[str, ...] = (), **reading):
    """A table made from the publisher's as the benchmark makes its own (reference: its `preprocessing.py`).

    Columns that are not numbers, have fewer than 10 different values or lack more than 70 % of them go, then rows
    with a missing value; the two most frequent classes stay, the larger one cut at random to the size of the other.

    one: with it, the classes are this one and all the others.
    """
    frame = _frame(files, **reading).drop(columns=list(drop))
    at = frame.columns[label] if isinstance(label, int) else label
    labels, inputs = frame[at], frame.drop(columns=at).select_dtypes("number")
    if one is not None:
        labels = (labels.astype(str) == one).astype(int)
    inputs = inputs.loc[:, (inputs.nunique() >= 10) & (inputs.isna().mean() <= 0.7)]
    whole = inputs.notna().all(axis=1) & labels.notna()
    inputs, labels = inputs[whole], labels[whole]
    rows = balanced(labels.to_numpy())
    return _table(inputs.iloc[rows], labels.iloc[rows])


def balanced(labels: np.ndarray) -> np.ndarray:
    """Rows of the two most frequent classes, as many of each: first those of the larger one, then of the smaller.

    The larger class is cut to the other's size at random, from the legacy generator that the benchmark uses: with it,
    bank-marketing and MagicTelescope come out as the benchmark has them, row by row.
    """
    classes, counts = np.unique(labels, return_counts=True)
    less, more = np.argsort(counts)[-2:]
    rows = np.flatnonzero(labels == classes[less])
    random = np.random.RandomState(0)  # noqa: NPY002  the benchmark's own
    return np.concatenate([random.choice(np.flatnonzero(labels == classes[more]), len(rows), replace=False), rows])


def _table(inputs, labels) -> Arrays:
    if missing := int(labels.isna().sum()):
        raise ValueError(f"{missing:,} of {len(labels):,} labels are missing")
    classes, codes = np.unique(labels.to_numpy().astype(str), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"{len(classes)} classes in the last column, not 2")
    if words := [str(name) for name in inputs.columns.difference(inputs.select_dtypes(["number", "bool"]).columns)]:
        raise ValueError(f"no numbers in {'column' if len(words) == 1 else 'columns'} {', '.join(words[:5])}")
    columns = np.array([str(name) for name in inputs.columns])
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is named below
        arrays = {"inputs": inputs.to_numpy(np.float32, na_value=np.nan), "labels": codes.astype(np.uint8)}
    arrays["columns"] = columns
    if holes := unusable(arrays):
        raise ValueError(holes)
    return arrays


def _frame(files: Files, **reading):
    import pandas as pd

    ((name, content),) = files.items()
    if not name.endswith(".parquet"):
        try:
            return pd.read_csv(io.BytesIO(content), low_memory=False, **reading)
        except UnicodeDecodeError as error:
            raise ValueError(f"no text in UTF-8: byte {error.start:,} is {error.object[error.start]:#x}") from error
    return pd.read_parquet(io.BytesIO(content))


def sample(name: str, whole: Arrays) -> Arrays:
    """The sample of that name from its original.

    Its rows are those of numpy's PCG64 with seed 0: a permutation of the rows of each split, of a table of each class;
    its first rows, in ascending order. They are kept in the file, so a sample can be compared with its original.
    """
    random = np.random.Generator(np.random.PCG64(0))

    def some(total: int, count: int) -> np.ndarray:
        return np.sort(random.permutation(total)[:count]).astype(np.int32)

    if name == "cifar10_4k1k":
        parts = [(f"{part}_{what}", count) for part, count in FIRST.items() for what in ("images", "labels")]
        return {key: whole[key][:count] for key, count in parts}
    if "inputs" in whole:
        classes = [np.flatnonzero(whole["labels"] == label) for label in (0, 1)]
        rows = np.sort(np.concatenate([of[some(len(of), SAMPLE_ROWS // 2)] for of in classes])).astype(np.int32)
        columns = {"columns": whole["columns"]} if "columns" in whole else {}
        return {key: whole[key][rows] for key in ("inputs", "labels")} | columns | {"rows": rows}
    arrays: dict[str, np.ndarray] = {}
    for part, count in SAMPLE_IMAGES.items():
        rows = some(len(whole[f"{part}_images"]), count)
        arrays |= {f"{part}_{what}": whole[f"{part}_{what}"][rows] for what in ("images", "labels")}
        arrays[f"{part}_rows"] = rows
    return arrays
