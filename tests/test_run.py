"""`lab.search` and `lab.train`: what they give back is what the store keeps, and what they cannot do is said first."""

import inspect
import re

import numpy as np
import pytest
import torch

import lab
from lab import tasks
from lab.catalogue.registry import entry
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.part import as_part
from lab.papers.hypernetwork.settings import FIGURE_METHODS, run_of_codes, sraven
from lab.places import SHIPPED
from lab.run import Run, complete
from lab.spec import Knots, Learned, from_json, key, replace
from lab.store import Store


def train(task="memorize", **settings):
    return lab.train(task, **{"seeds": 2, "scale": "smoke", "progress": False} | settings)


def search(task="memorize", **settings):
    return lab.search(task, **{"scale": "smoke", "progress": False} | settings)


def test_runs_are_a_sequence_of_what_the_store_keeps():
    runs = train(seeds=3)
    assert len(runs) == 3 and [run.spec.seed for run in runs] == [0, 1, 2] and runs[1].spec.seed == 1
    assert runs.accuracy.shape == (3, len(runs.steps)) and runs.steps.tolist() == [2, 4, 6]
    for number, run in enumerate(runs):
        history, weights, notes = Store().load(run.spec)
        assert run.key == key(run.spec) == Store().path(run.spec).name
        assert run.accuracy.tolist() == runs.accuracy[number].tolist() == history["accuracy_test"].tolist()
        assert run.loss.tolist() == history["loss"].tolist() and run.diverged is None and run.notes == notes
        kept = dict(run.model().named_parameters())
        assert weights.keys() == kept.keys() and all(torch.equal(kept[name], weights[name]) for name in weights)


@pytest.mark.parametrize("settings", [{}, {"attention": "relu"}, {"mlp": "learned"}, {"mlp": "polynomial"}], ids=str)
def test_a_stored_model_scores_what_its_history_says(settings):
    """Computed here from tokens and logits. Tokens whose two best logits are equal to rounding may fall either way."""
    if settings.get("mlp"):
        phi = search().spline
        settings = {"mlp": phi.chebyshev(8) if settings["mlp"] == "polynomial" else phi}
    run = train("addmod", **settings)[1]
    data = tasks.load("addmod").splits["test"]
    with torch.no_grad():
        logits = run.model()(data.tokens[None, :, :-1])[0]
    hits = (logits.argmax(-1) == data.tokens[:, 1:])[data.output[:, 1:]]
    assert run.accuracy[-1] == pytest.approx(hits.float().mean().item(), abs=0.01)
    assert not any(weight.requires_grad for weight in run.model().parameters())


def test_a_searched_function_trains_as_itself_and_is_found_again():
    found = search()
    assert isinstance(found.spline, lab.Spline) and not found.spline.values.requires_grad
    runs = train(mlp=found.spline)
    assert torch.equal(runs[0].model().blocks[0].phi.values, found.spline.values)
    assert runs[0].spec.model.mlp == Knots(-20.0, 20.0, tuple(found.spline.values.tolist()))
    named = train(mlp=Learned(found.spec))
    assert named.accuracy.tolist() == runs.accuracy.tolist(), "by name or by values, it is one function"
    assert found.history["search_loss"].shape == (6,) and np.isfinite(found.history["search_loss"]).all()
    facts = found.provenance
    assert facts["key"] == key(found.spec) and facts["spec"]["task"] == "memorize" and facts["device"]


def test_runs_say_what_they_are_in_one_line():
    runs = train(steps=4)
    end = runs.accuracy[:, -1].mean()
    assert repr(runs) == f"2 runs of memorize, 4 steps: accuracy {end:.3g} on test at the end (mean)"
    assert repr(runs[1]) == f"run of memorize, seed 1, 4 steps: accuracy {runs[1].accuracy[-1]:.3g} on test at the end"
    assert repr(runs[:1]).startswith("1 run of memorize, 4 steps") and repr(runs[:0]) == "no runs"
    assert repr(train(tasks.Logic(), attention="hyla", seeds=1)).startswith("1 run of logic, ")
    mixed = lab.Runs([runs[0], train("ab mod 5", seeds=1)[0]])
    assert repr(mixed) == "2 runs of memorize, ab mod 5"


def test_runs_that_are_no_longer_stored_say_what_they_were(tmp_path):
    run = Run(train(seeds=1)[0].spec, Store(tmp_path))
    assert repr(run) == "run of memorize, seed 0, 6 steps" and repr(lab.Runs([run])) == "1 run of memorize, 6 steps"


