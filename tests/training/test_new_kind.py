"""A task, a model and a recipe that the lab does not know are added in this file alone: they train side by side, resume
bit for bit, are listed by the command, and drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lab import cli, engine
from lab.errors import ArgumentError
from lab.kinds import Sizes, build, check, optimizer, sizes, training_data
from lab.plots.panels import grid
from lab.run import Run
from lab.seeds import stream
from lab.spec import RunSpec, from_json, key, register, replace, to_json
from lab.store import Store
from lab.training.fleet import Fleet, train
from lab.training.optimizers import RunRates, trainable

# The task: a sine of a random frequency, to be followed by a function of one variable. It is measured by its error.


@register
@dataclass(frozen=True)
class Sine:
    frequency: float
    name: str = "sine"


@dataclass(frozen=True)
class Points:
    inputs: Tensor  # (R, B, 1)
    targets: Tensor  # (R, B)

    def outputs(self, model: nn.Module) -> Tensor:
        return model(self.inputs)

    def loss(self, outputs: Tensor) -> Tensor:
        return (outputs[..., 0] - self.targets).square().mean(1)


class SineData:
    columns, metric_signs = ("error_test",), {"error": -1}

    def __init__(self, specs: Sequence[RunSpec], device: torch.device):
        self.specs, self.device = specs, device

    def at(self, step: int) -> Points:
        drawn = []
        for spec in self.specs:
            generator = torch.Generator().manual_seed(stream(spec.seed, "batches", step))
            drawn.append(torch.rand(spec.recipe.batch, 1, generator=generator) * 2 - 1)
        return self._points(torch.stack(drawn).to(self.device))

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        grid = torch.linspace(-1, 1, 50, device=self.device)[:, None].expand(len(self.specs), -1, -1)
        batch = self._points(grid)
        return {"error_test": batch.loss(batch.outputs(model)).cpu().numpy()}

    def _points(self, x: Tensor) -> Points:
        frequencies = torch.tensor([spec.task.frequency for spec in self.specs], device=self.device)
        return Points(x, torch.sin(frequencies[:, None] * x[..., 0]))


@sizes.register(Sine)
def _(task: Sine, seed: int) -> Sizes:
    return Sizes("row", inputs=1, outputs=1)


@training_data.register(Sine)
def _(task: Sine, specs: Sequence[RunSpec], device: torch.device) -> SineData:
    return SineData(specs, device)


# The model: a sum of bumps φ(wx + b).


@register
@dataclass(frozen=True)
class Bumps:
    width: int = 8
    phi: str = "gelu"
    sharpness: float = field(default=1.0, metadata={"since": 2})
    layers: int = 1

    @property
    def parts(self) -> dict[str, str]:
        return {"phi": self.phi}

    def activation_memory(self, length: int) -> float:
        return self.width


class Sum(nn.Module):
    def __init__(self, model: Bumps, seeds: Sequence[int], phi: nn.Module):
        super().__init__()
        drawn = [torch.randn(3, model.width, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        self.weights, self.phi = nn.Parameter(torch.stack(drawn) * model.sharpness), phi

    def forward(self, x: Tensor) -> Tensor:
        scale, shift, height = self.weights[:, :, None].unbind(1)
        return (height * self.phi(x * scale + shift)).sum(-1, keepdim=True)


@build.register(Bumps)
def _(model: Bumps, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module]) -> Sum:
    return Sum(model, [spec.seed for spec in specs], *modules)


@check.register(Bumps)
def _(model: Bumps, spec: RunSpec) -> None:
    if model.width < 1:
        raise ArgumentError(f"width={model.width}: give one or more")


# The recipe: signs of gradients.


@register
@dataclass(frozen=True)
class Signs:
    steps: int
    rate: float
    batch: int = 16
    every: int = 5
    watched: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        return self.steps


class SignDescent(RunRates):
    def __init__(self, weights: Sequence[Tensor], runs: int):
        super().__init__(weights, runs)

    def set_rates(self, recipes: Sequence[Signs], step: int) -> None:
        self.rates = [recipe.rate * (1 - step / recipe.steps) for recipe in recipes]

    @torch.no_grad()
    def step(self) -> None:
        for weight in self.param_groups[0]["params"]:
            weight -= torch.tensor(self.rates)[:, None, None] * weight.grad.sign()


@optimizer.register(Signs)
def _(recipe: Signs, recipes: Sequence[Signs], model: nn.Module) -> SignDescent:
    return SignDescent(trainable(model), len(recipes))


SPECS = [RunSpec(Sine(3.0), Bumps(), Signs(40, 0.02), seed) for seed in (0, 1, 2)]


def fleet(specs):
    return Fleet(specs, [tuple(spec.model.parts.values()) for spec in specs])


def test_its_runs_train_side_by_side_and_learn():
    made = train(fleet(SPECS))
    errors = made.history.arrays()["error_test"]
    assert errors.shape == (8, 3) and (errors[-1] < 0.5 * errors[0]).all()
    for run, spec in enumerate(SPECS):
        alone = train(fleet([spec]))
        torch.testing.assert_close(alone.run_weights(0)["weights"], made.run_weights(run)["weights"])


def test_a_resumed_fleet_ends_with_the_same_bits():
    whole, half, resumed = (fleet(SPECS) for _ in range(3))
    train(whole)
    train(half, lambda state: state.step < 13)
    resumed.restore({name: tensor.clone() for name, tensor in half.state().items()})
    train(resumed)
    assert torch.equal(whole.model.weights, resumed.model.weights)
    assert np.array_equal(whole.history.arrays()["loss"], resumed.history.arrays()["loss"])


def test_the_engine_trains_it_once_the_command_lists_it_and_it_is_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_STORE", str(tmp_path))
    store = Store()
    engine.complete(SPECS, store, "cpu", workers=1)
    runs = [Run(spec, store) for spec in SPECS]
    assert {run.notes["fleet"] for run in runs} == {3}, "side by side"
    before = [run.notes for run in runs]
    engine.complete(SPECS, store, "cpu", workers=1)
    assert [Run(spec, store).notes for spec in SPECS] == before, "nothing is trained twice"
    cli.main(["store", "list"])
    listed = capsys.readouterr().out
    assert listed.count(" sine ") == 3 and " 40 " in listed
    assert runs[0].model()(torch.zeros(1, 2, 1)).shape == (1, 2, 1)
    drawn = grid(["error"], columns=1, height=200)
    for run in runs:
        drawn.add_scatter(x=run.steps, y=run.score("error", "test"), name=f"seed {run.spec.seed}", row=1, col=1)
    assert [list(trace.x) for trace in drawn.data] == [list(range(5, 41, 5))] * 3
    assert all(trace.y[-1] < trace.y[0] for trace in drawn.data)


def test_what_cannot_be_trained_is_said():
    with pytest.raises(ArgumentError, match="width=0: give one or more"):
        fleet([replace(SPECS[0], model=Bumps(width=0))])


def test_its_json_comes_back_and_a_field_that_came_later_changes_no_key():
    assert from_json(to_json(SPECS[0])) == SPECS[0]
    assert "sharpness" not in to_json(SPECS[0])
    sharper = replace(SPECS[0], model=Bumps(sharpness=2.0))
    assert from_json(to_json(sharper)) == sharper and key(sharper) != key(SPECS[0])


def test_names_of_kinds_are_their_own():
    with pytest.raises(ArgumentError, match="another kind called Sine"):
        register(dataclass(frozen=True)(type("Sine", (), {})))
    with pytest.raises(ArgumentError, match="no frozen dataclass"):
        register(type("Wild", (), {}))
