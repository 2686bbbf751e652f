"""What a scale costs: laws of the simulation, the fit to what was recorded, and the page that shows both."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lab import kinds
from lab.catalogue import scale_plan
from lab.catalogue.registry import entries
from lab.catalogue.scale_plan import Record, StepTimes, spread
from lab.models.layers import Linear
from lab.models.transformer import Transformer
from lab.papers.transformers.settings import setting
from tests.processes import ROOT

PAGE = ROOT / "docs" / "scale.md"


@st.composite
def works(draw):
    """Jobs that wait for some of those before them."""
    seconds = draw(st.lists(st.floats(0.1, 100.0), min_size=1, max_size=12))
    return seconds, [draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set() for i in range(len(seconds))]


@given(works(), st.integers(1, 6))
def test_the_simulation_keeps_the_bounds_of_every_schedule(work, workers):
    """Graham's: never below the mean load or the longest chain, never above both together."""
    seconds, after = work
    found = spread(seconds, after, workers)
    assert found.total == pytest.approx(sum(seconds))
    least = max(found.critical, found.total / workers)
    assert least - 1e-9 <= found.lasts <= found.total / workers + found.critical + 1e-9
    assert spread(seconds, after, 1).lasts == pytest.approx(sum(seconds))
    assert spread(seconds, after, len(seconds)).lasts == pytest.approx(found.critical)
    assert 0 < found.busy <= 1 + 1e-9


@given(works())
def test_the_longest_chain_is_the_longest_of_all_paths(work):
    seconds, after = work

    def longest(index: int) -> float:
        return seconds[index] + max((longest(other) for other in after[index]), default=0.0)

    assert spread(seconds, after, 1).critical == pytest.approx(max(map(longest, range(len(seconds)))))


def test_jobs_that_wait_for_each_other_are_an_error():
    with pytest.raises(ValueError, match="circle"):
        spread([1.0, 1.0], [{1}, {0}], 2)


def test_the_fit_finds_the_step_times_that_records_were_made_with():
    true = {"A": (0.01, 3e-9), "B": (0.0, 5e-8)}
    runs = [(kind, 100.0 * steps, 1e5 * products) for kind, steps, products in product("AB", (1, 7), (2, 90, 400))]
    chosen = [runs[i : i + 3] for i in range(len(runs) - 2)]
    records = [
        Record("", "", sum(steps * (true[kind][0] + true[kind][1] * each) for kind, steps, each in some), tuple(some))
        for some in chosen
    ]
    times = StepTimes(tuple(records))
    for kind, (overhead, rate) in true.items():
        assert times.fitted[kind] == pytest.approx((overhead, rate), rel=1e-6, abs=1e-12)
    assert times.ratios == pytest.approx([1.0] * len(records))
    assert times.of_steps("C", 1.0, 1e6) == pytest.approx(0.01 + 5e-8 * 1e6), "the slowest of the others"


def test_parameters_are_those_of_the_models():
    """Of a transformer up to its biases, embeddings and norms."""
    (spec,) = setting("memorize", "laptop").runs(1)
    sizes = kinds.sizes(spec.task, 0)
    model = Transformer(spec.model, sizes.inputs, sizes.length, [0], nn.GELU())
    real = sum(module.weight.numel() for module in model.modules() if isinstance(module, Linear))
    assert scale_plan.weights(spec) == real


def test_the_page_has_a_row_for_every_figure_that_is_trained_and_its_numbers():
    lines = {
        line.split("`")[1]: line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    }
    trained = {name for name, entry in entries().items() if "paper" in entry.scales and entry.plan("paper", 1)}
    assert set(lines) == trained | {"all together"}, "run `lab scale --write docs/scale.md`"
    names = ["transformers/fig3", "hypernetwork/fig2d", "simplicity/fig11"]
    times = scale_plan.recorded()
    made = scale_plan.text(scale_plan.rows("paper", times, names), times).splitlines()
    for name in names:
        row = next(line for line in made if f"`{name}`" in line)
        now, then = (
            [float(cell.strip("`* ").replace(",", "")) for cell in line.split("|")[2:-1]] for line in (row, lines[name])
        )
        assert now == pytest.approx(then, rel=0.3), (
            "run `lab scale --write docs/scale.md`"
        )  # each new result moves the fit
    low, middle, high = np.quantile(times.ratios, [0.25, 0.5, 0.75])
    assert middle == pytest.approx(1) and 0.4 < low and high < 2.5
