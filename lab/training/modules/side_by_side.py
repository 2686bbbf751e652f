"""Models of the user's side by side, computed at once or one by one; and their batches."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.data import measures
from lab.data.data import Data, Inputs, take
from lab.data.measures import at_least_float32
from lab.errors import ArgumentError, shortened
from lab.kinds import Sizes, build, check, side_by_side, sizes, training_data
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import put
from lab.probes.reading import evaluating, restorers
from lab.seeds import stream
from lab.spec import DataSpec, ModuleSpec, RunSpec, object_of
from lab.training.modules.calls import attributes, call_with, mapped, tensors_of
from lab.training.modules.maker import Maker, failing, parts_in_evaluation
from lab.training.sequences import Order

WAYS = ("vmap", "loop")
NUMBERS = {"cpu": 2**27, "cuda": 2**30}  # weights of a fleet, at most: with gradients and moments four times as many
MOST = 256  # runs of a fleet
# Largest difference between vmap and a loop that is put down to rounding, as a share of the largest value; in float32
# nets of a few layers differ by 1e-6, and their gradients by 1e-5.
TOLERANCE = 1e-3
Instead = Mapping[int, Tensor]
Noise = tuple[Sequence[int], int]  # seeds of the runs, and the step: what decides dropout
CHUNK = 2**24  # numbers of inputs that an evaluation has in memory at once, all runs together
TRAINED = ("train", "search")  # a run trains on both: the second is held out from searches alone


class SideBySide(nn.Module):
    """R models, from inputs (R, B, …) to outputs (R, B, …). Parameters and buffers of `net` have the run axis in front.

    way: "vmap" computes all at once; "loop" one after the other, for models that vmap does not see through: with
    dropout, LSTMs, control flow that depends on the data. The values agree up to rounding. note: why it is so.
    needs_loop: vmap was tried, and cannot be taken. writes: whether models write into their inputs, and get copies.
    places: names of where a function was put. changes: names of attributes, no buffers, that a step changes.
    """

    def __init__(self, nets: Sequence[nn.Module], spline: Spline | None = None):
        super().__init__()
        self.net, self.runs = nets[0], len(nets)
        # in a tuple: else they would be parts of this. What is neither parameter nor buffer is theirs
        self.every = tuple(nets)
        self.way, self.note, self.needs_loop, self.dtype = "loop", "", False, torch.float32
        self.writes, self.places, self.changes = False, list[str](), list[str]()
        # in a tuple: else it would be a parameter of this
        self.knots: tuple[Tensor, ...] = () if spline is None else (spline.values,)
        _stack(nets, self.knots)
        self.frozen = tuple(parts_in_evaluation(self.net).values())  # in a tuple, for the same reason

    def train(self, mode: bool = True) -> SideBySide:
        """All parts in this mode, without those that stay in evaluation mode."""
        super().train(mode)
        for part in self.frozen:
            part.training = False
        return self

    def forward(self, inputs: Inputs, noise: Noise | None = None, instead: Instead | None = None) -> Tensor:
        """The output of each model for its own inputs. instead: tensors in the place of its parameters, by their id."""
        with torch.autocast(_device(inputs).type, self.dtype) if self.dtype != torch.float32 else nullcontext():
            held = tensors_of(self.net, instead or {})
            outputs = self._at_once(held, inputs) if self.way == "vmap" else self._one_by_one(held, inputs, noise)
        return at_least_float32(outputs) if outputs.is_floating_point() else outputs

    def _at_once(self, held: dict[str, Tensor], inputs: Inputs) -> Tensor:
        axes = {name: None if self._is_shared(tensor) else 0 for name, tensor in held.items()}
        with warnings.catch_warnings():  # whether that is slower than a loop is measured
            warnings.filterwarnings("ignore", "There is a performance drop because we have not yet implemented")
            outputs, changed = torch.vmap(self._call, in_dims=(axes, 0), randomness="error")(held, inputs)
        self._assign(changed)
        return outputs

    def _one_by_one(self, held: dict[str, Tensor], inputs: Inputs, noise: Noise | None) -> Tensor:
        outputs, changed, after = [], dict[str, Tensor](), []
        for net in self.every[1:]:
            for part, like in zip(net.modules(), self.net.modules(), strict=True):
                part.training = like.training
        for run, (tensors, given) in enumerate(self._each(held, inputs)):
            with _drawing(noise, run, _device(given)) if self.training and noise is not None else nullcontext():
                output, new = self._call(tensors, given, self.every[run])
            outputs.append(output)
            changed |= new
            after.append(tensors)
        self._assign({name: torch.stack([tensors[name].detach() for tensors in after]) for name in changed})
        return torch.stack(outputs)

    def _assign(self, buffers: dict[str, Tensor]) -> None:
        """Take up the buffers that the models' code has assigned anew, with the run axis."""
        for name, buffer in buffers.items():
            home, _, attribute = name.rpartition(".")
            if buffer.shape != getattr(module := self.net.get_submodule(home), attribute).shape:
                raise ArgumentError(
                    f"the model's code gives its buffer {name} another shape; let it keep one, or be no buffer"
                )
            setattr(module, attribute, buffer.contiguous())

    def _each(self, held: dict[str, Tensor], inputs: Inputs) -> Iterator[tuple[dict[str, Tensor], Inputs]]:
        parts = {id(t): [t] * self.runs if self._is_shared(t) else t.unbind(0) for t in held.values()}
        for run in range(self.runs):
            yield {name: parts[id(tensor)][run] for name, tensor in held.items()}, mapped(itemgetter(run), inputs)

    def each(self, inputs: Inputs, begin: Callable[[], None]) -> None:
        """Compute the models one by one, as they are. begin: called before each."""
        for run, (tensors, given) in enumerate(self._each(tensors_of(self.net, {}), inputs)):
            begin()
            self._call(tensors, given, self.every[run])

    def _call(
        self, tensors: dict[str, Tensor], inputs: Inputs, net: nn.Module | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The output of a model, and the buffers that its code assigns anew."""
        before = dict(tensors)
        output = call_with(net or self.net, tensors, mapped(Tensor.clone, inputs) if self.writes else inputs)
        return output, {name: new.detach() for name, new in tensors.items() if new is not before[name]}

    @property
    def spline(self) -> Spline:
        return next(m for m in self.net.modules() if isinstance(m, Spline) and m.values is self.knots[0])

    def _is_shared(self, weight: Tensor) -> bool:
        """Whether it is the one function of all models."""
        return weight.dim() == 1 and any(weight is knots for knots in self.knots)

    def choose(
        self, inputs: Inputs, loss: Callable[[Tensor], Tensor], way: str | None = None, timed: bool = True
    ) -> None:
        """Choose the faster way on these inputs, of those with equal outputs; or the given one. timed: False takes vmap
        where it has equal outputs, so that the choice is the same whenever it is made."""
        self._check_step(inputs, loss)
        if way == "loop" or (self.runs == 1 and way != "vmap"):
            self.way, self.note = "loop", "one model" if self.runs == 1 else "a loop was asked for"
            return
        self.note = self._why_no_vmap(inputs, loss)
        self.needs_loop = bool(self.note)
        if way == "vmap" and self.needs_loop:
            raise ArgumentError(f"these models cannot be computed at once: {self.note}; leave side_by_side out")
        self.way = "loop" if self.needs_loop else "vmap"
        if way is None and timed and not self.needs_loop:
            seconds = {way: self._seconds(way, inputs, loss) for way in WAYS}
            self.way = min(seconds, key=lambda way: seconds[way])
            self.note = ", ".join(f"{name} {1000 * s:.3g} ms a step" for name, s in seconds.items())

    def _check_step(self, inputs: Inputs, loss: Callable[[Tensor], Tensor]) -> None:
        """ArgumentError where these models cannot be trained one by one, as all can that torch puts weights into."""
        hint = "its weights are put in at each call: leave out torch.utils.checkpoint, and code that keeps them"
        self.way = "loop"
        with failing("a training step of the model fails with", hint), self._unchanged():
            before = attributes(self.net)
            self._gradients(inputs, loss)
            after = attributes(self.net)
        self.changes = sorted(name for name in before | after if before.get(name) != after.get(name))

    def _why_no_vmap(self, inputs: Inputs, loss: Callable[[Tensor], Tensor]) -> str:
        """Why a loop is needed; nothing where vmap gives the same outputs, gradients and buffers, in both modes."""
        by_way: dict[str, list[Tensor]] = {}
        try:
            for self.way in WAYS:
                with self._unchanged():
                    by_way[self.way] = self._gradients(inputs, loss) + [b.clone() for b in self.net.buffers()]
                    with evaluating(self), torch.no_grad():
                        by_way[self.way].append(self(inputs))
        except Exception as error:
            if self.way == "loop":
                raise
            return f"vmap fails with {type(error).__name__} ({shortened(str(error).split('.')[0], 100)})"
        largest = max(map(_largest, by_way["loop"]))
        for one, other in zip(*by_way.values(), strict=True):
            # a bias before a norm has a gradient of nothing but rounding: it is compared with the largest, too
            most = max(_largest(other), TOLERANCE * largest)
            # masks are infinite: equal infinities are no difference
            if not torch.isclose(_double(one), _double(other), 0.0, TOLERANCE * most, equal_nan=True).all():
                return "vmap gives other numbers"
        return ""

    def _gradients(self, inputs: Inputs, loss: Callable[[Tensor], Tensor]) -> list[Tensor]:
        weights = [weight for weight in self.net.parameters() if weight.requires_grad]
        outputs = self(inputs, ([0] * self.runs, 0))
        gradients = torch.autograd.grad(loss(outputs).sum(), weights, allow_unused=True)
        if any(gradient is not None and gradient.is_sparse for gradient in gradients):
            raise ArgumentError("the model has sparse gradients, which no optimizer here takes; give sparse=False")
        return [outputs.detach(), *(gradient for gradient in gradients if gradient is not None)]

    def _seconds(self, way: str, inputs: Inputs, loss: Callable[[Tensor], Tensor]) -> float:
        self.way, start, end = way, 0.0, 0.0
        with self._unchanged():
            for _ in range(2):  # the first one warms up
                start = time.perf_counter()
                self._gradients(inputs, loss)
                if _device(inputs).type == "cuda":
                    torch.cuda.synchronize()
                end = time.perf_counter()
        return end - start

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Buffers and attributes of the models are what they were after the block."""
        parts = dict.fromkeys(part for net in self.every for part in net.modules())
        with ExitStack() as stack:
            for restore in (restore for part in parts for restore in restorers(part)):
                stack.callback(restore)
            yield


@build.register(ModuleSpec)
def _(model: ModuleSpec, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> SideBySide:
    phi, maker = modules[0], object_of(known_by(model))
    nets, places = [maker.new(spec.seed) for spec in specs], list[str]()
    if isinstance(phi, Spline) and not phi.values.requires_grad:  # what learns on is each model's own
        for net in nets:
            for name in (places := put(net, maker.old, nn.Identity(), shared=True)):
                home, _, attribute = name.rpartition(".")
                setattr(net.get_submodule(home), attribute, phi)
        made = SideBySide(nets, phi)
    else:
        for net in nets:
            if phi is not None:
                places = maker.put(net, phi)
        made = SideBySide(nets)
    made.dtype, made.writes, made.places = getattr(torch, specs[0].recipe.precision), maker.writes, places
    return made


@side_by_side.register(ModuleSpec)
def _(model: ModuleSpec, spec: RunSpec, device: str) -> int:
    """As many as fit into memory; on a CPU weights alone count, whose work is the same in a loop."""
    maker: Maker = object_of(known_by(model))
    return max(1, min(MOST, NUMBERS[device] // max(1, maker.parameters)))


def known_by(model: ModuleSpec) -> tuple[str, str, str]:
    """What the user's own code, which no spec can hold, is registered under."""
    return model.name, model.layout, model.replace


def _stack(nets: Sequence[nn.Module], knots: tuple[Tensor, ...]) -> None:
    """Put the parameters and buffers of all into the first, with a run axis; those that are tied stay so.
    ArgumentError where two models have other parts or shapes."""
    first, fresh = nets[0], dict[int, Tensor]()
    owners: list[dict[str, Tensor]] = [{**dict(net.named_parameters()), **dict(net.named_buffers())} for net in nets]
    layouts = [
        ({name: tuple(tensor.shape) for name, tensor in owner.items()}, [type(part).__name__ for part in net.modules()])
        for owner, net in zip(owners, nets, strict=True)
    ]
    if other := next((number for number, layout in enumerate(layouts) if layout != layouts[0]), None):
        said = f"model number {other + 1} that `model` makes has other parts or shapes than the first"
        raise ArgumentError(f"{said}; let a seed decide on values alone")
    for name, old in owners[0].items():
        if any(old is shared for shared in knots):
            continue
        stacked = torch.stack([owner[name].detach() for owner in owners])
        fresh[id(old)] = nn.Parameter(stacked, old.requires_grad) if isinstance(old, nn.Parameter) else stacked
    for module in first.modules():
        for name, held in [*module._parameters.items(), *module._buffers.items()]:
            if held is not None and id(held) in fresh:
                setattr(module, name, fresh[id(held)])


def _double(tensor: Tensor) -> Tensor:
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()


def _largest(tensor: Tensor) -> float:
    """The largest absolute value of those that are finite."""
    sizes = _double(tensor).abs()
    return float(sizes[sizes.isfinite()].max()) if sizes.isfinite().any() else 0.0


def _device(inputs: Inputs) -> torch.device:
    return (inputs if isinstance(inputs, Tensor) else next(iter(inputs.values()))).device


@contextmanager
def _drawing(noise: Noise, run: int, device: torch.device) -> Iterator[None]:
    """torch's generator at a seed of this run and step, restored after the block: dropout is the same in any fleet."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(stream(noise[0][run], "noise", noise[1]))
        yield


@dataclass(frozen=True, eq=False)
class Examples:
    """R runs × B examples."""

    data: Data
    inputs: Inputs  # (R, B, …)
    targets: Tensor  # (R, B, …)
    noise: Noise | None = None

    def outputs(self, model: nn.Module) -> Tensor:
        return model(self.inputs, self.noise)

    def loss(self, outputs: Tensor) -> Tensor:
        return measures.losses(self.data.loss, outputs, self.targets, self.data.is_causal)


class Drawn:
    """Rows of a data set on a device, in an order of its own for each run, or all of them at each step."""

    def __init__(self, data: Data, rows: Tensor, seeds: Sequence[int], batch: int | None, device: torch.device):
        self.data, self.seeds, self.device = data, list(seeds), device
        self.inputs, self.targets = on_device(take(data.inputs, rows), device), data.targets[rows].to(device)
        self.order = None if batch is None or batch >= len(rows) else Order(self.seeds, len(rows), batch)

    def at(self, step: int) -> Examples:
        if self.order is None:
            runs = len(self.seeds)
            return Examples(self.data, _wide(self.inputs, runs), _wide(self.targets, runs), (self.seeds, step))
        index = self.order.at(step).to(self.device)
        return Examples(self.data, take(self.inputs, index), self.targets[index], (self.seeds, step))


class DataOfRuns:
    """Training batches, of the splits `train` and `search`, and the evaluation."""

    def __init__(self, task: DataSpec, specs: Sequence[RunSpec], device: torch.device):
        recipe, self.data = specs[0].recipe, object_of(task)
        self.seeds, self.device, self.batch = [spec.seed for spec in specs], device, recipe.batch
        self.metric_signs = {name: measures.sign(metric) for name, metric in self.data.metrics.items()}
        self.followed = {name: self.data.rows[name] for name in specs[0].evaluate}
        self.columns = [f"{score}_{split}" for split in self.followed for score in (*self.data.metrics, "loss")]
        self.training = self.drawn(*(name for name in TRAINED if name in self.data.rows))

    def drawn(self, *splits: str) -> Drawn:
        """The rows of these splits, in the order of each run."""
        rows = torch.cat([self.data.rows[name] for name in splits])
        return Drawn(self.data, rows, self.seeds, self.batch, self.device)

    def at(self, step: int) -> Examples:
        return self.training.at(step)

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """<score>_<split> (R,) of models in evaluation mode: every metric, and the loss."""
        scores = {}
        with evaluating(model):
            for split, rows in self.followed.items():
                inputs, targets = take(self.data.inputs, rows), self.data.targets[rows].to(self.device)
                first = inputs if isinstance(inputs, Tensor) else next(iter(inputs.values()))
                size = max(1, CHUNK // max(1, len(self.seeds) * first[0].numel()))
                parts = []
                for start in range(0, len(rows), size):
                    some = on_device(take(inputs, torch.arange(start, min(start + size, len(rows)))), self.device)
                    parts.append(model(_wide(some, len(self.seeds))))
                outputs = torch.cat(parts, 1)
                for name, metric in {**self.data.metrics, "loss": self.data.loss}.items():
                    score = measures.scores(metric, outputs, targets, self.data.is_causal)
                    scores[f"{name}_{split}"] = score.cpu().numpy()
        return scores


training_data.register(DataSpec, DataOfRuns)


@sizes.register(DataSpec)
def _(task: DataSpec, seed: int) -> Sizes:
    data: Data = object_of(task)
    return Sizes("examples", 0, len(data.classes), examples=sum(len(data.rows.get(name, ())) for name in TRAINED))


@check.register(DataSpec)
def _(task: DataSpec, spec: RunSpec) -> None:
    data: Data = object_of(task)
    for name in ("train", *spec.evaluate):
        if name not in data.rows:
            raise ArgumentError(f"{data.name} has no split {name!r}; it has {', '.join(data.rows)}")


def on_device(inputs: Inputs, device: torch.device) -> Inputs:
    return mapped(lambda part: part.to(device), inputs)


def _wide(inputs: Any, runs: int) -> Any:
    """The same for each run, without a copy."""
    return mapped(lambda part: part.expand(runs, *part.shape), inputs)
