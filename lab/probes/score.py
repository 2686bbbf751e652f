"""Scores of answers yes or no to C classes: accuracy and F1, with bootstrap intervals and controls beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95  # of the bootstrap intervals


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
    """What scores are made of, added up by group: (groups, 2 + 3 C)."""
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
