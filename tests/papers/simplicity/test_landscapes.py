"""Models of tables one by one (simplicity paper, Figures 7 and 24): what stands in the table is what the models do."""

import numpy as np
import pandas as pd
import pytest
import torch

from lab.catalogue.build import figure
from lab.catalogue.registry import entry
from lab.papers.simplicity.landscape_measures import DEPTH, FINE, RADIUS, tables_of
from lab.papers.simplicity.landscapes import _numbers, fig24
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, NETWORKS, PREFACTORS, RELU, TANH, TREES
from lab.probes.complexity import draw
from lab.resolve import resolve
from lab.run import Run
from lab.scale import COMMON
from lab.store import Store

FIG7, FIG24 = "simplicity/fig7", "simplicity/fig24"


@pytest.fixture(scope="module")
def made():
    return figure(FIG7, "smoke", progress=False)


@pytest.fixture(scope="module")
def runs():
    return {
        (labels["method"], spec.seed): Run(spec, Store())
        for labels, spec in entry(FIG7).plan("smoke", 2)
        if labels["prefactor"] == 1.0
    }


@pytest.mark.parametrize("scale", COMMON)
def test_all_networks_of_a_depth_remember_their_way_and_val_chooses_the_prefactor(scale):
    planned = entry(FIG24).plan(scale, 1)
    assert {spec.model.layers for _, spec in planned} == {DEPTH}
    assert all(spec.recipe.trajectory and "val" in spec.recipe.watch for _, spec in planned)
    alphas = {labels["prefactor"] for labels, _ in planned if labels["method"] == TANH}
    assert alphas == set(PREFACTORS[scale])
    assert {labels["method"] for labels, _ in planned} == set(NETWORKS)


def test_the_papers_tables_are_taken_where_they_are_and_named_where_they_are_not():
    assert tables_of("laptop", FIG24) == ("covertype_sample", "MagicTelescope")
    assert tables_of("laptop", FIG7) == ("MagicTelescope",)
    assert entry(FIG7).origin.departures("laptop")[0] == "the paper has electricity"
    assert "the paper has electricity, too" in entry(FIG24).origin.departures("laptop")


def test_landscapes_are_of_the_stored_networks(made, runs):
    """Corners of the random plane around ReLU, and the loss along the training, computed another way."""
    table, run, fine = made.table, runs[RELU, 0], FINE["smoke"]
    own = table[(table["method"] == RELU) & (table["seed"] == 0)]
    train, model = run.spec.task.split()["train"], run.model()

    def variation():
        drawn, _ = draw(train.inputs, train.targets, fine.paths, fine.samples, 0)
        way = torch.from_numpy(drawn.points(slice(None))).float()
        z = model(way[None])[0]
        p = (z[:, 1] - z[:, 0]).view(fine.paths, fine.samples)
        ends = torch.linspace(0, 1, fine.samples)
        return (p - (1 - ends) * p[:, :1] - ends * p[:, -1:]).diff(dim=1).abs().sum(1).mean().item()

    assert own.query("part == 'solution'")["value"].tolist() == pytest.approx([variation()], rel=1e-3)
    zoom = own[own["part"] == "zoom"]
    assert len(zoom) == fine.grid**2 and zoom["x"].abs().max() == RADIUS
    assert own.query("part == 'ambient'")["value"].tolist() == pytest.approx([zoom["value"].mean()], rel=1e-4)
    middle = zoom[(zoom["x"] == 0) & (zoom["y"] == 0)]
    assert middle["value"].tolist() == pytest.approx([variation()], rel=1e-3)
    steps, way = run.trajectory
    course = own[own["part"] == "course"]
    assert course["x"].tolist() == steps.tolist()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(way[-1]), model.parameters())
    assert course["value"].iloc[-1] == pytest.approx(variation(), rel=1e-3)


