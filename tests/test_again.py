"""Runs of figures one by one, and a run again with another function: `lab.entry`, `lab.train(like=)`, `lab.fit`."""

import numpy as np
import pandas as pd
import plotly.express as px
import pytest
import torch
from torch import nn

import lab
from lab.catalogue.registry import entry
from lab.spec import replace
from lab.store import MixedRevisionsError, Store

QUIET = {"scale": "smoke", "progress": False}


def test_the_runs_of_an_entry_are_those_of_its_figure(store_folder):
    planned = lab.entry("simplicity/fig30", "smoke")
    wanted = [spec for _, spec in entry("simplicity/fig30").plan("smoke", 1)]
    untrained = planned.runs(by="prefactor", trained=False)
    assert [run.spec for run in untrained.values()] == wanted and list(untrained) == ["0.1", "1.0", "8.0"]
    assert not list(Store().results()), "nothing is trained before it is asked for"
    runs = planned.runs(by="prefactor", prefactor=(0.1, 8.0), progress=False)
    assert [run.spec for run in runs.values()] == [wanted[0], wanted[2]] and len(list(Store().results())) == 2
    assert all(len(run.accuracy) for run in runs.values())
    assert planned.labels["prefactor"].tolist() == [0.1, 1.0, 8.0]


def test_several_seeds_of_an_entry_are_told_apart():
    planned = lab.entry("simplicity/fig30", "smoke", seeds=2)
    assert planned.labels["seed"].tolist() == [0, 1] * 3
    with pytest.raises(lab.ArgumentError, match="several runs are 0.1"):
        planned.runs(by="prefactor", trained=False)
    assert list(planned.runs(by="seed", prefactor=1.0, trained=False)) == ["0", "1"]
    assert [run.spec.seed for run in planned.runs(by="prefactor", seed=1, trained=False).values()] == [1, 1, 1]


def test_the_table_of_an_entry_is_that_of_its_figure(capsys):
    of = lab.entry("transformers/rates", "best")
    pd.testing.assert_frame_equal(of.table, lab.figure("transformers/rates", "best", progress=False).table)
    assert capsys.readouterr().err == "", "which tasks it lacks is the figure's to say"


def test_runs_that_came_with_the_lab_are_not_mixed_with_those_of_another_revision(
    store_folder, tmp_path, monkeypatch, capsys
):
    """Alone they are read, whatever their revision; beside runs of today's they are trained again, which is said."""
    planned, by = lab.entry("simplicity/fig30", "smoke"), {"by": "prefactor", "progress": False}
    (spec,) = (run.spec for run in planned.runs(prefactor=1.0, trained=False, **by).values())
    history = {"steps": np.array([2]), "accuracy_test": np.array([0.25])}
    Store(tmp_path / "shipped").save(spec, history, {}, {"arithmetic": "1"})
    monkeypatch.setattr("lab.catalogue.build.SHIPPED", tmp_path / "shipped")
    (alone,) = planned.runs(prefactor=1.0, **by).values()
    assert alone.notes["arithmetic"] == "1" and not list(Store().results())
    with pytest.warns(lab.LabWarning, match=r"these runs are of several revisions .*1 of revision 1, 1 of revision 3"):
        (other,) = lab.train(like=alone, phi="gelu", progress=False)
    with pytest.warns(lab.LabWarning, match="of several revisions"):
        lab.plot({"ReLU": alone, "GELU": other})
    capsys.readouterr()
    runs = planned.runs(prefactor=(0.1, 1.0), **by)
    assert "1 of these 2 runs came with the lab, of another revision" in capsys.readouterr().err
    assert {run.notes["arithmetic"] for run in runs.values()} == {"3"} and Store().has(spec)
    Store().save(planned.runs(prefactor=8.0, trained=False, **by)["8.0"].spec, history, {}, {"arithmetic": "1"})
    with pytest.raises(MixedRevisionsError):
        planned.runs(**by)


