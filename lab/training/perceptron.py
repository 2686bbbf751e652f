"""Training steps of perceptrons side by side in C: outputs, losses, gradients and the optimizer's change in one call.

The kernel (`perceptron.c`, built like the spline's) takes each run from its first layer to its last update, so that all
of it stays in the cache. It has perceptrons on tables with `FUNCTIONS` that do not learn, the losses of tables, and the
optimizers of `ConstantRate`, `AdamTrapezoid` and `AdamWCosine`; `refusal` says what it lacks for others, whose steps
are torch's. It computes in float32, or in float64 for float64 weights, and rounds in its own way: its bits are not
torch's, but the same for a run alone and in any fleet, and for any number of threads. It takes the inner steps of
searches by episodes, too (`lab.training.inner_task`).
"""

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, shown
from lab.models.mlp import MLP
from lab.nonlinearity import native
from lab.nonlinearity.functions import row_of
from lab.nonlinearity.op import cpu_kernel
from lab.nonlinearity.spline import Spline
from lab.tasks.table import TableTask
from lab.training.optimizers import EPSILON, MOMENTS, RMS_MEMORY, Adam, RunAdamW, RunDescent
from lab.training.rows import TableBatch

SOURCES = tuple(Path(__file__).with_name(name) for name in ("perceptron.c", "perceptron.h"))
RULES, LOSSES = tuple(MOMENTS), ("mse of values", "mse of classes", "cross_entropy")  # as the kernel counts them, and
FUNCTIONS = (
    *("spline", "identity", "relu", "leakyrelu", "relu6", "hardtanh", "tanh", "sigmoid", "silu", "gelu", "elu"),
    *("selu", "softsign", "relu2", "gaussian", "softplus", "logsigmoid", "mish", "tanhshrink", "hardswish"),
    *("hardsigmoid", "leakyrelu2"),
)
ALIKE = {"celu": "elu"}  # with torch's default settings
TYPES = {torch.float32: "float32", torch.float64: "float64"}
ALONE = 2**26  # multiplications a step below which waking another thread costs more than it saves
CHOICES = ("kernel", "plain", "compiled")  # of LAB_STEPS
ONE_CALL = ", one call a step"  # behind the name of the spline's kernel, in notes


class Function(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("kind", "knots", "stride")]
    _fields_ += [("low", ctypes.c_double), ("inverse", ctypes.c_double), ("values", ctypes.c_void_p)]


class _Fleet(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("layers", "rows", "loss", "rule", "residual")]
    _fields_ += [(name, ctypes.c_int64) for name in ("inputs_stride", "targets_stride")]
    _fields_ += [(name, ctypes.c_double) for name in ("one", "two", "epsilon", "count")]
    _fields_ += [(name, ctypes.c_void_p) for name in ("widths", "functions")]
    _fields_ += [(name, ctypes.c_int64) for name in ("functions_stride", "knots")]
    _fields_ += [(name, ctypes.c_void_p) for name in ("prefactors", "rates", "shrink", "alive", "weights", "means")]
    _fields_ += [(name, ctypes.c_void_p) for name in ("squares", "inputs", "targets", "losses")]


@functools.lru_cache(maxsize=1)
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    functions: dict[str, list[Any]] = {}
    for word in TYPES.values():
        functions[f"perceptron_scratch_{word}"] = [ctypes.c_void_p]
        functions[f"perceptron_step_{word}"] = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2
    try:
        kernel = native.loaded("perceptron", SOURCES, functions)
    except native.BuildError as error:
        return None, str(error)
    for word in TYPES.values():
        getattr(kernel, f"perceptron_scratch_{word}").restype = ctypes.c_int64
    return kernel, ""


