"""Checkpoints that are kept of a training: at which steps, of which weights, whatever happens in between."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lab
from lab import engine, jobs
from lab.cli import main
from lab.errors import ArgumentError
from lab.jobs.course import Course, course_steps
from lab.probes.weights import checkpoints_of
from lab.run import Run
from lab.search_results import EpisodeResult, SearchResult
from lab.spec import ConstantRate, EpisodeSpec, Perceptron, RunSpec
from lab.spec.searches import Restart
from lab.store import Store
from lab.tasks import Operation
from tests.test_engine import RUNS, SEARCH, digests

KEEP = 5
ON_TABLE = [
    RunSpec(Operation(modulus=5), Perceptron(width=8), ConstantRate(9, 0.5, every=3), seed) for seed in range(2)
]
INNER = ConstantRate(3, 0.5)
EPISODES = EpisodeSpec(Operation(modulus=5), Perceptron(width=8), INNER, INNER, (Restart(), Restart(1)), episodes=7)
KINDS = {"fleet": RUNS[:2], "perceptrons": ON_TABLE, "two losses": [SEARCH], "episodes": [EPISODES]}


@given(st.integers(0, 3000), st.integers(2, 100))
def test_steps_go_from_the_first_to_the_last_and_are_as_many_as_there_can_be(last, keep):
    steps = course_steps(last, keep)
    assert steps == sorted(set(steps)) and len(steps) == min(keep, last + 1)
    assert steps[-1] == last and (steps[0] == 0 or last == 0)
    apart = [b - a for a, b in zip(steps, steps[1:], strict=False)]
    assert all(b >= a - 1 for a, b in zip(apart, apart[1:], strict=False)), "farther and farther apart, up to rounding"


def courses(store, specs):
    return [store.course(spec) for spec in specs]


def alike(one, other):
    return all(
        a.keys() == b.keys() and all(torch.equal(a[n], b[n]) for n in a) for a, b in zip(one, other, strict=True)
    )


def test_numbers_that_a_function_learns_are_in_the_trajectory(tmp_path):
    run = lab.train("memorize", mlp="xielu", seeds=1, scale="smoke", store=Store(tmp_path), progress=False, keep=3)[0]
    names = [name for name, _ in run.model().named_parameters()]
    for step, way in zip(*run.trajectory, strict=True):
        weights = dict(run.model(step).named_parameters())
        assert way.tolist() == torch.cat([weights[name].flatten() for name in names]).tolist()


@pytest.mark.parametrize("specs", KINDS.values(), ids=KINDS)
def test_the_last_checkpoint_is_what_training_gives_and_results_are_those_without_any(specs, tmp_path):
    plain, store = Store(tmp_path / "plain"), Store(tmp_path / "kept")
    engine.complete(specs, plain, "cpu", 1)
    engine.complete(specs, store, "cpu", 1, keep=KEEP)
    assert digests(store) == digests(plain) and store.foreign() == [] and store.verify() == []
    for spec in specs:
        if isinstance(spec, RunSpec):
            run = Run(spec, store)
            last = checkpoints_of(run.model(), run.trajectory[1]).weights[-1]
            assert len(last) == sum(weight.numel() for weight in run.model().parameters())
            assert spec in ON_TABLE or torch.equal(
                run.model(run.checkpoints[-1]).unembedding.weight, run.model().unembedding.weight
            )
        else:
            found = (EpisodeResult if spec is EPISODES else SearchResult)(spec, store)
            for name, spline in found.at(int(found.checkpoints[-1])).items():
                assert torch.equal(spline.values, found.splines[name].values)
            assert not all(torch.equal(found.at(0)[n].values, spline.values) for n, spline in found.splines.items())
    engine.complete(specs, plain, "cpu", 1, keep=KEEP)  # what is there is trained again, and gives the same
    assert digests(store) == digests(plain) and alike(courses(store, specs), courses(plain, specs))


@pytest.mark.parametrize("specs", KINDS.values(), ids=KINDS)
def test_a_kill_costs_no_checkpoint_and_changes_no_bit(specs, tmp_path, monkeypatch):
    whole, store, look = Store(tmp_path / "whole"), Store(tmp_path / "cut"), Course.look
    engine.complete(specs, whole, "cpu", 1, keep=KEEP)
    monkeypatch.setattr(jobs.job, "CHECKPOINT_SECONDS", -1.0)

    def cut(course, state):
        look(course, state)
        if state.step == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Course, "look", cut)
        engine.complete(specs, store, "cpu", 1, keep=KEEP)
    engine.complete(specs, store, "cpu", 1, keep=KEEP)
    assert digests(store) == digests(whole) and alike(courses(store, specs), courses(whole, specs))


def test_a_training_that_was_cut_without_checkpoints_begins_again(tmp_path, monkeypatch):
    whole, store = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    engine.complete(RUNS[:2], whole, "cpu", 1, keep=KEEP)
    monkeypatch.setattr(jobs.job, "CHECKPOINT_SECONDS", -1.0)

    def cut(done, total, what):
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.complete(RUNS[:2], store, "cpu", 1, cut)
    engine.complete(RUNS[:2], store, "cpu", 1, keep=KEEP)
    assert digests(store) == digests(whole) and alike(courses(store, RUNS[:2]), courses(whole, RUNS[:2]))


def test_plain_steps_and_the_kernels_have_the_same_checkpoints_up_to_rounding(tmp_path, monkeypatch):
    stores = []
    for steps in ("kernel", "plain"):
        monkeypatch.setenv("LAB_STEPS", steps)
        stores.append(Store(tmp_path / steps))
        engine.complete(ON_TABLE, stores[-1], "cpu", 1, keep=KEEP)
    for one, other in zip(*(courses(store, ON_TABLE) for store in stores), strict=True):
        for name in one:
            torch.testing.assert_close(one[name], other[name], rtol=1e-4, atol=1e-6)


def test_checkpoints_are_kept_once_said_when_they_are_missing_and_go_with_their_run(tmp_path, capsys, monkeypatch):
    store, asked = Store(tmp_path), {"seeds": 2, "scale": "smoke", "store": Store(tmp_path), "progress": False}
    (first, _), _ = lab.train("memorize", **asked), lab.train("memorize", **asked, keep=KEEP)
    assert "2 of 2 are in the store without 5 checkpoints, and are trained again" in capsys.readouterr().err
    files = {path: path.stat().st_ino for path in (tmp_path / "courses").iterdir()}
    kept = lab.train("memorize", **asked, keep=KEEP - 1)
    assert kept[0].checkpoints.tolist() == course_steps(6, KEEP) and capsys.readouterr().err == ""
    assert {path: path.stat().st_ino for path in (tmp_path / "courses").iterdir()} == files, "more than asked for"
    next(iter(files)).write_bytes(b"0" * 100)
    assert len(store.foreign()) == 1, "this could be anybody's"
    path = tmp_path / "courses" / next(iter(files)).name
    path.write_bytes(b"0" * 40 + b"{damaged")
    assert [line.partition(" in ")[0] for line in store.verify()] == [f"courses/{path.name}"]
    assert store.clean() == [f"courses/{path.name}"] and store.foreign() == []
    assert store.verify() == []
    assert first.has_checkpoints + kept[1].has_checkpoints == 1, "one was damaged"
    monkeypatch.setenv("LAB_STORE", str(tmp_path))
    main(["store", "export", *(run.key for run in kept), "--out", str(tmp_path / "other")])
    assert capsys.readouterr().err == f"its checkpoints stay in {tmp_path / 'courses'}: these are not copied\n"
    store.forget([run.spec for run in kept])
    assert not list((tmp_path / "courses").iterdir())


@pytest.mark.parametrize("keep", [0, -1, 1, True, 10**6, 2.5, "20"])
@pytest.mark.parametrize("call", [lab.train, lab.search])
def test_numbers_that_mean_nothing_are_refused(call, keep, tmp_path):
    with pytest.raises(ArgumentError, match=r"^keep=.*give a whole number, 2"):
        call("memorize", scale="smoke", store=Store(tmp_path), keep=keep)


def test_where_there_is_no_checkpoint_it_is_said_what_to_do(tmp_path):
    store = Store(tmp_path)
    run = lab.train("memorize", seeds=1, scale="smoke", store=store, progress=False)[0]
    learned = lab.search("memorize", scale="smoke", store=store, progress=False)
    for ask, call in ((lambda: run.model(0), "train"), (lambda: learned.at(0), "search")):
        with pytest.raises(ArgumentError, match=rf"no checkpoints of memorize.* lab\.{call}\(…, keep=20\) trains"):
            ask()
    with pytest.raises(ArgumentError, match="not remembered on its way; train it with keep=20"):
        _ = run.trajectory
    learned = lab.search("memorize", scale="smoke", store=store, progress=False, keep=3)
    with pytest.raises(ArgumentError, match=r"step=5: checkpoints were kept after 0, 2, 6"):
        learned.at(5)