def test_a_table_has_a_row_for_each_run_and_evaluation():
    runs = train()
    table = runs.table
    assert list(table) == ["task", "seed", "step", "loss", *runs.scores, "diverged"] and len(table) == 2 * 3
    assert (
        table.pivot(index="seed", columns="step", values="accuracy_test").to_numpy().tolist() == runs.accuracy.tolist()
    )
    assert table.seed.tolist() == [0, 0, 0, 1, 1, 1] and not table.diverged.any()
    assert lab.Runs([*runs, train(steps=3, seeds=1)[0]]).table.step.tolist() == [2, 4, 6, 2, 4, 6, 2, 3]


def test_a_function_is_given_as_people_have_it():
    found, spline = search(), lab.Spline.from_function(torch.sin)
    for given, part in (("transformers/memorize", lab.zoo("transformers/memorize")), (found, found.spline)):
        assert train(mlp=given)[0].spec == train(mlp=part)[0].spec
    assert train(mlp=torch.sin)[0].spec == train(mlp=spline)[0].spec
    assert train(attention=torch.sin)[0].spec == train(attention=spline)[0].spec
    assert train(mlp=torch.nn.GELU())[0].spec == train()[0].spec


def test_a_search_gives_the_function_that_was_asked_for():
    both = search(learn=("attention", "mlp"))
    assert both.splines.keys() == {"mlp", "attention"} and torch.equal(both.spline.values, both.splines["mlp"].values)
    assert both.spec == search(learn=["mlp", "attention", "mlp"]).spec, "one search has one name"
    alone = search(learn="attention")
    assert alone.splines.keys() == {"attention"} and alone.spline is alone.splines["attention"]
    assert search(seed=1).spec != search().spec


def test_steps_and_width_are_those_asked_for():
    runs = train(steps=3, width=16)
    assert runs.steps.tolist() == [2, 3] and runs[0].model().embedding.weight.shape[-1] == 16
    whole = train(width=16)
    assert whole.accuracy[:, 0].tolist() == runs.accuracy[:, 0].tolist(), "the schedule is that of the whole training"


@pytest.mark.parametrize("task", ["memorize", "ab mod 5", "moby_dick", tasks.Logic()], ids=str)
def test_more_steps_than_the_tasks_own_are_taken(task):
    """On a schedule of that length; up to the task's own number the schedule, and so the key, is that of the task."""
    whole = train(task, seeds=1)[0].spec
    number = whole.recipe.last
    longer = train(task, seeds=1, steps=number + 3)
    assert longer.steps[-1] == number + 3 == longer[0].spec.recipe.steps and longer[0].spec.recipe.stop is None
    assert train(task, seeds=1, steps=number)[0].spec == replace(whole, recipe=replace(whole.recipe, stop=number))


def test_a_task_of_ones_own_is_trained_longer():
    words = [f"{a}{b}" for a in "abcd" for b in "abcd"]
    task = lab.Task.from_pairs(words, words, "copied")
    assert train(task, seeds=1, steps=9).steps[-1] == 9


def test_too_many_arguments_and_the_signature_are_pythons_own():
    with pytest.raises(TypeError, match="multiple values"):
        lab.train("memorize", task="memorize")
    assert list(inspect.signature(lab.train).parameters)[:3] == ["task", "mlp", "attention"]


