"""What can be read from codes by a linear decoder, on combinations that it has not seen, and what that is worth.

A decoder of many numbers finds something in any of them. So every score stands beside two controls: what one gets
without looking at the codes (`chance`), and what the same decoder gets after training on shuffled labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.errors import ArgumentError, check_flag, check_number, check_whole, listed
from lab.probes import arguments
from lab.probes.codes import as_codes
from lab.probes.score import Score, scored

TRIES = 100  # random splits of the groups, until one has every class on both sides
ITERATIONS = 2000  # of the solver, at most: standardized codes take some tens


@dataclass(frozen=True, eq=False)
class Decoding:
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
    groups: Any,
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
        if len(names) < 2:
            raise ArgumentError(f"all {examples} labels are the same; give examples of two classes or more")
        return names, np.arange(len(names)) == which[:, None], False
    if not np.isin(labels, (0, 1)).all():
        raise ArgumentError("labels (examples, C) say by 0 and 1 who is in which class; give (examples,) for one of C")
    return np.arange(labels.shape[1]), labels.astype(bool), True


def _groups(groups: Any, examples: int) -> np.ndarray:
    """The number of each example's group, (examples,)."""
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
    for _ in range(TRIES):
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
    """Fit on codes x and their classes; what is said of the codes `tests`, (tests, C) bool."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import MultiOutputClassifier

    decoder = LogisticRegression(max_iter=ITERATIONS, class_weight="balanced" if balanced else None)
    if several:
        return MultiOutputClassifier(decoder).fit(x, truth).predict(tests)
    predictions = decoder.fit(x, truth.argmax(1)).predict(tests)
    return np.arange(truth.shape[1]) == predictions[:, None]


def _deal(truth: np.ndarray, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels in another order. A group with one label keeps to one: else its examples would tell too little apart."""
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    if (truth == truth[first][group]).all():
        return truth[rng.permutation(first)][group]
    return rng.permutation(truth)
