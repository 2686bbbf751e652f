"""Training on fresh examples: fleets are their solo runs, resumed runs end with the same bits, batches and dropout
depend on seed and step alone, scores are the task's own."""

import numpy as np
import pytest
import torch

from lab.errors import ArgumentError
from lab.kinds import check_run
from lab.models.hyper import METHODS, method
from lab.spec import AdamWCosine, ConstantRate, HyperModel, Knots, RunSpec, replace
from lab.tasks import Logic, Sraven
from lab.tasks.stream import Examples, Stream
from lab.training.fleet import Fleet, train
from lab.training.streams import Dropout
from tests.models.making import shaken
from tests.training.making import copied, same, through_a_file, until

SEEDS = (0, 1, 2)
RECIPE = AdamWCosine(steps=20, rate=0.003, batch=8, decay=0.1, warmup=3, every=5, examples=20)
MODEL = HyperModel(layers=2, heads=2, width=8, key_width=4, mlp_width=12)
TASKS = {"logic": Logic(length=6), "sraven": Sraven(features=2)}
HYLA = method("hyla", MODEL)
KINDS = pytest.mark.parametrize("kind", TASKS)
BOTH = pytest.mark.parametrize("name", ["softmax", "hyla"])
CPU = torch.device("cpu")


def specs_of(kind="logic", model=HYLA, seeds=SEEDS, **recipe):
    task = TASKS[kind]
    return [RunSpec(task, model, replace(RECIPE, **recipe), seed, task.splits[-2:]) for seed in seeds]


def fleet(specs, wide=False):
    """A fleet; wide: in float64."""
    made = Fleet(specs, [tuple(spec.model.parts.values()) for spec in specs])
    if wide:
        made.model.double()
    return made


def parameters(made):
    return {name: p.detach() for name, p in made.model.named_parameters() if p.requires_grad}


def agree(together, alone, run, tolerance=1e-9):
    """Run `run` of a fleet is the solo run."""
    for name, weight in parameters(alone).items():
        torch.testing.assert_close(weight[0], parameters(together)[name][run], rtol=tolerance, atol=tolerance)
    for name, values in alone.history.arrays().items():
        theirs = together.history.arrays()[name]
        theirs = theirs if name == "steps" else theirs[:, run : run + 1]
        np.testing.assert_allclose(values, theirs, rtol=1e-6, atol=1e-9)


@KINDS
@BOTH
def test_a_fleet_is_its_solo_runs_after_20_steps(kind, name):
    """In float64: one part in 10^9."""
    specs = specs_of(kind, method(name, MODEL))
    together = train(fleet(specs, wide=True))
    for run, spec in enumerate(specs):
        agree(together, train(fleet([spec], wide=True)), run)


def test_runs_of_one_fleet_have_rates_tasks_and_functions_of_their_own():
    """The grid of App. C and the fractions of Fig. 2C are one fleet."""
    base = specs_of()[0]
    specs = [
        replace(base, recipe=replace(RECIPE, rate=0.01)),
        replace(base, recipe=replace(RECIPE, decay=0.9), task=replace(base.task, held_out=0.3)),
        replace(base, recipe=replace(RECIPE, warmup=7), seed=5),
    ]
    functions = [Knots(-2.0, 2.0, (0.0, 0.1 * i, -1.0, i)) for i in range(3)]
    specs = [replace(s, model=replace(HYLA, phi=phi)) for s, phi in zip(specs, functions, strict=True)]
    together = train(fleet(specs, wide=True))
    for run, spec in enumerate(specs):
        agree(together, train(fleet([spec], wide=True)), run)
    columns = [together.history.arrays()["loss"][:, run].tolist() for run in range(3)]
    assert len(set(map(tuple, columns))) == 3


def test_permuting_the_seeds_permutes_the_results():
    order = [2, 0, 1]
    one = train(fleet(specs_of(), wide=True))
    other = train(fleet(specs_of(seeds=order), wide=True))
    for name, weight in parameters(one).items():
        torch.testing.assert_close(weight[order], parameters(other)[name], rtol=1e-9, atol=1e-9)


@KINDS
@BOTH
@pytest.mark.parametrize("dead", [False, True], ids=["healthy", "one diverged"])
def test_a_resumed_fleet_ends_with_the_same_bits(kind, name, dead):
    """Stopped after 7 steps, inside an interval of 5 and a block of batches, kept as a store would, taken up anew."""
    specs = specs_of(kind, method(name, MODEL))

    def start():
        made = fleet(specs)
        if dead:
            with torch.no_grad():
                made.model.embedding.weight[1] = float("nan")
        return made

    whole, half = train(start()), train(start(), until(7))
    resumed = fleet(specs)
    resumed.restore(through_a_file(half.state()))
    assert same(resumed.state(), half.state())
    train(resumed)
    assert same(resumed.state(), whole.state())
    assert whole.died.tolist() == [-1, 0 if dead else -1, -1]


def test_a_fleet_that_was_stopped_before_its_first_evaluation_goes_on():
    whole, half = train(fleet(specs_of())), train(fleet(specs_of()), until(3))
    resumed = fleet(specs_of())
    resumed.restore(through_a_file(half.state()))
    assert same(train(resumed).state(), whole.state())


