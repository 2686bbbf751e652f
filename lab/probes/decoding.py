"""Linear decoders of labels from codes, tested on combinations that were not in training; and of two groups of codes.

A decoder of many numbers finds something in any of them. So every score has two controls: that of the best constant
answer (`chance`), and that of the same decoder after training on shuffled labels.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.data.targets import in_order
from lab.errors import ArgumentError, check_flag, check_number, check_whole, listed
from lab.picture import HasPicture
from lab.probes import arguments
from lab.probes.codes import as_codes

LEVEL = 0.95  # of the bootstrap intervals
SPLITS_TRIED = 100  # random splits of the groups, until one has every class on both sides
ITERATIONS = 2000  # of the solver, at most: standardized codes take some tens
LEAST = 8  # examples of either group
REGIONS = 20  # pairs of other regions to compare with
CENTRES = 40  # pairs of centres that are looked at for each


@dataclass(frozen=True, eq=False)
class Score:
    """A score of a decoder on the test examples, with its controls; one number, or one for each of C classes.

    value, low, high (…): with the 95 % bootstrap interval over test groups. NaN for a class that neither is nor is said
    to be in the test, and for the interval where there is one test group.
    chance (…): of the best constant answer, chosen with the test labels known.
    shuffled (shuffles, …): of the same decoder trained on shuffled labels.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    chance: np.ndarray
    shuffled: np.ndarray

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{len(self.value)} scores"
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}], chance {self.chance:.3g}"


def scored(
    answers: np.ndarray,
    truth: np.ndarray,
    group: np.ndarray,
    shuffled: Sequence[np.ndarray],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Score, Score, Score]:
    """Accuracy of whole examples, accuracy by class and F1 by class.

    answers, truth (tests, C) bool: who is said to be in which class, and who is. group (tests,): drawn together in the
    bootstrap. shuffled: the answers of each decoder that was trained on shuffled labels.
    """
    group = np.unique(group, return_inverse=True)[1]
    per_group = _sums(answers, truth, group)
    again = zip(*(_read(_sums(guesses, truth, group).sum(0)) for guesses in shuffled), strict=True)
    low, high = _bootstrap(per_group, resamples, rng)
    parts = zip(_read(per_group.sum(0)), low, high, _chance(truth), map(np.stack, again), strict=True)
    whole, accuracy, f1 = (Score(*score) for score in parts)
    return whole, accuracy, f1