@pytest.mark.parametrize(
    ("accuracy", "level", "step"),
    [([0.25, 0.75], 0.5, 15.0), ([0.6, 0.7], 0.5, 10.0), ([0.5, 0.2, 0.9, 1.0], 0.9, 30.0), ([0.1, 0.2], 0.95, None)],
)
def test_a_run_says_when_it_first_gets_there(accuracy, level, step, monkeypatch):
    (run,) = lab.entry("simplicity/fig30", "smoke").runs(by="prefactor", prefactor=8.0, trained=False).values()
    steps = 10 * np.arange(1, 1 + len(accuracy))
    monkeypatch.setattr(type(run), "_stored", ({"steps": steps, "accuracy_test": np.array(accuracy)}, {}, {}))
    assert run.first_step(level) == step or step is None and np.isnan(run.first_step(level))
    with pytest.raises(lab.ArgumentError, match="level=95"):
        run.first_step(95)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "simplicity/fig99"}, "unknown figure 'simplicity/fig99'"),
        ({"name": ["simplicity/fig11"]}, "unknown figure .*; `lab figures` lists all"),
        ({"name": "simplicity/fig10"}, "nothing is trained for simplicity/fig10"),
        ({"scale": "tiny"}, "unknown scale 'tiny'"),
        ({"seeds": 0}, "seeds=0"),
    ],
)
def test_an_entry_without_such_runs_is_refused(asked, said):
    with pytest.raises(lab.ArgumentError, match=said):
        lab.entry(**{"name": "simplicity/fig30", "scale": "smoke"} | asked)


RUNS = {  # a run of each kind that has a function, and where its spec has it
    "sequences": (lambda: lab.train("memorize", seeds=1, **QUIET)[0], "mlp"),
    "a table": (lambda: lab.train("ab mod 5", seeds=1, **QUIET)[0], "phi"),
    "a text": (lambda: lab.train("moby_dick", seeds=1, **QUIET)[0], "mlp"),
    "SRAVEN": (lambda: lab.train(lab.tasks.Sraven(features=1), seeds=1, **QUIET)[0], "mlp"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_is_trained_again_with_another_function(kind, store_folder):
    make, place = RUNS[kind]
    run = make()
    (again,) = lab.train(like=run, phi="tanh", progress=False)
    assert again.spec == replace(run.spec, model=replace(run.spec.model, **{place: "tanh"})), "all else is as it was"
    assert not np.array_equal(again.loss, run.loss)
    (same,) = lab.train(like=run, progress=False)
    assert same.key == run.key


def test_what_else_is_given_of_a_run_takes_effect(store_folder):
    run = lab.train("ab mod 5", seeds=1, **QUIET)[0]
    several = lab.train(like=run, phi="tanh", seeds=2, width=6, layers=1, rate=0.5, trajectory=2, progress=False)
    assert [one.spec.seed for one in several] == [0, 1]
    spec = several[0].spec
    assert (spec.model.width, spec.model.layers, spec.recipe.rate) == (6, 1, 0.5)
    steps, weights = several[0].trajectory
    assert list(steps) == list(range(0, spec.recipe.last + 1, 2)) and len(weights) == len(steps)


REFUSED = {
    "like= has the run's own task": {"task": "copy", "like": True},
    "give phi=, to take": {"mlp": "relu", "like": True},
    "phi= goes with like=": {"task": "copy", "phi": "relu"},
    "like='copy': give a run": {"like": "copy"},
    "task=None": {},
    "only models of tables remember": {"task": "memorize", "trajectory": 2},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_does_not_go_together_is_refused(said, store_folder):
    given = REFUSED[said] | QUIET
    if given.get("like") is True:
        given["like"] = lab.train("ab mod 5", seeds=1, **QUIET)[0]
    with pytest.raises(lab.ArgumentError, match=said):
        lab.train(**given)


class Tables(nn.Module):
    """The next token from the last one alone."""

    def __init__(self, size):
        super().__init__()
        self.table = nn.Embedding(size, size)

    def forward(self, ids):
        return self.table(ids)


def test_a_model_from_elsewhere_is_trained_as_a_run_was(store_folder):
    run = lab.train("memorize", seeds=1, **QUIET)[0]
    size = len(lab.tasks.load("memorize").vocabulary)
    torch.manual_seed(0)
    tables = [lab.fit(Tables(size), run, seed).assign(method=name) for name in ("a", "b") for seed in range(2)]
    assert all(table["step"].tolist() == run.steps.tolist() for table in tables)
    drawn = lab.plot(pd.concat(tables))
    means = {trace.name: trace.y for trace in drawn.data if trace.name in ("a", "b") and len(trace.x) == len(run.steps)}
    for name, several in (("a", tables[:2]), ("b", tables[2:])):
        mean = 100 * np.mean([table["accuracy"] for table in several], axis=0)
        assert means[name] == pytest.approx(mean)
    with pytest.raises(lab.ArgumentError, match="give a run on an algorithmic task"):
        lab.fit(Tables(size), lab.train("ab mod 5", seeds=1, **QUIET)[0])
    with pytest.raises(lab.ArgumentError, match="a table is drawn where it has seed, step"):
        lab.plot(pd.DataFrame({"x": [1]}))


def test_a_figure_of_plotly_keeps_what_it_shows():
    line = px.line(x=[1, 2], y=[3, 4])
    assert list(lab.plot(line).data[0].y) == [3, 4]