@BOTH
def test_a_run_that_is_no_longer_finite_is_frozen_and_the_others_go_on(name):
    """The others end with the very bits they would have had, decay or not."""
    specs = specs_of(model=method(name, MODEL))
    healthy, made = train(fleet(specs)), train(fleet(specs), until(7))
    with torch.no_grad():
        made.model.head.bias[1] = float("inf")
    before = copied(parameters(made))
    train(made)
    assert made.died.tolist() == [-1, 7, -1]
    for name, weight in parameters(made).items():
        assert torch.equal(weight[[0, 2]], parameters(healthy)[name][[0, 2]])
        assert torch.equal(weight[1], before[name][1]), "weights of a dead run are kept, not decayed"
    scores = made.history.arrays()
    assert np.isnan(scores["r2_ood"][1:, 1]).all() and np.isfinite(scores["r2_ood"][:, [0, 2]]).all()


@KINDS
def test_training_lowers_the_loss(kind):
    model = HyperModel(layers=2, heads=4, width=32, key_width=16, mlp_width=64)
    made = train(fleet(specs_of(kind, model, steps=150, rate=0.01, batch=64, every=30)))
    loss = made.history.arrays()["loss"]
    assert (loss[-1] < 0.8 * loss[0]).all() if kind == "logic" else (loss[-1] < loss[0] - 0.03).all()


# Batches and dropout.


def test_a_batch_is_the_tasks_own_by_seed_and_step():
    made = fleet(specs_of())
    for step in (0, 17, 3):
        batch = made.batch(step).examples
        for run, seed in enumerate(SEEDS):
            alone = Stream(TASKS["logic"], [seed], 8).at(step)
            assert torch.equal(batch.inputs[run], alone.inputs[0]) and torch.equal(batch.targets[run], alone.targets[0])


def test_dropout_depends_on_seed_and_step_alone_and_keeps_its_share():
    together = Dropout((3, 4), (2, 20, 20), 0.1, CPU)
    alone = Dropout((4,), (2, 20, 20), 0.1, CPU)
    late = together.at(40).clone()
    for step in (0, 1, 40):
        assert torch.equal(together.at(step)[1], alone.at(step)[0])
    assert torch.equal(together.at(40), late)
    masks = torch.stack([together.at(step) for step in range(40)])
    assert masks.unique().tolist() == pytest.approx([0.0, 1 / 0.9])
    assert masks.mean().item() == pytest.approx(1.0, abs=4 * (1 / 9 / masks.numel()) ** 0.5)  # 4 standard errors
    assert not torch.equal(masks[0, 0], masks[1, 0]) and not torch.equal(masks[0, 0], masks[0, 1])
    assert Dropout((3,), (2, 20, 20), 0.0, CPU).at(0) is None


def test_dropout_is_in_training_and_not_in_evaluation():
    dropped, whole = (fleet(specs_of(model=replace(HYLA, dropout=rate))) for rate in (0.5, 0.0))
    for made in (dropped, whole):
        shaken(made.model)
    assert same(parameters(dropped), parameters(whole))
    assert {k: v.tolist() for k, v in dropped.scores().items()} == {k: v.tolist() for k, v in whole.scores().items()}
    losses = [made.batch(0).loss(made.batch(0).outputs(made.model)) for made in (dropped, whole)]
    assert (losses[0] != losses[1]).all()


def test_the_splits_that_are_followed_make_no_difference_to_the_weights():
    states = []
    for splits in (("val",), ("ood", "unseen_terms")):
        states.append(parameters(train(fleet([replace(spec, evaluate=splits) for spec in specs_of()]))))
    assert same(*states)


# Scores.


@KINDS
@pytest.mark.parametrize("examples", [32, 40, 11])
def test_scores_are_those_of_the_task_on_all_examples_at_once(kind, examples):
    """Each run on examples of its own, added up over chunks of which the last is cut."""
    made, task = fleet(specs_of(kind, examples=examples)), TASKS[kind]
    shaken(made.model)
    found, size = made.scores(), -(-examples // 16)
    for split in task.splits[-2:]:
        streams = [Stream(task, [seed], size, split) for seed in SEEDS]
        for run, stream in enumerate(streams):
            parts = [stream.at(i)[0] for i in range(-(-examples // size))]
            inputs, targets = (torch.cat([getattr(p, n) for p in parts])[:examples] for n in ("inputs", "targets"))
            latents = {n: torch.cat([p.latents[n] for p in parts])[None, :examples] for n in parts[0].latents}
            with torch.no_grad():
                outputs = made.model(inputs.expand(3, *inputs.shape))[run : run + 1]
            for name, value in task.scores(outputs, targets[None], Examples(inputs, targets, latents)).items():
                assert found[f"{name}_{split}"][run] == pytest.approx(value.item(), rel=1e-4), name


@KINDS
def test_names_of_scores(kind):
    wanted = {
        "logic": [f"{s}_{split}" for split in ("ood", "unseen_terms") for s in ("mse", "r2", "r2_paper")],
        "sraven": [f"{s}_{split}" for split in ("test", "ood") for s in ("accuracy", "accuracy_per_feature")],
    }
    arrays = train(fleet(specs_of(kind, stop=5))).history.arrays()
    assert list(arrays) == ["steps", "loss", *sorted(wanted[kind])]
    assert {len(values) for values in arrays.values()} == {1}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"evaluate": ("search",)}, "logic has no split 'search'"),
        ({"recipe": ConstantRate(10, 0.1)}, "batch=None: the task logic makes examples"),
    ],
)
def test_what_does_not_fit_together_is_said(changes, said):
    spec = replace(specs_of()[0], **changes)
    for call in (lambda: check_run(spec), lambda: fleet([spec])):
        with pytest.raises(ArgumentError, match=said):
            call()


def test_every_method_trains():
    for name in METHODS:
        made = train(fleet(specs_of("sraven", method(name, MODEL), seeds=(0,), stop=6)))
        assert (made.died < 0).all() and np.isfinite(made.history.arrays()["loss"]).all(), name
