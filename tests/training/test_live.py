"""Live training: the bits of ordinary training, in another thread, until it is stopped."""

import threading

import numpy as np
import pytest
import torch

from lab.spec import AdamTrapezoid, ModelSpec, RunSpec, replace
from lab.training.fleet import Fleet, train
from lab.training.live import Live

LONG = 100_000  # steps; nobody waits for them


def specs(steps, seeds=2, **recipe):
    recipe = AdamTrapezoid(steps, 0.003, batch=8, **({"every": 3} | recipe))
    return [RunSpec("memorize", ModelSpec(layers=1, width=8), recipe, seed) for seed in range(seeds)]


class Watch:
    """Keeps what a training reports."""

    def __init__(self):
        self.steps, self.history, self.errors, self.running = [], {}, [], threading.Event()

    def report(self, number, fleet):
        self.steps.append(fleet.step)
        self.history = fleet.history.arrays()
        if fleet.step:
            self.running.set()


def test_it_trains_as_the_loop_does():
    seen = Watch()
    assert Live([specs(8)], seen.report, seen.errors.append).start().join(60)
    fleet = train(Fleet(specs(8), [("gelu", "softmax")] * 2))
    assert seen.errors == [None]
    assert seen.steps[-1] == 8
    for name, expected in fleet.history.arrays().items():
        np.testing.assert_array_equal(seen.history[name], expected)


def test_fleets_train_side_by_side_as_each_would_alone():
    short, long = specs(300, every=50), [replace(spec, model=replace(spec.model, mlp="relu")) for spec in specs(600)]
    order, history, errors = [], {}, []

    def report(number, fleet):
        order.append(number)
        history[number] = fleet.step, fleet.history.arrays()

    assert Live([short, long], report, errors.append).start().join(120)
    assert errors == [None] and [history[number][0] for number in (0, 1)] == [300, 600]
    turns = order[2:]  # both report before the first step
    assert turns[0] != turns[1] and len(turns) > 2  # none waits for the other's end
    for number, runs in enumerate((short, long)):
        alone = train(Fleet(runs, [(runs[0].model.mlp, "softmax")] * 2)).history.arrays()
        for name, expected in alone.items():
            np.testing.assert_array_equal(history[number][1][name], expected)


def test_it_stops_and_leaves_torch_as_it_was():
    seen, threads, state = Watch(), torch.get_num_threads(), torch.get_rng_state()
    live = Live([specs(LONG, every=LONG)], seen.report, seen.errors.append).start()
    assert seen.running.wait(60)
    live.stop()
    assert live.join(10)
    assert seen.errors == [None] and 0 < seen.steps[-1] < LONG
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


def test_two_at_a_time_leave_the_number_of_threads():
    found, seen = [], [Watch(), Watch()]

    def ask():
        thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        thread.start()
        thread.join()

    ask()
    lives = [Live([specs(LONG, every=LONG)], watch.report, watch.errors.append).start() for watch in seen]
    assert all(watch.running.wait(60) for watch in seen)
    for live in lives:
        live.stop()
        assert live.join(10)
    ask()
    assert found[0] == found[1]


def test_an_error_reaches_the_end():
    seen = Watch()
    wrong = [replace(spec, model=replace(spec.model, width=9)) for spec in specs(8)]
    assert Live([wrong], seen.report, seen.errors.append).start().join(60)
    assert "width 9" in str(seen.errors[0])


@pytest.mark.parametrize("seeds", [1, 3])
def test_gradients_flow_where_the_caller_has_none(seeds):
    seen = Watch()
    with torch.no_grad():
        live = Live([specs(8, seeds=seeds)], seen.report, seen.errors.append).start()
        assert live.join(60)
    assert seen.errors == [None]
    assert (np.diff(seen.history["loss"], axis=0) != 0).all()
