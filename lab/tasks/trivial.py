"""What a model scores that has learned nothing of a task but its most frequent answer: the floor of an accuracy."""

from __future__ import annotations

# Accuracy, 0 to 1, on `test` (COPY: on "lengths"), of the best answer that does not solve the task: one token wherever
# something is to be said (in sums the end of the sequence, in PARENTHESES and MEMORIZE the class that is most frequent
# in training), and in HAYSTACK some value of the list.
TRIVIAL = {
    "memorize": 0.041,
    "addmod": 0.017,
    "add": 0.219,
    "addreversed": 0.219,
    "mano": 0.206,
    "haystack": 0.302,
    "copy": 0.0,
    "parentheses": 0.514,
}
NEAR = 0.05  # runs so close to it have not left it: 1,000 examples alone make two standard deviations of .03


def trivial(task: str) -> float:
    """Accuracy of the best trivial answer to a task, 0 to 1; NaN for tasks that are not known here.

    >>> trivial("mano")
    0.206
    """
    return TRIVIAL.get(task, float("nan"))


def learned(task: str, best: float) -> bool:
    """Whether an accuracy (0 to 1; that of the best run) has left the trivial answer of a task.

    >>> learned("mano", 0.234), learned("mano", 0.4), learned("another", 0.0)
    (False, True, True)
    """
    return not best < trivial(task) + NEAR