def refusal(model: nn.Module, optimizer: object, batch: object) -> str:
    """What the kernel lacks for these, in words; empty where it takes them."""
    if type(model) is not MLP or not isinstance(batch, TableBatch) or type(batch.task).loss is not TableTask.loss:
        return "it has perceptrons on tables, with a table's losses"
    weights = {parameter for layer in model.layers for parameter in layer.parameters()}
    if batch.task.loss_name == "stablemax":
        return "it does not have StableMax"
    if model.spectral:
        return "it does not divide weights by their singular values"
    if weights != {parameter for parameter in model.parameters() if parameter.requires_grad}:
        return "it has weights and biases alone that learn"
    if any(weight.dtype not in TYPES or not weight.is_cpu or not weight.is_contiguous() for weight in weights):
        return "it has weights in float32 or float64 on the CPU"
    if type(optimizer) not in (Adam, RunAdamW, RunDescent):
        return f"it does not have {type(optimizer).__name__}"
    names = [name_of(phi) for layer in range(len(model.layers) - 1) for phi in of_each(model.function(layer))]
    if missing := sorted({name for name in names if name not in FUNCTIONS}):
        return f"it does not have {', '.join(missing)}"
    if cpu_kernel() is not native:
        return "another kernel is asked for, or there is no compiler"
    return _loaded()[1]


def name_of(phi: nn.Module) -> str:
    """Of a function, as `FUNCTIONS` has it."""
    row = row_of(phi)
    name = type(phi).__name__ if row is None else ALIKE.get(row.name, row.name)
    return "spline" if type(phi) is Spline else name


def of_each(phi: nn.Module) -> list[nn.Module]:
    """The function of each run, where these are apart, as in a search by episodes; else all of them as one module."""
    return cast(Any, phi).of_each() if hasattr(phi, "of_each") else [phi]


def function_of(phi: nn.Module, dtype: torch.dtype) -> tuple[Function, Tensor | None]:
    """A function as C takes it, and the knots that it points to."""
    if not isinstance(phi, Spline):
        return Function(FUNCTIONS.index(name_of(phi))), None
    values, knots = phi.values.detach().to(dtype).contiguous(), phi.values.shape[-1]
    stride = knots if values.dim() > 1 else 0
    return Function(0, knots, stride, phi.low, (knots - 1) / (phi.high - phi.low), values.data_ptr()), values


def chosen_steps() -> str:
    """How steps are to be taken. Raises ArgumentError for what LAB_STEPS may not be."""
    chosen = os.environ.get("LAB_STEPS") or CHOICES[0]
    if chosen not in CHOICES:
        raise ArgumentError(f"LAB_STEPS={shown(chosen)}: give {', '.join(CHOICES)}, or unset it")
    return chosen


