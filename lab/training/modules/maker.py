"""The user's function that makes models: its checks, and the models of a seed."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor, nn

from lab.data import measures
from lab.data.data import Data, Inputs, take
from lab.errors import ArgumentError, LabError, described, listed, shortened, shown
from lab.nonlinearity.swap import Old, kinds_of, places_of, put
from lab.nonlinearity.swapped import unwrapped
from lab.probes.reading import evaluating, positioned
from lab.spec import ModuleSpec
from lab.training.fleet import torch_defaults
from lab.training.modules.calls import call, check_put_in, notes_of

SAID = 200  # characters of an error of the user's code in a message
FEW, SEVERAL = 3, 32  # examples that measures are tried on: the first, and one of each class
CLOSE, CLOSE_HALF = 1e-3, 2e-2  # of the largest output: up to where a difference is rounding; of half precision


@contextmanager
def failing(what: str, hint: str) -> Iterator[None]:
    """An error of the user's code becomes one line: what fails, by which error, and what to give instead."""
    try:
        yield
    except LabError:
        raise
    except Exception as error:
        raise ArgumentError(f"{what} {type(error).__name__} ({shortened(str(error), SAID)}); {hint}") from error


def parts_in_evaluation(net: nn.Module) -> dict[str, nn.Module]:
    """The parts of a model in training mode that are in evaluation mode, by their names."""
    return {name: part for name, part in net.named_modules() if not part.training}


_made: WeakValueDictionary[int, Tensor] = WeakValueDictionary()  # weights of models that were made, by their ids


def _check_new(net: nn.Module, seed: int) -> None:
    """ArgumentError where a model has weights of one that was made before: they would be trained on, and stacked."""
    if any(_made.get(id(weight)) is weight for weight in net.parameters()):
        cure = "make them anew in each call, as copy.deepcopy(backbone) does"
        raise ArgumentError(f"model({seed}) gives weights that an earlier call has given, too; {cure}")
    _made.update({id(weight): weight for weight in net.parameters()})


def _check_hooks(module: nn.Module, name: str) -> None:
    """ArgumentError where weights have hooks: what is trained are the weights of all models in one tensor."""
    for path, weight in module.named_parameters():
        if weight._backward_hooks or getattr(weight, "_post_accumulate_grad_hooks", None):
            cure = "change gradients in forward, or with register_full_backward_hook of the module"
            raise ArgumentError(f"{name} has a hook on its weight {path!r}, which training would leave out; {cure}")


@dataclass(frozen=True, eq=False)
class Maker:
    """make: a seed → a module. old: the activations that are replaced. example: inputs of two examples.

    way: "vmap" or "loop", where the user says how models are computed side by side; None: the faster one. notes: of
    `notes_of`. reached: whether the model calls any of these activations. writes: whether it writes into its inputs.
    """

    make: Callable[[int], nn.Module]
    old: Any
    example: Inputs
    parameters: int = 0
    way: str | None = None
    notes: tuple[str, ...] = ()
    reached: bool = True
    writes: bool = False

    @torch_defaults()
    def new(self, seed: int) -> nn.Module:
        """The model of a seed, without torch.compile or DataParallel around it, in training mode; parts that come in
        evaluation mode stay so. torch's generator is at this seed meanwhile, and put back."""
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(seed)
            hint = "give a function of a seed that returns a torch.nn.Module, as lambda seed: MyNet()"
            with failing(f"model({seed}) fails with", hint):
                net = self.make(seed)
            if not isinstance(net, nn.Module):
                raise ArgumentError(f"model({seed}) gives {shown(net)}; let it return a torch.nn.Module")
            net = unwrapped(net)
            _check_new(net, seed)
            _check_hooks(net, f"model({seed})")
            if _is_lazy(net):
                call(net, self.example)
        return net if net.training else net.train()  # as a whole where it comes in evaluation mode (`from_pretrained`)

    @torch_defaults()
    def put(self, net: nn.Module, phi: nn.Module) -> list[str]:
        """A function into the place of a model's activations, whose names it gives; what counts its channels at a first
        call has it here."""
        names = put(net, self.old, phi)
        if _is_lazy(net):
            with torch.random.fork_rng(devices=[]), torch.no_grad(), evaluating(net):
                call(net, self.example)
        return names

    @torch_defaults()
    def check(self, phi: nn.Module, name: str) -> None:
        """ArgumentError where a model fails with this function, or answers in another shape. name: of the function."""
        _check_hooks(phi, name)
        net, hint = self.new(0), "give a function of a tensor that returns one of the same shape"
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())), torch.no_grad():
            shape = call(net.eval(), self.example).shape
            with failing(f"the model fails with {name}:", hint):
                try:
                    self.put(net, phi)
                    given = call(net.eval(), self.example).shape
                except ArgumentError as error:
                    raise ArgumentError(f"{name}: {error}") from error
        if given != shape:
            raise ArgumentError(
                f"with {name} the model gives shape {tuple(given)} for {tuple(shape)}; give one that keeps shapes"
            )


