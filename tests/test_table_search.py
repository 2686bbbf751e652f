"""`lab.search`, `lab.train` and `lab search` on tables of the user's choice: one call, and errors that help."""

import json
from pathlib import Path

import pytest
import torch

import lab
from lab import tasks
from lab.catalogue.zoo import gain
from lab.cli import main
from lab.errors import ArgumentError
from lab.kinds import check_run as check_rows
from lab.papers.simplicity.settings import ADDITION, LEARNED, grokking, of_table, scale_of_table
from lab.papers.simplicity.tables.settings import IAFS, STARTS, network
from lab.scale import COMMON
from lab.spec import KnotTable, Learned, TwoLossSpec, from_json, replace, to_json
from lab.tasks import Collage, Images, Operation, Sraven, Tabular
from lab.tasks.named import table_named
from lab.training import episodes
from lab.training.two_loss import TableSearch

SMALL = Operation("ab", modulus=5)
CHOICES = (
    SMALL,
    Operation("aba", group="S4"),
    Images("mnist_sample"),
    Images("fashion_mnist_sample", target="id"),
    Tabular("bank-marketing"),
)
QUIET = {"scale": "smoke", "progress": False}


@pytest.mark.parametrize("task", CHOICES, ids=lambda task: task.name)
@pytest.mark.parametrize("scale", COMMON)
def test_every_table_has_models_and_searches_that_never_see_its_test_split(task, scale):
    found = of_table(task, scale)
    assert table_named(task.name) == task
    for run in found.runs(2):
        check_rows(run)
    for learn in ("shared", "layers", "inputs"):
        for by, check in (("episodes", episodes.check), ("two_loss", TableSearch.check)):
            search = found.search(learn, seed=2, by=by)
            check(search)
            assert search.tasks == (task,) if by == "episodes" else search.task == task
            assert "test" not in search.pool and getattr(search, "objective", "val") == "val"
            assert from_json(to_json(search)) == search != found.search(learn, seed=1, by=by)
            assert scale_of_table(search) == scale
            assert scale_of_table(replace(search, knots=7) if by == "two_loss" else replace(search, growth=9.0)) is None


def test_a_search_on_an_operation_is_that_of_its_figure():
    assert of_table(ADDITION).search() == grokking("laptop").search
    runs = [
        replace(run, model=replace(run.model, phi=Learned(of_table(ADDITION).search(), "phi")))
        for run in of_table(ADDITION).runs(2)
    ]
    assert runs == grokking("laptop").runs(LEARNED, 2)


def test_a_table_has_the_models_and_input_functions_of_its_figure():
    found = of_table(Tabular("MagicTelescope"))
    run = network("laptop", "MagicTelescope", method=IAFS)
    assert replace(found.model, inputs=Learned(found.search("inputs"), "inputs")) == run.model
    assert [replace(one, model=run.model) for one in found.runs(1)] == [run]
    assert {restart.start for restart in found.search().restarts} == set(STARTS)


@pytest.mark.parametrize("by", ["episodes", "two_loss"])
def test_a_function_is_learned_and_trained_with(by):
    found = lab.search(SMALL, by=by, **QUIET)
    assert isinstance(found.spec, TwoLossSpec) == (by == "two_loss")
    assert found.spec == lab.search("ab mod 5", by=by, **QUIET).spec
    runs = lab.train("ab mod 5", mlp=found.spline, seeds=2, width=6, steps=7, **QUIET)
    assert runs.accuracy.shape == (2, 2) and runs.steps.tolist() == [4, 7]
    model = runs[1].model()
    assert torch.equal(model.phi.values, found.spline.values) and model.layers[0].weight.shape == (1, 10, 6)
    base = lab.train(SMALL, seeds=2, **QUIET)
    assert base[0].spec.model.phi == "relu"
    ours = lab.train(SMALL, mlp=found.spline, seeds=2, **QUIET)
    phi, plain = found.spline, json.loads(to_json(found.spec))
    told = gain(phi, plain)
    assert (told["seeds"], told["measured"], told["steps"]) == (2, "store", 12)
    assert told["gain_mean"] == pytest.approx(100 * (ours.accuracy.mean() - base.accuracy.mean()), abs=0.06)


@pytest.mark.parametrize("by", ["episodes", "two_loss"])
def test_functions_of_inputs_go_to_the_zoo_and_back(tmp_path, capsys, by):
    main(["search", "ab mod 5", "--scale", "smoke", "--learn", "inputs", "--by", by, "--out", str(tmp_path)])
    path, use = capsys.readouterr().out.splitlines()
    assert Path(path).name == "ab-mod-5-inputs.json" and 'lab.zoo("mine/ab-mod-5-inputs", folder=' in use
    facts = json.loads(Path(path).read_text())["provenance"]
    told = (facts["task"], facts["part"], facts["scale"], facts["paper"])
    assert told == ("ab mod 5", "inputs", "smoke", "simplicity" if by == "episodes" else "transformers")
    phi = lab.zoo("mine/ab-mod-5-inputs", folder=tmp_path)
    found = lab.search(SMALL, learn="inputs", by=by, **QUIET)
    assert torch.equal(phi.values, found.spline.values) and phi.values.shape[0] == 10
    assert KnotTable(-1.0, 1.0, tuple(map(tuple, phi.values.tolist())))
    assert lab.zoo(folder=tmp_path).loc["mine/ab-mod-5-inputs", "task"] == "ab mod 5"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: lab.search("chess", **QUIET),
            "known: memorize.*'a\\+b mod 27'.*mnist_sample.*bank-marketing.*lab data",
        ),
        (lambda: lab.train("chess", **QUIET), "known: memorize.*'a\\+b mod 27'"),
        (lambda: lab.search("a/b mod 27", **QUIET), "unknown operation 'a/b'; choose one of a\\+b"),
        (
            lambda: lab.search("ab mod 5", learn="mlp", **QUIET),
            "learn='mlp': for a table give shared, layers or inputs",
        ),
        (lambda: lab.search("ab mod 5", by="luck", **QUIET), "by='luck': give episodes or two_loss"),
        (lambda: lab.search("memorize", by="episodes", **QUIET), "episodes are for tables"),
        (
            lambda: lab.search(Sraven(), **QUIET),
            "is a Sraven; give the name of one, or one of lab.tasks: Operation, Images, Collage, Tabular",
        ),
        (lambda: lab.train(torch.nn.ReLU(), **QUIET), "Tabular; a model of yours learns in lab.search"),
        (lambda: lab.train("ab mod 5", attention="relu", **QUIET), "models of a table have none"),
        (lambda: lab.search("ab mod 5", scale="tiny", progress=False), "'tiny'; known: smoke"),
        (lambda: lab.search("ab mod 5", seed=-1, **QUIET), "seed=-1"),
        (lambda: lab.train("ab mod 5", mlp="sine", **QUIET), "'sine'"),
    ],
)
def test_what_cannot_be_done_is_one_line_that_says_what_can(store_folder, call, said):
    with pytest.raises(ArgumentError, match=said) as raised:
        call()
    assert "\n" not in str(raised.value) and not list(store_folder.rglob("*"))


def test_names_are_those_of_the_tasks():
    assert table_named("mnist_sample as numbers") == Images("mnist_sample", target="id")
    assert all(table_named(name) is None for name in (*tasks.NAMES, "bank-marketing as numbers", "S4", ""))
    assert Collage in lab.papers.simplicity.settings.KINDS
