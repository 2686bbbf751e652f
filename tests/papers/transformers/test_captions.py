"""What captions say of individual tasks is what the claims are judged by."""

import pandas as pd
import pytest

from lab.papers.transformers import lengths_and_widths
from tests.papers.transformers import planted


def accuracies(means):
    """A table of two seeds around means: {(task, method, width): accuracy}."""
    rows = [(*kind, seed, mean + (0.01 if seed else -0.01), False) for kind, mean in means.items() for seed in range(2)]
    return pd.DataFrame(rows, columns=["task", "method", "width", "seed", "accuracy", "diverged"])


def test_widths_are_compared_below_the_full_one_for_tasks_learned_at_any():
    means = {("mano", "baseline", 8): 0.21, ("mano", "learned MLP", 8): 0.22, ("mano", "baseline", 16): 0.23}
    means |= {("mano", "learned MLP", 16): 0.28, ("mano", "baseline", 32): 0.4, ("mano", "learned MLP", 32): 0.9}
    means |= {("copy", method, width): 0.01 for method in ("baseline", "learned MLP") for width in (8, 16)}
    said = lengths_and_widths.widths(accuracies(means))
    assert "Mano +3.0 [" in said, "the mean of 1 and 5 points, and not the 50 of the full width"
    assert said.endswith("; not learned: Copy.")


@pytest.mark.parametrize("right", [True, False])
def test_the_sentence_on_widths_has_the_number_of_the_claim(right):
    table = planted.widths(right)
    estimate = next(claim for claim in lengths_and_widths.FIG4 if claim.name == "small-widths").measure(table).estimate
    assert f"{estimate.effect:+.1f}".replace("-", "−") in lengths_and_widths.widths(table)


def test_a_method_that_copies_nothing_is_named():
    table = planted.lengths(True)
    assert "Not even" not in lengths_and_widths.lengths(table)
    failing = table["accuracy"].where(table["method"] != "ALiBi", 0.0)
    assert lengths_and_widths.lengths(table.assign(accuracy=failing)).endswith(
        "Not even length 10 is learned here by ALiBi."
    )