@torch_defaults()
def maker(make: Any, old: Old | tuple[Old, ...], data: Data, name: str, way: str | None) -> tuple[Maker, ModuleSpec]:
    """The user's function, and what is known of its models. ArgumentError where it cannot be trained on the data."""
    if isinstance(make, nn.Module) or isinstance(make, type) or not callable(make):
        example = f"lambda seed: {make.__name__ if isinstance(make, type) else 'MyNet'}()"
        raise ArgumentError(f"model is {described(make)}; give a function that makes one from a seed: {example}")
    kinds_of(old, "replace")
    rows = data.rows.get("train", torch.arange(len(data)))
    trial = Maker(make, old, take(data.inputs, rows[:2]), way=way)
    net, again = trial.new(0), trial.new(0)  # the second to be called: not all models can be copied
    _check_seeds(net, again, trial.new(1))
    with evaluating(again):
        _check_call(again, data, rows)
        drawn = _check_alone(again, data, rows)
    writes = check_put_in(again, trial.example)
    notes, reached = notes_of(again, places_of(again, old), call, trial.example)
    notes = [*_said_of_modes(net), *drawn, *notes]
    count = sum(weight.numel() for weight in net.parameters())
    if not any(weight.requires_grad for weight in net.parameters()):
        raise ArgumentError(f"model(0) is a {type(net).__name__} without weights to train; give one that has some")
    kinds = old if isinstance(old, tuple) else (old,)
    words = ", ".join(k if isinstance(k, str) else f"{k.__module__}.{getattr(k, '__qualname__', k)}" for k in kinds)
    made = Maker(make, old, trial.example, count, way, tuple(notes), reached, writes)
    return made, ModuleSpec(name, layout(net), words)


def _is_lazy(net: nn.Module) -> bool:
    return any(isinstance(part, nn.modules.lazy.LazyModuleMixin) for part in net.modules())


def layout(net: nn.Module) -> str:
    """SHA-256 of names, shapes and types of parameters and buffers, of the module's repr, and of the parts that stay in
    evaluation mode."""
    hasher = hashlib.sha256(repr(net).encode())
    for kind, tensors in (("weight", net.named_parameters()), ("buffer", net.named_buffers())):
        for name, tensor in tensors:
            said = (kind, name, tuple(tensor.shape), str(tensor.dtype), tensor.requires_grad)
            hasher.update(f"{said}\n".encode())
    for name in parts_in_evaluation(net):
        hasher.update(f"still {name}\n".encode())
    return hasher.hexdigest()


def _check_seeds(*nets: nn.Module) -> None:
    """The models of seed 0, made twice, and of seed 1."""
    first, again, other = (list(made.parameters()) for made in nets)
    trained = [number for number, weight in enumerate(first) if weight.requires_grad]
    if [weight.shape for weight in first] != [weight.shape for weight in other]:
        raise ArgumentError(
            "model(0) and model(1) have parameters of different shapes; let the seed decide values alone"
        )
    if not all(torch.equal(first[number], again[number]) for number in trained):
        raise ArgumentError("model(0) gives other weights each time; let it draw from torch's own generator alone")
    if trained and all(torch.equal(first[number], other[number]) for number in trained):
        raise ArgumentError(
            "model ignores its seed: model(0) and model(1) have equal weights; leave torch.manual_seed to the lab, or "
            "give it the seed"
        )


def _answer(net: nn.Module, data: Data, rows: Tensor) -> Tensor:
    """The output of a model for these rows; ArgumentError where it fails."""
    parts = {"X": data.inputs} if isinstance(data.inputs, Tensor) else data.inputs
    given = ", ".join(f"{n} {tuple(p[:2].shape)} {str(p.dtype)[6:]}" for n, p in parts.items())
    hint = "give X in the shape and type that it reads"
    kinds = {weight.dtype for weight in net.parameters() if weight.is_floating_point()} - {torch.float32}
    if kinds:
        hint = "let model(seed) return net.float(), since X is float32"
        hint += "; precision='bfloat16' computes in that" if kinds & {torch.float16, torch.bfloat16} else ""
    with failing(f"the model fails on {given} with", hint), torch.no_grad():
        return call(net, take(data.inputs, rows))


def _check_call(net: nn.Module, data: Data, rows: Tensor) -> None:
    shapes = []
    for index in (rows[:2], rows[:3]):
        shapes.append(tuple(_answer(net, data, index).shape))
        if shapes[-1][:1] != (len(index),):
            raise ArgumentError(
                f"the model gives shape {shapes[-1]} for {len(index)} examples; let the first axis be the examples"
            )
    if shapes[0][1:] != shapes[1][1:]:
        raise ArgumentError(
            f"the model gives shape {shapes[0]} for 2 examples and {shapes[1]} for 3; let the shape of one stay"
        )
    few = _examples(data, rows)
    _check_measures(_answer(net, data, few)[None], data, data.targets[few][None])
    if data.is_causal:
        _check_causal(net, take(data.inputs, rows[:FEW]), data.targets[rows[:FEW]])