def test_functions_are_those_that_were_learned(made, runs):
    table = made.table[(made.table["part"] == "function") & (made.table["seed"] == 0)]
    for method in (LEARNED, IAFS):
        model = runs[method, 0].spec.model
        found = resolve(model.phi if method == LEARNED else model.inputs, Store())
        own = table[table["method"] == method].groupby("number")["value"].apply(list).tolist()
        assert np.allclose(own, np.atleast_2d(found.values), atol=1e-5)
    alpha = table.loc[table["method"] == TANH, "prefactor"].iloc[0]
    own = table[table["method"] == TANH]
    assert np.allclose(own["value"], np.tanh(alpha * own["x"]), atol=1e-5)


def test_slices_are_log_odds_through_a_training_row(made, runs):
    table, run = made.table, runs[RELU, 0]
    own = table[(table["method"] == RELU) & (table["number"] == 0) & (table["seed"] == 0)]
    train = run.spec.task.split()["train"].inputs
    point, cells = own.query("part == 'point'").iloc[0], own[own["part"] == "slice"]
    columns = [(a, b) for a in range(train.shape[1]) for b in range(train.shape[1]) if a != b]
    tried = []
    for a, b in columns:
        near = (train[:, [a, b]] - torch.tensor([point["x"], point["y"]])).abs().amax(1) < 1e-5
        for row in train[near][:50]:
            x = row.repeat(len(cells), 1)
            x[:, a], x[:, b] = torch.tensor(cells["x"].to_numpy()), torch.tensor(cells["y"].to_numpy())
            z = run.model()(x[None])[0]
            tried.append((z[:, 1] - z[:, 0] - torch.tensor(cells["value"].to_numpy())).abs().max().item())
    assert min(tried) < 1e-4
    means = table[table["part"] == "alignment"].groupby("method")["value"].mean()
    assert means[TREES] == means.max() > 0.8, "trees cut along the axes"


def test_every_model_has_its_column(made):
    drawn = fig24(made.table)
    heads = [note.text for note in drawn.layout.annotations]
    assert {"ReLU", "learned", "IAFs", "trees", "k-NN"} <= set(heads)
    landscapes = [trace for trace in drawn.data if trace.type == "contour"]
    assert len(landscapes) == 3 * len(NETWORKS)
    assert len([trace for trace in drawn.data if trace.type == "heatmap"]) == 6 * FINE["smoke"].slices
    for part in ("loss", "complexity", "zoom"):
        shown = [value for trace in landscapes if trace.name == part for value in np.ravel(trace.customdata)]
        assert np.allclose(sorted(shown), sorted(made.table.loc[made.table["part"] == part, "value"]))
    for method in NETWORKS:  # the boxes have the numbers of the image that they stand on, of the first seed and radius
        own = made.table[(made.table["method"] == method) & (made.table["seed"] == made.table["seed"].min())]
        course, (kept,), cells = (
            own.loc[own["part"] == part].sort_values("x")["value"].tolist() for part in ("course", "solution", "zoom")
        )
        assert f"{course[0]:.3g}→{kept:.3g}→{course[-1]:.3g}" in heads
        assert f"star {kept:.3g},<br>around it {np.mean(cells):.3g}" in heads
    several = pd.concat([made.table.assign(radius=r) for r in (0.1, RADIUS)], ignore_index=True)
    several.loc[(several["part"] == "ambient") & (several["radius"] < RADIUS), "value"] *= 1000
    several.loc[several["part"] != "ambient", "radius"] = np.nan
    again = [note.text for note in fig24(several.drop_duplicates()).layout.annotations]
    assert again == heads, "a wider or narrower plane than the drawn one is not in its numbers"
    assert _numbers(several.drop_duplicates()) == _numbers(made.table), "nor in those of the caption"
    ends = [trace for trace in drawn.data if trace.name == "ends"]
    assert len(ends) == 2 * len(NETWORKS), "start and end of the training, on loss and on complexity"
