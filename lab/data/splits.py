"""Disjoint splits of rows: with the same shares of classes in each, or with whole groups in each; and what is said of
them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from torch import Tensor

from lab.data.arrays import array, is_missing
from lab.errors import ArgumentError, check_type, check_whole, listed, shortened, shown

TRAIN = "train"
SEEN = ("train", "search")  # the splits that models train on
DEFAULT_SPLITS = {"search": 0.2, "val": 0.1, "test": 0.1}
MOST_SEED = 2**31  # scikit-learn takes less than 2³², and each split has a seed of its own
DRAWS = 200  # of groups, until the training rows have every class
LARGEST = 50_000_000, 200_000  # numbers and rows: what is looked through for repeats in a second


def divide(
    given: Mapping[str, Any],
    count: int,
    labels: np.ndarray | None = None,
    groups: Any = None,
    seed: int = 0,
    classes: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """Sorted row indices by split; "train" is what is left, where it is not given.

    given: by name a share (0 to 1), a number of rows (of groups: shares alone), or the rows: indices, or a mask.
    labels: (count,), whose shares are kept. groups: (count,), which stay together; ArgumentError where given rows part
    one. seed: 0 to `MOST_SEED`.

    >>> {name: len(rows) for name, rows in divide({"val": 0.25, "test": 10}, 40).items()}
    {'val': 10, 'test': 10, 'train': 20}
    """
    check_type("splits", given, Mapping, "shares by name, as {'search': .2, 'val': .1, 'test': .1}")
    check_whole("seed", seed, 0, MOST_SEED)
    groups = None if groups is None else group_numbers(groups, count)
    fixed = {name: _rows(name, part, count) for name, part in given.items() if not isinstance(part, Real)}
    for name, other, shared in _shared(fixed):
        raise ArgumentError(f"splits {other!r} and {name!r} share {len(shared)} rows, the first {shared[0]}")
    free = np.setdiff1d(np.arange(count), np.concatenate([np.array([], int), *fixed.values()]))
    sizes = {name: _size(name, part, len(free)) for name, part in given.items() if name not in fixed}
    said = "splits of " + ", ".join(f"{name} {size}" for name, size in sizes.items())
    if sizes.get(TRAIN) is None and sum(sizes.values()) >= len(free) and TRAIN not in fixed:
        raise ArgumentError(f"{said} take all {len(free)} rows, and none is left to train on; give smaller ones")
    if sum(sizes.values()) > len(free):
        raise ArgumentError(f"{said} need more rows than the {len(free)} there are; give fewer")
    if groups is not None and len(free):
        shares = {name: size / len(free) for name, size in sizes.items()}
        splits = _with_every_class(shares, free, groups, seed, labels, fixed.get(TRAIN), classes)
    else:
        splits = _drawn(sizes, free, labels, seed, classes)
    splits = {name: np.array([], int) for name in given} | splits | fixed
    if empty := [name for name, rows in splits.items() if not len(rows)]:
        raise ArgumentError(f"split {empty[0]!r} would have no row of {count}; give more rows, or another share")
    for name, other, shared in _shared(splits, groups) if groups is not None else ():
        said = f"splits= gives rows that part {len(shared)} of the groups between {other!r} and {name!r}"
        raise ArgumentError(f"{said}; give all rows of a group to one split")
    return {name: np.sort(rows).astype(np.int64) for name, rows in splits.items()}


def _drawn(
    sizes: Mapping[str, int], free: np.ndarray, labels: np.ndarray | None, seed: int, classes: Sequence[str]
) -> dict[str, np.ndarray]:
    from sklearn.model_selection import train_test_split

    splits, left = {}, free
    if labels is not None and sizes:
        counts, needed = np.bincount(labels[free]), len(sizes) + (TRAIN not in sizes)
        if len(rare := np.flatnonzero((counts > 0) & (counts < needed))):
            said = f"class {classes[rare[0]] if len(classes) else rare[0]} has {counts[rare[0]]} rows"
            raise ArgumentError(f"{said}, fewer than the {needed} splits; join rare classes or drop them")
    for number, (name, size) in enumerate(sizes.items()):
        if size == len(left):
            splits[name], left = left, left[:0]
            continue
        strata = None if labels is None else labels[left]
        try:
            left, splits[name] = train_test_split(left, test_size=size, random_state=seed + number, stratify=strata)
        except ValueError as error:
            said = f"split {name!r} of {size} rows cannot have every class ({shortened(str(error))})"
            raise ArgumentError(f"{said}; give it more rows") from error
    return splits | ({TRAIN: left} if TRAIN not in sizes and len(left) else {})


def _with_every_class(
    shares: Mapping[str, float],
    free: np.ndarray,
    groups: np.ndarray,
    seed: int,
    labels: np.ndarray | None,
    train: np.ndarray | None,
    classes: Sequence[str],
) -> dict[str, np.ndarray]:
    """Groups drawn until the training rows have every class; ArgumentError where no draw has."""
    splits = _grouped(shares, free, groups, seed)
    if labels is None or train is not None or not shares:
        return splits
    for number in range(1, DRAWS + 1):
        if not len(lacking := np.setdiff1d(labels[free], labels[splits.get(TRAIN, free[:0])])):
            return splits
        splits = _grouped(shares, free, groups, seed + 1000 * number)
    name = classes[lacking[0]] if len(classes) else lacking[0]
    raise ArgumentError(f"class {name} is in no row to train on, since groups stay together; give more groups of it")


def _grouped(shares: Mapping[str, float], free: np.ndarray, groups: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    from sklearn.model_selection import GroupShuffleSplit

    splits, left, rest = {}, free, 1.0
    needed = len(shares) + (TRAIN not in shares)
    if (there := len(np.unique(groups[free]))) < needed:
        raise ArgumentError(f"groups has {there} groups, fewer than the {needed} splits; give more")
    for number, (name, share) in enumerate(shares.items()):
        if share >= rest - 1e-9:
            splits[name], left = left, left[:0]
            continue
        try:
            cut = GroupShuffleSplit(n_splits=1, test_size=share / rest, random_state=seed + number)
            keep, out = next(cut.split(left, groups=groups[left]))
        except ValueError as error:
            raise ArgumentError(f"split {name!r} gets no whole group ({shortened(str(error))})") from error
        splits[name], left, rest = left[out], left[keep], rest - share
    return splits | ({TRAIN: left} if TRAIN not in shares and len(left) else {})


def group_numbers(groups: Any, count: int) -> np.ndarray:
    """A number for each of the groups of `count` rows, whatever they are called; none may be missing."""
    given = array(groups, "groups")
    if given.shape != (count,):
        raise ArgumentError(f"groups has shape {given.shape}; give one for each of {count} rows")
    times = given.astype(object) if given.dtype.kind in "mM" else given  # as numbers, none at all would be one
    missing = [row for row, group in enumerate(times.tolist()) if is_missing(group) or not str(group).strip()]
    if missing:
        said = f"{len(missing)} of {count} groups are missing, the first in row {missing[0]}"
        raise ArgumentError(f"{said}; leave these rows out, or give each a group")
    try:
        return np.unique(given, return_inverse=True)[1]
    except TypeError:  # of types that have no order
        known = {group: number for number, group in enumerate(dict.fromkeys(given.tolist()))}
        return np.array([known[group] for group in given.tolist()])


def of_labelled(given: Mapping[str, Any], labelled: np.ndarray) -> dict[str, Any]:
    """Splits of all rows as those of the rows that have a label, (N,) bool.

    >>> of_labelled({"val": 0.5, "test": [1, 2]}, np.array([True, False, True]))
    {'val': 0.5, 'test': array([1])}
    """
    check_type("splits", given, Mapping, "shares by name, as {'search': .2, 'val': .1, 'test': .1}")
    place, splits = np.cumsum(labelled) - 1, dict(given)
    for name, part in given.items():
        if isinstance(part, Real):
            continue
        rows = _rows(name, part, len(labelled))
        splits[name] = place[rows[labelled[rows]]]
        if not len(splits[name]):
            raise ArgumentError(f"split {name!r} has no row with a label; leave it out, and it is drawn anew")
    return splits


def unseen(targets: Tensor, rows: Mapping[str, Tensor], classes: Sequence[str]) -> tuple[str, ...]:
    """A line where a split has classes that no row to train on has.

    >>> import torch
    >>> unseen(torch.tensor([0, 1, 0]), {"train": torch.tensor([0]), "test": torch.tensor([1, 2])}, ("cat", "dog"))
    ('classes of test that no row to train on has: dog',)
    """
    if targets.numel() > LARGEST[0]:
        return ()
    trained = [targets[rows[name]].flatten() for name in SEEN if name in rows]
    known = set(np.unique(np.concatenate(trained)).tolist()) if trained else set()
    lines = []
    for name in rows:
        new = [classes[one] for one in np.unique(targets[rows[name]]) if one >= 0 and one not in known]
        if new and name not in SEEN:
            lines.append(f"classes of {name} that no row to train on has: {listed(new)}")
    return tuple(lines)


def repeats(inputs: Tensor | Mapping[str, Tensor], rows: Mapping[str, Tensor]) -> tuple[str, ...]:
    """A line where inputs of `test` are also in `train` or `search`: a test that includes them measures what was
    remembered. Nothing is looked for in large data.

    >>> import torch
    >>> inputs = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    >>> repeats(inputs, {"train": torch.tensor([0]), "test": torch.tensor([1, 2])})
    ('1 of 2 test examples has inputs that are in train, too',)
    """
    parts = [inputs] if isinstance(inputs, Tensor) else list(inputs.values())
    trained = [name for name in SEEN if name in rows]
    is_large = sum(part.numel() for part in parts) > LARGEST[0] or len(parts[0]) > LARGEST[1]
    if not trained or "test" not in rows or is_large:
        return ()
    known = set().union(*(_hashes(parts, rows[name]) for name in trained))
    tested = _hashes(parts, rows["test"])
    if not (count := sum(one in known for one in tested)):
        return ()
    have, where = "has" if count == 1 else "have", " or ".join(trained)
    return (f"{count} of {len(tested)} test examples {have} inputs that are in {where}, too",)


def _hashes(parts: list[Tensor], index: Tensor) -> list[int]:
    """A number for each of these rows, the same for equal rows."""
    columns = [np.ascontiguousarray(part[index].reshape(len(index), -1).numpy()) for part in parts]
    return [hash(tuple(column[row].tobytes() for column in columns)) for row in range(len(index))]


def _rows(name: str, part: Any, count: int) -> np.ndarray:
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (count,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
        raise ArgumentError(f"splits[{name!r}]={shown(part)}: give a share, a number of rows, their indices or a mask")
    if rows.min() < 0 or rows.max() >= count or len(np.unique(rows)) != len(rows):
        raise ArgumentError(f"splits[{name!r}]: give each row once, from 0 to {count - 1}")
    return rows.astype(np.int64)


def _size(name: str, part: Any, count: int) -> int:
    if isinstance(part, Integral) and not isinstance(part, bool) and int(part) >= 1:
        return int(part)
    if isinstance(part, bool) or not isinstance(part, Real) or not 0 < float(part) < 1:
        raise ArgumentError(f"splits[{name!r}]={shown(part)}: give a share between 0 and 1, or a number of rows")
    size = round(float(part) * count)
    if not size:
        raise ArgumentError(f"split {name!r} of {part:g} would have no row of {count}; give a larger share")
    return size


def _shared(
    splits: Mapping[str, np.ndarray], groups: np.ndarray | None = None
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Each two splits that have rows in common, or groups, with those."""
    for other, name in combinations(splits, 2):
        one, two = (splits[key] if groups is None else groups[splits[key]] for key in (name, other))
        if len(shared := np.intersect1d(one, two)):
            yield name, other, shared
