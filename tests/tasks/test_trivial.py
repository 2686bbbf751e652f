"""The floor of each task's accuracy, computed from its examples."""

from collections import Counter

import numpy as np
import pytest

from lab import tasks
from lab.tasks.named import TRIVIAL, learned, trivial


@pytest.mark.parametrize("name", tasks.NAMES)
def test_the_trivial_answer_is_that_of_the_examples(name):
    task = tasks.load(name)
    train, test = task.splits["train"], task.splits["lengths" if name == "copy" else "test"]
    tokens, output = test.tokens.numpy(), test.output.numpy()
    if name == "haystack":  # m1 c1 ... mk ck mu <sep> cu: any value of the list
        places = [np.flatnonzero(row)[0] for row in output]
        found = np.mean([np.mean(row[1 : end - 2 : 2] == row[end]) for row, end in zip(tokens, places, strict=True)])
    else:
        (said, _), *_ = Counter(train.tokens.numpy()[train.output.numpy()].tolist()).most_common(1)
        right = (tokens == said) & output
        found = right.sum() / output.sum()
        if task.metric == "sequence":
            found = np.mean(right.sum(1) == output.sum(1))
    assert trivial(name) == pytest.approx(found, abs=6e-4)


def test_every_task_has_a_floor_and_unknown_ones_count_as_learned():
    assert list(TRIVIAL) == list(tasks.NAMES)
    assert learned("another", 0.0) and learned("add", float("nan"))
