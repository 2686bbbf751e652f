"""Tables 6 and 7: the function of small models in deeper ones, its polynomial, and times of steps."""

import numpy as np
import pytest

from lab.catalogue.build import figure
from lab.catalogue.registry import entry
from lab.papers.transformers import fineweb
from lab.papers.transformers.fineweb import DEGREE, DEPTHS, GELU, METHODS, POLYNOMIAL, SPLINE, search
from lab.resolve import resolve
from lab.spec import Learned, Shaped, needs
from tests.papers.plans import planned_runs
from tests.papers.transformers.planted import deep_models


def test_one_function_of_small_models_serves_all_depths():
    for scale in ("smoke", "laptop", "paper"):
        plan = entry("transformers/table6").plan(scale, 1)
        assert {found for _, spec in plan for found in needs(spec)} == {search(scale)}
        assert [labels["layers"] for labels, _ in plan[:: len(METHODS)]] == list(DEPTHS[scale])
    assert (search("paper").model.layers, search("paper").model.width) == (2, 256)
    assert fineweb.LAYERS == DEPTHS["paper"]


def test_polynomials_are_of_the_same_function():
    figure("transformers/table7", "smoke", progress=False)
    for labels, run in planned_runs("transformers/table7"):
        part = run.spec.model.mlp
        if labels["method"] == "polynomial":
            assert part == Shaped(Learned(search("smoke")), "polynomial", labels["degree"])
            assert len(resolve(part, run.store).values) == labels["degree"] + 1
    assert max(labels["degree"] for labels, _ in entry("transformers/table7").plan("paper", 1)) == DEGREE


def test_times_are_of_steps_that_were_taken_here():
    table = figure("transformers/table6", "smoke", progress=False).table
    gelu = table[table["method"] == "GELU"]
    assert (gelu["ratio"] == 1.0).all() and (gelu["ratio_spread"] == 0.0).all()
    assert (table["step_seconds"] > 0).all() and table["machine"].str.startswith(("cpu ", "cuda ")).all()
    for (_, run), (_, row) in zip(planned_runs("transformers/table6"), table.iterrows(), strict=True):
        assert row["loss"] == pytest.approx(run.scores["loss_test"][-1])
        assert row["seconds"] == run.notes["seconds"]
    assert np.isfinite(table["loss"]).all()


def test_whiskers_of_differences_are_those_of_the_claims():
    table = deep_models(True)
    claim = next(one for one in entry("transformers/table6").claims if one.name == "deep")
    drawn = fineweb.table6(table).select_traces({"name": fineweb.TITLES[SPLINE], "xaxis": "x"})
    (line,) = (trace for trace in drawn if len(trace.x))
    assert np.round(line.x).tolist() == [0, 1, 2]
    for layers, middle, half in list(zip((2, 4, 8), line.y, line.error_y.array, strict=True))[1:]:
        found = claim.verdict(table[table["layers"] == layers], "laptop")
        assert (found.effect, found.high) == pytest.approx((middle, middle + half))


def test_what_the_paper_says_of_time_is_what_it_prints():
    seconds = {method: np.array(values) for method, values in fineweb.SECONDS.items()}
    exact, polynomial = (seconds[method] / seconds[GELU] for method in (SPLINE, POLYNOMIAL))
    said = entry("transformers/table6").paper_says
    assert f"up to {max(exact):.1f} times" in said
    cheaper = [depth for depth, ratio in zip(fineweb.LAYERS, polynomial, strict=True) if ratio < 1]
    assert cheaper and said.endswith(f"a polynomial less at {' and '.join(map(str, cheaper))}")
