"""A learned function at other widths and depths (simplicity paper, Figures 8 and 21)."""

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.build import figure
from lab.catalogue.registry import entry
from lab.papers.simplicity import reuse
from lab.papers.simplicity.tables.settings import LAYERS, LEARNED, RELU, WIDTHS, tables
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import COMMON
from lab.spec import needs
from lab.store import Store

FIG8, FIG21 = "simplicity/fig8", "simplicity/fig21"


@pytest.mark.parametrize("scale", COMMON)
def test_one_function_a_table_goes_through_all_sizes_and_the_usual_one_is_of_figure_5(scale):
    planned = entry(FIG21).plan(scale, 2)
    assert {(labels["layers"], labels["width"]) for labels, _ in planned} == {
        (layers, width) for layers in LAYERS[scale] for width in WIDTHS[scale]
    }
    functions = {
        (spec.task, tuple(needs(spec)), labels["layers"] if scale == "paper" else None)
        for labels, spec in planned
        if labels["method"] == LEARNED
    }
    assert len(functions) == len(tables(scale)) * (len(LAYERS[scale]) if scale == "paper" else 1)
    shared = {spec for _, spec in planned} & {spec for _, spec in entry("simplicity/fig5").plan(scale, 2)}
    assert len(shared) == len(planned) / len(WIDTHS[scale])
    assert {spec for _, spec in entry(FIG8).plan(scale, 2)} <= {spec for _, spec in planned}


def test_numbers_are_those_of_the_runs_and_all_are_drawn():
    made = figure(FIG8, "smoke", progress=False)
    table = made.table
    for labels, spec in entry(FIG8).plan("smoke", 2)[::5]:
        own = table[(table[list(labels)] == list(labels.values())).all(axis=1) & (table["seed"] == spec.seed)]
        run = Run(spec, Store())
        assert own["accuracy"].tolist() == pytest.approx(
            run.accuracy[run.steps == run.notes["kept"]].tolist(), abs=1e-5
        )
    lines = [trace for trace in made.plot.data]
    assert len(lines) == 2 * len(LAYERS["smoke"]) and {trace.legendgroup for trace in lines} == {RELU, LEARNED}
    means = 100 * table.groupby(["layers", "width", "method"])["accuracy"].mean()
    assert np.allclose(sorted(value for trace in lines for value in trace.y), sorted(means))
    lost = reuse.fig8(table.assign(accuracy=table["accuracy"].where(table.index > 0), diverged=table.index == 0))
    assert f": 1 of {(table['method'] == table['method'][0]).sum()}." in reading(lost)
    assert "the paper has covertype" in made.caption, "at smoke scale another table is used, and the caption says so"


def test_the_matrix_has_every_gain_its_rows_are_sorted_and_only_clear_cells_are_coloured():
    settings = [(table, layers, width) for table in ("worse", "better") for layers in (1, 2) for width in (8, 16)]
    rows = [
        (table, method, layers, width, seed, 0.5 + 0.01 * seed + gain)
        for table, layers, width in settings
        for method, gain in ((RELU, 0.0), (LEARNED, {"worse": -0.2, "better": 0.2}[table] if width == 8 else 0.001))
        for seed in range(3)
    ]
    table = pd.DataFrame(rows, columns=["table", "method", "layers", "width", "seed", "accuracy"])
    drawn = reuse.fig21(table)
    clear, unclear = [trace for trace in drawn.data if trace.type == "heatmap"]
    assert [*clear.y] == ["better", "worse"] and [*clear.x] == ["1 × 8", "1 × 16", "2 × 8", "2 × 16"]
    known = np.array([[20, np.nan, 20, np.nan], [-20, np.nan, -20, np.nan]])
    assert np.allclose(np.array(clear.z, float), known, equal_nan=True)
    assert np.allclose(np.array(unclear.z, float)[np.isnan(known)], 0.1)
    assert clear.coloraxis and not unclear.coloraxis and not drawn.layout.shapes
