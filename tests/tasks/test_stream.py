"""Laws of tasks that are generated fresh: whose numbers depend on what, which combinations are held out."""

import pickle
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import ArgumentError
from lab.spec import replace, to_json
from lab.tasks import Logic, Sraven
from lab.tasks.stream import BLOCK, Examples, Stream, hold_out

TASKS = (Logic(length=8), Sraven(features=3), Sraven(features=2, values=5, permute=False))


def names(task):
    return f"{task.name}-{task.length}"


def draw(task, split="train", count=64, start=0, seed=0):
    return task.sample(split, count, torch.Generator().manual_seed(start), seed)


def same(a, b):
    assert a.latents.keys() == b.latents.keys()
    pairs = [(a.inputs, b.inputs), (a.targets, b.targets), *((a.latents[name], b.latents[name]) for name in a.latents)]
    return all(torch.equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_shapes_are_as_the_contract_says(task):
    examples = draw(task)
    assert examples.inputs.shape == (64, task.length, task.inputs) and examples.inputs.dtype == torch.float32
    assert examples.targets.shape == (64, len(task.positions)) and len(examples) == 64
    assert examples.targets.dtype == (torch.float32 if task.outputs == 1 else torch.int64)
    assert all(len(latent) == 64 for latent in examples.latents.values())
    assert all(0 <= position < task.length for position in task.positions)
    assert {"train", "val", "test", "ood"} <= set(task.splits)


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_the_same_numbers_from_the_same_state_and_no_others(task):
    assert same(draw(task), draw(task))
    assert not torch.equal(draw(task).inputs, draw(task, start=1).inputs)
    generator = torch.Generator().manual_seed(0)
    assert not torch.equal(*(task.sample("train", 64, generator, 0).inputs for _ in range(2)))


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_splits_share_no_numbers_even_from_the_same_state(task):
    drawn = [draw(task, split, count=4).inputs for split in task.splits]
    assert not any(torch.equal(a, b) for i, a in enumerate(drawn) for b in drawn[:i])


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_global_random_state_is_left_alone(task):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    draw(task)
    Stream(task, [0, 1], 4).at(0)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_a_batch_depends_on_its_run_and_step_alone(task):
    alone, together = Stream(task, [5], batch=8), Stream(task, [2, 5, 3], batch=8)
    steps = (0, BLOCK - 1, BLOCK, 3 * BLOCK + 2)
    seen = {step: alone.at(step)[0] for step in steps}
    for step in reversed(steps):
        assert same(seen[step], together.at(step)[1])
        assert same(seen[step], Stream(task, [5], batch=8).at(step)[0])


@pytest.mark.parametrize("task", (Logic(length=8), Sraven()), ids=names)
def test_fresh_data_repeat_neither_training_nor_themselves(task):
    """The in-distribution test split of the reference repeats its first training batches. Chance repeats nothing here:
    even four constants or progressions have 8¹² grids."""
    batches = (Stream(task, [0], 64, split).at(step) for split in ("train", "val", "test") for step in range(3 * BLOCK))
    seen = torch.cat([batch.inputs[0].flatten(1) for batch in batches])
    assert len(seen.unique(dim=0)) == len(seen) == 3 * 3 * BLOCK * 64


def test_examples_are_indexed_and_stacked():
    examples = draw(TASKS[0], count=6)
    assert same(examples[2:4], Examples.stack([examples[2], examples[3]]))
    mask = torch.tensor([True, False, False, True, False, False])
    assert same(examples[mask], Examples.stack([examples[0], examples[3]]))


def test_tasks_stand_in_specs():
    for task in TASKS:
        assert hash(task) == hash(pickle.loads(pickle.dumps(task))) and to_json(task) == to_json(replace(task))
    assert to_json(Logic(held_out=0)) == to_json(Logic(held_out=0.0)) != to_json(Logic())


@given(
    parts=st.integers(3, 8),
    size=st.integers(1, 3),
    fraction=st.floats(0, 0.5),
    seed=st.integers(0, 2**40),
)
def test_held_out_combinations(parts, size, fraction, seed):
    everything = torch.combinations(torch.arange(parts), size)
    seen, unseen = hold_out(everything, fraction, seed, "law")
    assert len(unseen) == int(fraction * len(everything))
    rows = [tuple(row) for part in (seen, unseen) for row in part.tolist()]
    assert sorted(rows) == sorted(map(tuple, everything.tolist()))  # each once, in one of both
    if size > 1:
        assert set(unseen.flatten().tolist()) <= set(seen.flatten().tolist())
    assert seen.tolist() == sorted(seen.tolist()) and unseen.tolist() == sorted(unseen.tolist())


def test_every_combination_is_held_out_as_often_as_the_others():
    everything = torch.combinations(torch.arange(6), 2)
    held = [hold_out(everything, 0.4, seed, "law")[1] for seed in range(600)]
    times = [sum([a, b] in part.tolist() for part in held) for a, b in everything.tolist()]
    # 240 expected; four standard deviations of a binomial
    assert max(abs(count - 240) for count in times) < 4 * (600 * 0.4 * 0.6) ** 0.5


def test_another_seed_holds_out_others_and_tasks_are_independent():
    assert not torch.equal(Logic().functions("ood", seed=0), Logic().functions("ood", seed=1))
    assert torch.equal(Logic(length=8).functions("ood", seed=1), Logic(length=96).functions("ood", seed=1))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Logic(held_out=1.0), "from 0 to below 1"),
        (lambda: Logic(held_out="most"), "held_out='most'"),
        (lambda: Logic(held_out=0.95), "hold out less"),
        (lambda: Logic(terms=5), "reserve 4 terms"),
        (lambda: Logic(variables=8, terms=4), "more than 1000000 functions"),
        (lambda: Logic(length=1), "length=1"),
        (lambda: Logic(variables=1), "variables=1"),
        (lambda: Sraven(features=9), "1 to 8"),
        (lambda: Sraven(features=0), "features=0"),
        (lambda: Sraven(values=2), "values=2"),
        (lambda: Sraven(values=17), "3 to 16"),
        (lambda: Sraven(features=2, held_out=0.99), "hold out less"),
        (lambda: draw(Logic(), "search"), "no split 'search'; choose one of train"),
        (lambda: draw(Sraven(), "unseen_terms"), "sraven has no split 'unseen_terms'"),
        (lambda: draw(Logic(held_out=0), "ood"), "holds no function out"),
        (lambda: draw(Sraven(held_out=0), "ood"), "holds nothing out"),
        (lambda: draw(Sraven(), count=0), "count=0"),
        (lambda: draw(Logic(), count=2.5), "count=2.5"),
        (lambda: draw(Logic(), seed=-1), "seed=-1"),
        (lambda: Logic().sample("ood", 4, torch.Generator(), 0, fixed="x"), "say 'context', 'query'"),
        (lambda: Stream(Logic(), [0], 4, "lengths"), "no split 'lengths'"),
        (lambda: Stream(Logic(), [0], 0), "batch=0"),
        (lambda: Sraven().make(torch.tensor([[0, 1, 2]]), torch.Generator()), r"\(problems, 4\)"),
        (lambda: Sraven(features=2).make(torch.tensor([[2, 1]]), torch.Generator()), "in increasing order"),
        (lambda: Sraven(features=2).make(torch.tensor([[2, 8]]), torch.Generator()), r"0\.\.7"),
        (lambda: Logic().make(torch.tensor([[3, 3]]), torch.rand(1, 32, 4)), "in increasing order"),
        (lambda: Logic().make(torch.tensor([[3, 4]]), torch.rand(1, 32, 3)), r"give \(1, 32, 4\)"),
        (lambda: Logic().make(torch.tensor([[3]]), torch.rand(1, 32, 4)), r"\(sequences, 2\)"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(make, says):
    with pytest.raises(ArgumentError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_statistics_of_two_batches_add_up(task):
    examples = draw(task, "ood", count=50)
    outputs = torch.randn(3, 50, len(task.positions), task.outputs, generator=torch.Generator().manual_seed(1))
    targets = examples.targets.expand(3, *examples.targets.shape)
    whole = task.scores(outputs, targets, examples)
    parts = [task.statistics(outputs[:, part], targets[:, part], examples[part]) for part in (slice(20), slice(20, 50))]
    added = task.summary({name: parts[0][name] + parts[1][name] for name in parts[0]})
    assert whole.keys() == added.keys()
    for name, value in whole.items():
        assert value.shape == (3,) and value.dtype == torch.float64
        torch.testing.assert_close(value, added[name], rtol=1e-12, atol=0)


@pytest.mark.parametrize("task", TASKS, ids=names)
def test_each_run_is_scored_on_its_own_examples(task):
    batch = Stream(task, [0, 1], 16, "test").at(0)
    outputs = torch.randn(2, 16, len(task.positions), task.outputs, generator=torch.Generator().manual_seed(2))
    together = task.scores(outputs, batch.targets, batch)
    losses = task.loss(outputs, batch.targets)
    for run, name in product(range(2), together):
        alone = task.scores(outputs[run : run + 1], batch.targets[run : run + 1], batch[run])
        torch.testing.assert_close(together[name][run], alone[name][0])
        torch.testing.assert_close(losses[run], task.loss(outputs[run : run + 1], batch.targets[run : run + 1])[0])