def _sums(answers: np.ndarray, truth: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The counts of which scores are made, added up by group: (groups, 2 + 3 C)."""
    right = answers == truth
    parts = [np.ones((len(truth), 1)), right.all(1)[:, None], right, answers & truth, answers * 1.0 + truth]
    sums = np.zeros((group.max() + 1, 2 + 3 * truth.shape[1]))
    np.add.at(sums, group, np.concatenate(parts, axis=1))
    return sums


def _read(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy (…), accuracy by class and F1 (…, C) from sums (…, 2 + 3 C)."""
    examples, right = sums[..., 0], sums[..., 1]
    by_class, both, either = np.split(sums[..., 2:], 3, axis=-1)
    f1 = np.divide(2 * both, either, out=np.full_like(both, np.nan), where=either > 0)
    return right / examples, by_class / examples[..., None], f1


def _chance(truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the most frequent label; of yes or no to all, whichever is better; F1 of yes to all, 2 p / (1 + p)."""
    share = truth.mean(0)
    most = np.unique(truth, axis=0, return_counts=True)[1].max() / len(truth)
    return np.asarray(most), np.maximum(share, 1 - share), 2 * share / (1 + share)


def _bootstrap(per_group: np.ndarray, resamples: int, rng: np.random.Generator) -> tuple[list, list]:
    """Low and high ends of the three scores; groups are drawn, not examples, since those of one group are alike."""
    number = len(per_group)
    if number < 2:
        nothing = [np.full_like(score, np.nan) for score in _read(per_group.sum(0))]
        return nothing, nothing
    drawn = np.stack([np.bincount(rng.integers(number, size=number), minlength=number) for _ in range(resamples)])
    return tuple(zip(*(_ends(score) for score in _read(drawn @ per_group)), strict=True))


def _ends(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the interval over the first axis; resamples without an example of a class say nothing on it."""
    tail = (1 - LEVEL) / 2
    columns = [column[np.isfinite(column)] for column in values.reshape(len(values), -1).T]
    ends = [np.quantile(column, (tail, 1 - tail)) if len(column) else (np.nan, np.nan) for column in columns]
    low, high = np.array(ends).T.reshape(2, *values.shape[1:])
    return low, high


@dataclass(frozen=True, eq=False, repr=False)
class Decoding(HasPicture):
    """How well labels can be decoded from codes.

    classes (C,): the labels, or the number of the column where an example can have several.
    accuracy: share of the test examples with the right label, or with all their labels right.
    class_accuracy, f1: by class, of the decision whether an example belongs to it.
    train, test (examples,): who was in which. predicted: for the test examples, (tests,), or (tests, C) 0 or 1.
    count (C,): test examples of each class. groups: how many in train and in test.
    """

    classes: np.ndarray
    accuracy: Score
    class_accuracy: Score
    f1: Score
    train: np.ndarray
    test: np.ndarray
    predicted: np.ndarray
    count: np.ndarray
    groups: tuple[int, int]


def decode(
    codes: Any,
    labels: Any,
    groups: Any = None,
    seed: int = 0,
    *,
    train: Any = None,
    test: Any = None,
    held_out: float | None = None,
    balanced: bool = False,
    shuffles: int = 20,
    resamples: int = 1000,
) -> Decoding:
    """Train a logistic regression on the codes of some groups, test it on others (hypernetwork paper, Figs. 2B, 5F).

        p(label c | code a) ∝ exp(w_cᵀ z + b_c),   z_h = (a_h - mean_h) / std_h over the training examples

    with scikit-learn's L2 penalty (C = 1; the paper states no setting). Where an example can have several labels, each
    label gets a logistic regression of its own.

    codes: (examples, heads).
    labels: (examples,) of any type, one of C classes; or (examples, C) of 0 and 1.
    groups: what each example is a combination of: (examples,), or (examples, parts), where the order of the parts does
        not matter. No group is both in training and in test. None: every example is its own group, and nothing is said
        on unseen combinations.
    seed: of the split, the shuffles and the bootstrap.
    train, test: (examples,) bool: use this split, not a random one. If only one is given, the other is the rest.
    held_out: the share of groups in test, of a random split; None: 0.25.
    balanced: give rare classes the same weight as frequent ones in training.
    shuffles: how often labels are shuffled as a control: among groups where each group has one label, else among
        examples.
    resamples: of the bootstrap, over test groups.

    Raises ArgumentError for other shapes, a group on both sides, and a split whose training examples lack a class.

    >>> rng = np.random.default_rng(0)
    >>> rule, other = rng.integers(4, size=(2, 2000))
    >>> planted = np.eye(4)[rule] + rng.normal(size=(2000, 4)) / 20  # head h fires for rule h
    >>> result = decode(planted, rule, groups=np.stack([rule, other], axis=1))
    >>> result.f1.value.tolist(), bool(result.accuracy.shuffled.mean() < 0.5)
    ([1.0, 1.0, 1.0, 1.0], True)
    >>> noise = decode(rng.normal(size=(2000, 4)), rule, groups=rng.integers(100, size=2000))
    >>> bool(noise.accuracy.low < noise.accuracy.chance)
    True
    """
    x, seed = as_codes(codes), check_whole("seed", seed, 0)
    check_whole("shuffles", shuffles), check_whole("resamples", resamples), check_flag("balanced", balanced)
    if held_out is not None and (train is not None or test is not None):
        raise ArgumentError(f"held_out={held_out} beside train or test, which are the split; give one of the two")
    held_out = check_number("held_out", 0.25 if held_out is None else held_out)
    names, truth, several = _classes(labels, len(x))
    group = _groups(groups, len(x))
    arguments.check_room("resamples", resamples, len(np.unique(group)))
    split, deal, draw = np.random.SeedSequence(seed).spawn(3)
    if train is None and test is None:
        train, test = _split(group, truth, names, held_out, np.random.default_rng(split))
    else:
        train, test = _given(train, test, group, truth, names, several)

    from sklearn.preprocessing import StandardScaler

    z = StandardScaler().fit(x[train]).transform(x)
    answers = _answers(z[train], truth[train], z[test], several, balanced)
    rng = np.random.default_rng(deal)
    again = [
        _answers(z[train], _deal(truth[train], group[train], rng), z[test], several, balanced) for _ in range(shuffles)
    ]
    scores = scored(answers, truth[test], group[test], again, resamples, np.random.default_rng(draw))
    predicted = answers.astype(np.int64) if several else names[answers.argmax(1)]
    sizes = len(np.unique(group[train])), len(np.unique(group[test]))
    return Decoding(names, *scores, train, test, predicted, truth[test].sum(0), sizes)


def _classes(labels: Any, examples: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Names of the classes (C,), who belongs to which (examples, C) bool, whether an example can be in several."""
    labels = arguments.labels("labels", labels, examples, "C")
    if labels.ndim == 1:
        names, which = np.unique(labels, return_inverse=True)
        names, which = in_order(names, which) if names.dtype.kind in "US" else (names, which)
        if len(names) < 2:
            raise ArgumentError(f"all {examples} labels are the same; give examples of two classes or more")
        return names, np.arange(len(names)) == which[:, None], False
    if not np.isin(labels, (0, 1)).all():
        raise ArgumentError("labels (examples, C) say by 0 and 1 who is in which class; give (examples,) for one of C")
    return np.arange(labels.shape[1]), labels.astype(bool), True


def _groups(groups: Any, examples: int) -> np.ndarray:
    if groups is None:
        return np.arange(examples)
    groups = arguments.labels("groups", groups, examples, "parts")
    rows = np.sort(groups.reshape(examples, -1), axis=1)  # the combination AB is the combination BA
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _split(
    group: np.ndarray, truth: np.ndarray, names: np.ndarray, held_out: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Some groups for training, the others for the test, with every class on both sides."""
    number = group.max() + 1
    if number < 2 or not 0 < held_out < 1:
        raise ArgumentError(f"held_out={held_out} of {number} groups: give two groups or more, and a share within 0..1")
    tested = min(max(1, round(held_out * number)), number - 1)
    for _ in range(SPLITS_TRIED):
        test = np.isin(group, rng.permutation(number)[:tested])
        decided = [_decidable(truth[part]) for part in (test, ~test)]
        if np.all(decided):
            return ~test, test
    lacking = listed([str(name) for name in names[~np.all(decided, axis=0)]])
    raise ArgumentError(
        f"no split with {tested} of {number} groups held out has class {lacking} on both sides; change held_out, merge"
        " classes, or give train="
    )


def _given(
    train: Any, test: Any, group: np.ndarray, truth: np.ndarray, names: np.ndarray, several: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The masks, if a decoder can be trained and tested with them."""
    given = {"train": train, "test": test}
    train, test = (None if m is None else arguments.mask(name, m, len(group)) for name, m in given.items())
    train, test = ~test if train is None else train, ~train if test is None else test
    for name, other, mask in (("train", "test", train), ("test", "train", test)):
        if not mask.any():
            raise ArgumentError(f"{other} has all {len(group)} examples, and {name} none; leave some for {name}")
    both = np.intersect1d(group[train], group[test])
    if len(both):
        raise ArgumentError(f"{len(both)} groups are in train and in test; give masks that no group crosses")
    missing = ~_decidable(truth[train]) & (truth[test].any(0) | several)
    if missing.any():
        raise ArgumentError(
            f"nothing can be learned on class {', '.join(map(str, names[missing]))}: in train all"
            " examples are alike in it; leave it out, or train on more groups"
        )
    return train, test


def _decidable(truth: np.ndarray) -> np.ndarray:
    """By class, whether some examples belong to it and some do not."""
    return np.asarray(truth.any(0) & ~truth.all(0))


def _answers(x: np.ndarray, truth: np.ndarray, tests: np.ndarray, several: bool, balanced: bool) -> np.ndarray:
    """Fit on codes x and their classes; the predictions for the codes `tests`, (tests, C) bool."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import MultiOutputClassifier

    decoder = LogisticRegression(max_iter=ITERATIONS, class_weight="balanced" if balanced else None)
    if several:
        return MultiOutputClassifier(decoder).fit(x, truth).predict(tests)
    predictions = decoder.fit(x, truth.argmax(1)).predict(tests)
    return np.arange(truth.shape[1]) == predictions[:, None]


def _deal(truth: np.ndarray, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels in another order; a group with one label has one again, so that the control is as easy to learn."""
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    if (truth == truth[first][group]).all():
        return truth[rng.permutation(first)][group]
    return rng.permutation(truth)


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(HasPicture):
    """Two groups of examples, A and B, side by side.

    share_a, share_b (C,): of the examples that have each trait. widest: the trait whose shares differ most.
    decoding: of A (class 0) against B (class 1) from the codes. unseen: whether it was tested on combinations that its
    training did not have; where a group has too few of them for that, it was tested on other examples of the same.
    elsewhere, gaps (regions,): accuracy and widest difference of shares for pairs of other regions of the map, empty
    without a map.
    """

    share_a: np.ndarray
    share_b: np.ndarray
    widest: int
    decoding: Decoding
    unseen: bool
    elsewhere: np.ndarray
    gaps: np.ndarray

    @property
    def gap(self) -> float:
        """By how much the shares of the widest trait differ."""
        return float(np.abs(self.share_a - self.share_b).max())


def contrast(
    codes: Any, a: Any, b: Any, traits: Any, groups: Any = None, seed: int = 0, shuffles: int = 20, points: Any = None
) -> Contrast:
    """Compare two groups of examples, A and B, by their traits, and by whether a decoder tells their codes apart.

    codes: (examples, heads).
    a, b: indices of the examples of A and of B, with no common one.
    traits: (examples, C) bool: what an example has.
    groups, seed, shuffles: as for `decode`, by which a logistic regression tells A from B.
    points: (examples, 2), the map on which A and B were chosen.

    Where A and B were chosen by looking at these codes, it is no discovery that a decoder tells them apart: any two
    regions of a map have different codes. So with `points` the same is measured for pairs of regions around random
    centres, as large and about as far apart (`regions`). Only what is rarer there says something about A and B. The
    lab's own control, for maps as in Figures 2D and 5A of the hypernetwork paper.

    Raises ArgumentError for other shapes, groups that overlap, or groups of too few examples.

    >>> rng = np.random.default_rng(0)
    >>> rule, other = rng.integers(4, size=(2, 400))
    >>> codes = np.eye(4)[rule] + rng.normal(size=(400, 4)) / 20  # head h fires for rule h
    >>> result = contrast(codes, *(np.flatnonzero(rule == r) for r in (0, 2)), np.eye(4)[rule] == 1, other)
    >>> result.share_a.tolist(), result.share_b.tolist(), float(result.decoding.accuracy.value), result.unseen
    ([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], 1.0, True)
    """
    codes = as_codes(codes)
    a, b = _indices("a", a, len(codes)), _indices("b", b, len(codes))
    expected = f"True and False of shape ({len(codes)}, traits)"
    traits = arguments.array("traits", traits, expected)
    if traits.ndim != 2 or len(traits) != len(codes) or not traits.size or not np.isin(traits, (0, 1)).all():
        raise ArgumentError(f"traits are {arguments.described(traits)}; give {expected}")
    groups = None if groups is None else arguments.labels("groups", groups, len(codes), "parts")
    if min(len(a), len(b)) < LEAST:
        raise ArgumentError(f"A has {len(a)} examples and B {len(b)}; choose {LEAST} or more for each")
    if len(np.intersect1d(a, b)):
        raise ArgumentError(f"A and B have {len(np.intersect1d(a, b))} examples in common; choose groups apart")
    share_a, share_b = (traits[part].mean(0) for part in (a, b))
    decoding, unseen = _decoded(codes, a, b, groups, seed, shuffles)
    others = [] if points is None else regions(points, a, b, REGIONS, seed)
    elsewhere = [float(_decoded(codes, *pair, groups, seed, 1)[0].accuracy.value) for pair in others]
    gaps = [float(np.abs(np.subtract(*(traits[part].mean(0) for part in pair))).max()) for pair in others]
    widest = int(np.abs(share_a - share_b).argmax())
    return Contrast(share_a, share_b, widest, decoding, unseen, np.array(elsewhere), np.array(gaps))


def regions(points: Any, a: Any, b: Any, count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of regions of a map, without a common point, as large as A and B and about as far apart.

    points (N, 2). a, b: indices of points. A region is the points that are nearest to a random one.

    >>> line = np.stack([np.arange(40.0), np.zeros(40)], axis=1)
    >>> [(len(one), len(other)) for one, other in regions(line, range(10), range(20, 25), count=2)]
    [(10, 5), (10, 5)]
    """
    points = np.asarray(points, np.float64)
    a, b = _indices("a", a, len(points)), _indices("b", b, len(points))
    rng, sizes = np.random.default_rng(seed), (len(a), len(b))
    apart = np.linalg.norm(points[a].mean(0) - points[b].mean(0))
    centres = rng.integers(len(points), size=(CENTRES * count, 2))
    centres = centres[centres[:, 0] != centres[:, 1]]
    distances = np.linalg.norm(points[centres[:, 0]] - points[centres[:, 1]], axis=1)
    pairs = []
    for pair in centres[np.argsort(np.abs(distances - apart), kind="stable")][:count]:
        away = np.linalg.norm(points[:, None] - points[pair], axis=2)
        near = np.argsort(away.min(1), kind="stable")[: sum(sizes)]
        near = near[np.argsort(away[near, 0] - away[near, 1], kind="stable")]
        pairs.append((np.sort(near[: sizes[0]]), np.sort(near[sizes[0] :])))
    return pairs


def _decoded(
    codes: np.ndarray, a: np.ndarray, b: np.ndarray, groups: np.ndarray | None, seed: int, shuffles: int
) -> tuple[Decoding, bool]:
    """A decoder of A against B, and whether it was tested on combinations that it had not seen."""
    both, which = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    if groups is not None:
        with suppress(ArgumentError):  # no split has A and B on both sides
            return decode(codes[both], which, groups[both], seed, shuffles=shuffles), True
    return decode(codes[both], which, None, seed, shuffles=shuffles), False


def _indices(name: str, values: Any, examples: int) -> np.ndarray:
    """Numbers of examples, each once, in order."""
    expected = f"indices of examples, whole numbers from 0 to {examples - 1}"
    rows = arguments.array(name, values, expected)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size or rows.min() < 0 or rows.max() >= examples:
        raise ArgumentError(f"{name} is {arguments.described(rows)}; give {expected}")
    return np.unique(rows)