def _check_alone(net: nn.Module, data: Data, rows: Tensor) -> list[str]:
    """ArgumentError where the output for an example depends on the other examples, or on the padding before it. A note
    where that cannot be measured, since the model draws numbers in evaluation mode, too."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())), torch.no_grad():
        state = torch.get_rng_state()
        first, again = (_answer(net, data, rows[:2]) for _ in range(2))
        if not (torch.equal(torch.get_rng_state(), state) and _close(first, again)):
            return ["the model draws numbers in evaluation mode, too: its scores change with them"]
        among_others = _answer(net, data, rows[:SEVERAL].flip(0)).flip(0)[:2]
        if not _close(first, among_others):
            raise ArgumentError(
                "the model's answer for an example changes with the examples beside it; let the first axis be the"
                " examples in each layer (batch_first=True), and average over none (batch norm: running statistics)"
            )
        if isinstance(data.inputs, dict) and positioned(net, data.inputs) is not data.inputs:
            raise ArgumentError(
                f"rows are padded on the left, and {type(net).__name__} counts positions from the padding; pad on the"
                " right (tokenizer.padding_side = 'right'), or give position_ids"
            )
    return []


def _close(one: Tensor, other: Tensor) -> bool:
    """Whether answers are the same up to rounding."""
    share = CLOSE_HALF if one.dtype.itemsize < 4 else CLOSE
    one, other = (tensor.to(torch.promote_types(tensor.dtype, torch.float64)) for tensor in (one, other))
    if one.shape != other.shape:
        return False
    largest = float(one.abs().nan_to_num(0, 0).max()) if one.numel() else 0.0
    return bool(torch.isclose(one, other, 0.0, share * largest, equal_nan=True).all())


def _said_of_modes(net: nn.Module) -> list[str]:
    """A note on the outermost parts that stay in evaluation mode."""
    parts = parts_in_evaluation(net)
    names = [name for name in parts if name.rpartition(".")[0] not in parts]
    words = "comes in evaluation mode and stays in it in training: without dropout, with the statistics that it has"
    return [f"{listed(names)} {words}; call .train() in the model's function for another"] if names else []


def _check_causal(net: nn.Module, tokens: Inputs, targets: Tensor) -> None:
    """ArgumentError where outputs depend on a later token, which they are to predict."""
    assert isinstance(tokens, Tensor)
    changed = tokens.clone()
    changed[:, -1] = tokens[:, -1].roll(1) if len(tokens[:, -1].unique()) > 1 else (tokens[:, -1] == 0).long()
    with torch.no_grad():
        outputs = [call(net, ids)[None] for ids in (tokens, changed)]
    before, after = (measures.class_last(logits, targets[None], last=True)[0, :, :-1] for logits in outputs)
    if not torch.allclose(before, after, rtol=1e-4, atol=1e-5):
        raise ArgumentError(
            "the model is not causal: its answers change with a later token, which it is to predict; mask what comes"
            " after each position"
        )


def _examples(data: Data, rows: Tensor) -> Tensor:
    """A few rows to try measures on, of every class that there is (an area under a curve needs two)."""
    labels = data.targets[rows]
    if not data.is_classification or labels.ndim > 1:
        return rows[:FEW]
    firsts = np.unique(labels.numpy(), return_index=True)[1]
    return rows[np.unique(np.concatenate([np.arange(min(FEW, len(rows))), firsts[:SEVERAL]]))]


def _check_measures(outputs: Tensor, data: Data, targets: Tensor) -> None:
    """Try loss and metrics on what one model gives, (1, B, …)."""
    if data.is_classification and data.loss == "cross_entropy":
        count = measures.class_last(outputs, targets, data.is_causal).shape[-1]
        if count < (highest := int(data.targets.max()) + 1):
            raise ArgumentError(f"the model gives {count} logits for {highest} classes; give it {highest} outputs")
        # of tokens, which inputs are, too, a model may know more than these texts have; of labels, all are known
        if count > (known := len(data.classes)) and (data.targets.ndim == 1 or count < _vocabulary(data.inputs)):
            raise ArgumentError(
                f"the model gives {count} logits for {known} classes; give it {known} outputs, or data with every class"
            )
    pair = zip(("outputs", "targets"), measures.aligned(outputs, targets), strict=True)
    given = " and ".join(f"{name} {tuple(tensor.shape[1:])} {str(tensor.dtype)[6:]}" for name, tensor in pair)
    hint = "give a function that returns one number (outputs come in the shape of targets, where there is one for each)"
    with failing(f"the loss fails on {given} with", hint):
        loss = measures.losses(data.loss, outputs, targets, data.is_causal)
    if not bool(loss.isfinite().all()):
        raise ArgumentError("the loss of model(0) on a few examples is not finite; look at its outputs")
    for name, metric in data.metrics.items():
        with failing(f"the metric {name!r} fails on {given} with", hint):
            measures.scores(metric, outputs, targets[0], data.is_causal)


def _vocabulary(inputs: Inputs) -> int:
    """How many tokens there are at least, if inputs are tokens, else 0."""
    parts = [inputs] if isinstance(inputs, Tensor) else list(inputs.values())
    return max((int(part.max()) + 1 for part in parts if part.dtype == torch.int64), default=0)
