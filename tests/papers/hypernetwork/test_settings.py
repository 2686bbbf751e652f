"""Settings of the hypernetwork paper: Table A3 at paper scale, and runs that the engine takes at every scale."""

import pytest

from lab import kinds
from lab.errors import ArgumentError
from lab.models.hyper import METHODS
from lab.papers.hypernetwork.settings import FRACTIONS, LENGTHS, logic, sraven
from lab.scale import SCALES
from lab.spec import AdamWCosine, HyperModel, from_json, to_json


def test_fuzzy_logic_is_table_a3():
    found = logic("paper", "softmax", length=96, held_out=0.5)
    assert found.model == HyperModel(layers=2, heads=8, width=128, key_width=16, mlp_width=256)
    recipe = AdamWCosine(50_000, 0.001, 128, decay=0.1, warmup=100, every=10_000, examples=16_000)
    assert found.recipe == recipe and found.task.held_out == 0.5 and found.task.length == 96
    grid = {(run.recipe.rate, run.recipe.decay, run.recipe.warmup) for run in found.grid(seeds=3)}
    assert grid == {(rate, decay, 100) for rate in (0.001, 0.003) for decay in (0.03, 0.1)}
    assert len(found.grid(seeds=3)) == 12 and LENGTHS["paper"] == (16, 32, 64, 96) and FRACTIONS == (0.3, 0.5, 0.7)


def test_sraven_is_table_a3():
    found = sraven("paper", "softmax", layers=16)
    assert found.model == HyperModel(layers=16, heads=16, width=128, key_width=64, mlp_width=256)
    assert (found.task.features, found.task.values, found.task.held_out, found.task.permute) == (4, 8, 0.25, True)
    grid = {(run.recipe.rate, run.recipe.decay, run.recipe.warmup) for run in found.grid(seeds=1)}
    assert grid == {(r, d, w) for r in (0.0003, 0.001) for d in (0.1, 0.3) for w in (1_000, 3_000)}
    assert [sraven("paper", problems=n * 10**6).recipe.steps for n in (20, 40)] == [156_250, 312_500]
    wide = sraven("paper", wider=4).model
    assert (wide.width, wide.key_width, wide.mlp_width, wide.heads) == (512, 256, 1024, 16)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("setting", [logic, sraven])
@pytest.mark.parametrize("printed", [False, True])
def test_every_method_has_runs_that_fit_together(scale, setting, printed):
    for name in METHODS:
        runs = setting(scale, name, printed=printed).runs(seeds=2)
        assert len({to_json(run) for run in runs}) == 2
        for run in runs:
            kinds.check_run(run)
            assert from_json(to_json(run)) == run and run.model.causal == printed
            assert set(run.evaluate) <= set(run.task.splits) and "val" in run.evaluate


def test_what_there_is_not_is_said():
    with pytest.raises(ArgumentError, match="heads=5 do not share out 64 channels"):
        sraven(heads=5)
    with pytest.raises(ArgumentError, match="'huge'; known: smoke, laptop, overnight, paper"):
        logic("huge")
    with pytest.raises(ArgumentError, match="'elu'; known: softmax"):
        logic(name="elu")