WRONG = {
    "'chess'; known: memorize": {"task": "chess"},
    "'tiny'; known: smoke, laptop, paper": {"scale": "tiny"},
    "'tpu'; known: auto, cpu, cuda": {"device": "tpu"},
    "seeds=0: give a whole number, 1 or more": {"seeds": 0},
    "seeds=-3": {"seeds": -3},
    "seeds='3'": {"seeds": "3"},
    "seeds=True": {"seeds": True},
    "steps=0": {"steps": 0},
    "width=0": {"width": 0},
    "rate=0: give a number above 0": {"rate": 0},
    "rate=-1": {"rate": -1},
    "lr=0.001: lab.train has rate=; give rate=0.001": {"lr": 1e-3},
    "epochs=10: lab.train has steps=": {"epochs": 10},
    "batch_size=8: lab.train has batch=; give batch=8": {"batch_size": 8},
    "phi='gelu': lab.train has mlp=; give mlp='gelu'": {"phi": "gelu"},
    "model=.*: lab.train trains the lab's own models; yours are trained by lab.compare": {"model": torch.nn.Linear},
    "depth=3: lab.train has task, mlp,.*optimizer": {"depth": 3},
    r"'sraven'; give lab.tasks.Sraven\(\)": {"task": "sraven"},
    r"'Logic'; give lab.tasks.Logic\(\)": {"task": "Logic"},
    r"the task is a tuple; of arrays make a lab.Data: lab.Data.from_arrays\(X, y\)": {"task": ([[1.0]], [0])},
    "the task is a Tensor; of arrays make a lab.Data": {"task": torch.zeros(3, 2)},
    "the task is 3; give the name of one": {"task": 3},
    "width 7 does not divide into 2 heads": {"width": 7},
    "'sine'": {"mlp": "sine"},
    "'softmax'": {"mlp": "softmax"},
    "mlp: this spline has 2 functions; give one of them": {"mlp": lab.Spline(torch.zeros(2, 5))},
    "mlp=3 is no function": {"mlp": 3},
    "attention: a PReLU has weights of its own": {"attention": torch.nn.PReLU()},
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_trained_is_said_before_training(store_folder, said, capsys):
    with pytest.raises(ArgumentError, match=said) as raised:
        train(**WRONG[said] | {"progress": True})
    assert "\n" not in str(raised.value) and not list((store_folder / "runs").glob("*"))
    assert "step/s" not in capsys.readouterr().err, "a progress bar for nothing"


def test_progress_is_a_bar_on_a_terminal_and_a_line_now_and_then_in_a_file(store_folder, monkeypatch, capsys):
    settings = {"mlp": "gelu", "seeds": 1, "progress": True}
    train("memorize", **settings)
    assert capsys.readouterr().err == "", "no bar, and nothing that takes long"
    monkeypatch.setattr("lab.progress.LINES", 0.0)
    train("addmod", **settings)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(re.fullmatch(r"addmod: 1 run: \d+ of 6 steps(, about .* left)?", line) for line in lines)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    train("mano", **settings)
    assert "of 6 steps" not in capsys.readouterr().err, "a bar says it"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"task": "chess"}, "'chess'; known: memorize"),
        ({"task": "sraven"}, "which lab.train takes, and lab.search does not"),
        ({"task": ([[1.0]], [0])}, r"the task is a tuple; of arrays make a lab.Data: lab.Data.from_arrays\(X, y\)"),
        ({"seed": -1}, "seed=-1: give a whole number, 0 or more"),
        ({"seed": 0.5}, "seed=0.5"),
        ({"learn": ()}, "mlp or attention or both"),
        ({"learn": "values"}, "mlp or attention or both"),
        ({"scale": "tiny"}, "'tiny'; known: smoke, laptop, paper"),
        ({"device": "tpu"}, "'tpu'; known: auto, cpu, cuda"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_said_before_searching(store_folder, settings, said):
    with pytest.raises(ArgumentError, match=said):
        search(**settings)
    assert not list(store_folder.rglob("*"))


def test_a_spline_is_named_by_its_values():
    phi = lab.Spline(torch.tensor([0.0, 0.1, 1.0]), -1.0, 2.0)
    part = as_part(phi)
    assert part == Knots(-1.0, 2.0, (0.0, phi.values[1].item(), 1.0)) and as_part(part) is part
    assert as_part("gelu") == "gelu" and as_part("softmax", "attention") == "softmax"


def test_a_function_with_a_hole_is_refused(store_folder):
    with pytest.raises(ArgumentError, match="finite"):
        train(mlp=lab.Spline(torch.tensor([0.0, float("nan"), 1.0])))
    assert not list(store_folder.rglob("*"))


def test_a_diverged_run_says_when_and_with_what(store_folder):
    phi = lab.Spline(torch.full((3,), 3e38), -1.0, 1.0)
    runs = train(mlp=phi)
    for run in runs:
        step, value = run.diverged
        assert step == 0 and not np.isfinite(value) and np.isnan(run.accuracy).all()
        run.model()
    assert Store().verify() == []


def test_progress_is_shown_to_its_end_and_nothing_is_shown_for_nothing(store_folder, capsys):
    runs = train("mano", progress=True, steps=6)
    specs = [run.spec for run in runs]
    capsys.readouterr()
    complete(specs, Store(), "cpu", progress=True)
    assert capsys.readouterr().err == ""


def test_a_run_that_was_never_trained_is_said_to_be_missing(store_folder):
    spec = train()[0].spec
    Store().forget([spec])
    with pytest.raises(LabError, match="not in the store"):
        _ = Run(spec, Store()).accuracy


# Runs to look into.


def test_a_run_to_look_into_is_that_of_the_figures(store_folder):
    for task, method, name in (("sraven", "hyla", "fig5a"), ("logic", "linear", "fig2d")):
        run = lab.trained(task, method, scale="smoke", progress=False)
        assert any(
            spec == run.spec and labels["method"] == method
            for labels, spec in entry(f"hypernetwork/{name}").plan("smoke", 1)
        )
        assert Store().has(run.spec)


def test_a_run_that_came_with_the_lab_is_not_trained_again_but_by_who_asks_for_its_figure(tmp_path, monkeypatch):
    made = lab.trained(scale="smoke", seed=1, store=Store(tmp_path / "here"), progress=False)
    Store(tmp_path / "here").export(made.key, tmp_path / "shipped")
    monkeypatch.setattr("lab.api.SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    found = lab.trained(scale="smoke", seed=1, progress=False)
    assert not (tmp_path / "empty").exists() and found.notes == made.notes
    for name, weights in found.model().named_parameters():
        assert torch.equal(weights, made.model().get_parameter(name))
    complete([made.spec], Store(), progress=False)
    assert Store().has(made.spec), "a store without a shipped part trains for itself"


@pytest.mark.parametrize("task", ["sraven", "logic"])
@pytest.mark.parametrize("method", FIGURE_METHODS)
def test_the_run_to_look_into_is_the_longest_that_came_with_the_lab(task, method, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    shipped = [from_json((folder / "spec.json").read_text()) for folder in SHIPPED.glob("runs/*")]
    model = run_of_codes(task, method).model
    steps = [spec.recipe.last for spec in shipped if spec.task_name == task and spec.model == model]
    assert lab.trained(task, method, progress=False).spec.recipe.last == max(steps)
    assert not (tmp_path / "empty").exists(), "it was trained"


def test_what_cannot_be_looked_into_is_said():
    for wrong, word in ({"task": "memorize"}, "lab.train"), ({"method": "magic"}, "hyla"), ({"scale": "tiny"}, "smoke"):
        with pytest.raises(ArgumentError, match=word):
            lab.trained(**{"scale": "smoke"} | wrong)


def test_tasks_of_the_hypernetwork_paper_train_as_in_its_figures_or_with_parameters_of_your_own(store_folder):
    same = lab.train(tasks.Sraven(features=2), attention="hyla", seeds=2, scale="smoke", progress=False)
    assert [run.spec for run in same] == sraven("smoke", "hyla").runs(2)
    settings = {"mlp": "relu", "attention": "linear", "width": 8, "steps": 4}
    (own,) = lab.train(tasks.Logic(length=5, held_out=0.5), seeds=1, scale="smoke", progress=False, **settings)
    spec = own.spec
    assert (spec.task.length, spec.model.mlp, spec.model.normalization, spec.model.width) == (5, "relu", "none", 8)
    assert own.steps[-1] == 4 and own.model()(torch.zeros(1, 3, 5, 5)).shape == (1, 3, 1, 1)
    with pytest.raises(ArgumentError, match="unknown attention 'foo'; known: softmax, identity"):
        lab.train("addmod", attention="foo", scale="smoke", progress=False)
    with pytest.raises(ArgumentError, match="'hyla' is for Logic and Sraven; for this task give 'softmax'"):
        lab.train("addmod", attention="hyla", scale="smoke", progress=False)
    with pytest.raises(ArgumentError, match="unknown attention 'gelu'; known: softmax"):
        lab.train(tasks.Logic(), attention="gelu", scale="smoke")


@pytest.mark.parametrize("task", ["memorize", "ab mod 5"])
def test_no_name_is_no_gelu(task):
    with pytest.raises(ArgumentError, match="unknown mlp ''"):
        train(task, mlp="", seeds=1, scale="smoke", progress=False)


def test_splits_of_several_words_are_named_whole(store_folder):
    run = lab.trained("logic", "hyla", scale="smoke", progress=False)
    assert "unseen_terms" in run.spec.evaluate
    with pytest.raises(lab.ArgumentError, match="there are: .*unseen_terms") as error:
        run.score("r2", "terms")
    assert " terms" not in str(error.value).partition("there are")[2].replace("unseen_terms", "")
    with pytest.raises(lab.ArgumentError, match="not measured by 'r3'; there are: .*r2"):
        run.score("r3", "unseen_terms")