class Kernel:
    """A C kernel that takes the steps of one fleet, for a model, optimizer and batches without a `refusal`."""

    def __init__(self, model: MLP, optimizer: Any, batch: TableBatch):
        self.model, self.optimizer, self.weights = model, optimizer, cast(list[Tensor], optimizer.weights)
        self.type, task, layers = self.weights[0].dtype, batch.task, len(model.layers)
        library = cast(ctypes.CDLL, _loaded()[0])
        self.step, self.room = (getattr(library, f"perceptron_{f}_{TYPES[self.type]}") for f in ("step", "scratch"))
        self.widths = torch.tensor(
            [model.layers[0].weight.shape[1], *(layer.weight.shape[2] for layer in model.layers)]
        )
        self.work = model.runs * int((self.widths[1:] * self.widths[:-1]).sum())  # multiplications a row
        of_layers = [of_each(model.function(layer)) for layer in range(layers - 1)]
        each = max(map(len, of_layers), default=1)  # one for all runs, or one a run
        made = [function_of(phis[run % len(phis)], self.type) for run in range(each) for phis in of_layers]
        self.functions, self.knots = (Function * len(made))(*(phi for phi, _ in made)), [knots for _, knots in made]
        self.prefactors = model.prefactor.flatten().double().expand(model.runs).contiguous()
        self.rates, self.shrink = torch.ones(model.runs, 1).double(), torch.ones(model.runs, 2).double()
        self.scratch: dict[int, Tensor] = {}  # by the first run of a thread
        rule = "adam" if not isinstance(optimizer, RunDescent) else "rmsprop" if optimizer.scaled else "sgd"
        loss = (
            task.loss_name if task.loss_name in LOSSES else f"mse of {'classes' if task.classification else 'values'}"
        )
        one, two = getattr(optimizer, "betas", (0.0, RMS_MEMORY))
        self.fleet = _Fleet(layers, 0, LOSSES.index(loss), RULES.index(rule), model.residual, 0, 0, one, two, EPSILON)
        self.fleet.functions, self.fleet.widths = ctypes.addressof(self.functions), self.widths.data_ptr()
        self.fleet.functions_stride = layers - 1 if each > 1 else 0
        self.fleet.knots = max((phi.knots for phi, _ in made), default=0)
        for name in ("prefactors", "rates", "shrink"):
            setattr(self.fleet, name, getattr(self, name).data_ptr())
        self.moments = MOMENTS[rule]

    @torch.no_grad()
    def __call__(self, batch: Any, alive: Tensor) -> Tensor:
        """Take a step on a `TableBatch`; the losses (R,) before it. Runs that are not alive (R,), or whose loss is not
        finite, keep their weights, and their moments become zero."""
        fleet, inputs, targets = self.fleet, batch.inputs, batch.targets
        inputs = _side_by_side((inputs if self.model.inputs is None else self.model.inputs(inputs)).to(self.type))
        targets = _side_by_side(targets if targets.dtype == torch.int64 else targets.to(self.type))
        losses, alive = torch.empty(len(inputs), dtype=self.type), alive.to(torch.int8)
        fleet.rows, fleet.inputs_stride, fleet.targets_stride = inputs.shape[1], inputs.stride(0), targets.stride(0)
        fleet.inputs, fleet.targets, fleet.losses, fleet.alive = (
            t.data_ptr() for t in (inputs, targets, losses, alive)
        )
        self._set_rates()
        moments = [[self.optimizer.moment(weight, name) for weight in self.weights] for name in self.moments]
        if "exp_avg" in self.moments:
            states = [self.optimizer.state[weight] for weight in self.weights]
            for state in states:
                state["step"] = state.get("step", torch.zeros(())) + 1
            fleet.count = float(states[0]["step"])
        tensors = (self.weights, moments[0] if len(moments) == 2 else [], moments[-1] if moments else [])
        pointers = [(ctypes.c_void_p * len(self.weights))(*(t.data_ptr() for t in each)) for each in tensors]
        fleet.weights, fleet.means, fleet.squares = map(ctypes.addressof, pointers)
        room, runs = self.room(ctypes.byref(fleet)), self.model.runs

        def work(first: int, end: int) -> None:
            if first not in self.scratch or len(self.scratch[first]) < room:
                self.scratch[first] = torch.empty(room, dtype=self.type)
            self.step(ctypes.byref(fleet), self.scratch[first].data_ptr(), first, end)

        native.share(work, runs, worthwhile=self.work * fleet.rows >= ALONE)
        return losses

    def state(self) -> list[Tensor]:
        """Copies of all weights, then of all moments of each name."""
        moments = [self.optimizer.moment(weight, name) for name in self.moments for weight in self.weights]
        return [tensor.detach().clone() for tensor in (*self.weights, *moments)]

    def _set_rates(self) -> None:
        """Of the runs, and how much is left of weights and of biases that decay."""
        optimizer = self.optimizer
        if isinstance(optimizer, Adam):
            self.rates.fill_(optimizer.param_groups[0]["lr"])
            return
        self.rates[:, 0] = torch.tensor(optimizer.rates, dtype=torch.float64)
        if isinstance(optimizer, RunAdamW) and any(optimizer.decays):
            decays = torch.tensor(optimizer.decays, dtype=torch.float64)
            self.shrink = 1 - self.rates * decays[:, None] * torch.tensor(optimizer.decaying[:2])
            self.fleet.shrink = self.shrink.data_ptr()


def kernel_of(model: nn.Module, optimizer: object, batch: object) -> Kernel | None:
    """What takes whole steps of these in one call; where it was asked for and cannot, a line says why."""
    if chosen_steps() != "kernel":
        return None
    if why := refusal(model, optimizer, batch):
        say_plain(why)
        return None
    return Kernel(cast(MLP, model), optimizer, cast(TableBatch, batch))


def say_plain(why: str) -> None:
    """Say why torch takes the steps for which the kernel was asked, if there is a reason."""
    if why and os.environ.get("LAB_STEPS"):
        print(f"steps are not taken by the kernel ({why}); plain ones take their place", file=sys.stderr)


def _side_by_side(rows: Tensor) -> Tensor:
    """(R, B, …), the numbers of a run side by side in memory; runs may share them."""
    return rows if rows[0].is_contiguous() else rows.contiguous()
