"""The loss of a model on data, a measure for landscapes: of tables, images, tokens, of what a tokenizer returns.

A measure is a function from a model to a number; from a model with a run axis to (R,). R runs, N examples.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.data.measures import IGNORED, aligned, at_least_float32, is_of_torch, whole
from lab.errors import ArgumentError, LabWarning, check_flag, described
from lab.probes.arguments import array, calling, module
from lab.probes.reading import asked, check_steady, padding, positioned, reading
from lab.probes.weights import runs_of

ROWS = 8192  # examples times models that are computed at once: what bounds the memory, and stays in a processor's cache
ROWS_BACKWARD = 2048  # the same where derivatives are kept: what a layer has of them should stay in the cache
NUMBERS = 2**23  # the same in numbers that are read, for images and sequences
FEW = 4  # examples that are asked for twice
TOKEN = 1024  # numbers that a token stands for: the outputs of a vocabulary
LossFunction = Callable[[Tensor, Tensor], Tensor]  # outputs, targets (R, B, …) → (R,), means over what counts


@dataclass(frozen=True, eq=False)
class Loss:
    """The mean loss on data, as a measure for `landscape`: called with a model, it gives a number, or (R,) for R runs.

    inputs: rows (N, D), images (N, C, H, W), token ids (N, T); or the dictionary that a tokenizer returns, with which
        the model is called as model(**inputs). For a DataLoader, put the batches together (torch.cat). The model's
        outputs are a tensor, or have one as `logits`, or are several, of which the first counts.
    targets: (N, …). Without `loss`, whole numbers are classes, for the cross entropy (nats) over the last axis of the
        outputs: (N,) with outputs (N, classes), or (N, T) with outputs (N, T, vocabulary), where -100 does not count,
        nor a token that an `attention_mask` hides; with a single output, for the cross entropy of a sigmoid. Targets of
        a language model are the next tokens: nothing is shifted here. Other numbers are values, for the mean squared
        error.
    loss: (outputs (R, B, …), targets (R, B, …)) → (R,), means over what counts: all of B; of whole numbers, what is
        not -100. Or a loss of torch, as nn.CrossEntropyLoss(weight=w): classes are on the last axis for it, too.
        Outputs have the shape of the targets where there is one for each, so that nothing is broadcast.
    runs: whether the model has a run axis; None: as it says itself (`runs_of`).

    Raises ArgumentError where inputs, targets and outputs do not fit each other.

    >>> Loss(torch.zeros(4, 3), torch.ones(4))(nn.Sequential(nn.Linear(3, 1), nn.Threshold(9, 3)))
    4.0
    """

    inputs: Tensor | Mapping[str, Tensor]
    targets: Tensor
    loss: LossFunction | None = None
    runs: bool | None = None

    def __post_init__(self):
        if isinstance(self.inputs, Mapping):
            parts = {name: _tensor(f"inputs[{name!r}]", part) for name, part in self.inputs.items()}
            object.__setattr__(self, "inputs", parts)
        else:
            object.__setattr__(self, "inputs", _tensor("inputs", self.inputs))
        object.__setattr__(self, "targets", _tensor("targets", self.targets))
        sizes = {len(part) if part.ndim else 0 for part in self._inputs.values()}
        count = len(self.targets) if self.targets.ndim else 0
        if sizes != {count} or not count:
            given = " and ".join(map(str, sorted(sizes))) or "no"
            raise ArgumentError(f"{given} inputs and {count} targets: give one target an input")
        if self.targets.is_floating_point() and not self.targets.isfinite().all():
            raise ArgumentError("targets are not all finite; leave these examples out")
        if not self._values and not (self._classes if self.loss is None else self.targets.long()).ne(IGNORED).any():
            raise ArgumentError(f"no target counts: all are {IGNORED}, or of tokens that the mask hides; give some")
        if self.loss is not None and (not callable(self.loss) or isinstance(self.loss, type)):
            raise ArgumentError(f"loss is {described(self.loss)}; give a function of outputs and targets, or None")
        if (how := self._setting("reduction", "mean")) != "mean" and is_of_torch(self.loss):
            raise ArgumentError(f"loss has reduction={how!r}; a landscape shows means: give reduction='mean'")
        if self.runs is not None:
            check_flag("runs", self.runs)
        if self.loss is None and self._values and self.targets.unique().tolist() == [0, 1]:
            said = "targets are 0.0 and 1.0, taken as values for the mean squared error; for the cross entropy of a"
            warnings.warn(f"{said} sigmoid give whole numbers: targets.long()", LabWarning, stacklevel=3)

    def __call__(self, model: nn.Module) -> Tensor | float:
        with reading(module("model", model)):
            mean = self._of(model, number_of_runs(model, self.runs), ROWS)
        return mean if mean.ndim else mean.item()

    def differentiable(self, model: nn.Module) -> Tensor:
        """The same as a tensor with a gradient; the model computes in the mode that it is in."""
        return self._of(model, number_of_runs(model, self.runs), ROWS_BACKWARD)

    def _of(self, model: nn.Module, runs: int | None, most: int) -> Tensor:
        """The mean over all examples, of one model or (R,). most: of examples times models at once."""
        like = next((part for part in model.parameters() if part.is_floating_point()), torch.zeros(()))
        inputs = positioned(model, self._inputs)
        inputs = {k: v.to(like.device, like.dtype if v.is_floating_point() else None) for k, v in inputs.items()}
        loss = (_squared if self._values else _entropy) if self.loss is None else self._given
        targets = (self._classes if loss is _entropy else self.targets).to(like.device)
        total: Tensor | float = 0.0
        weight, together = 0.0, self._together(runs or 1, most)
        for start in range(0, len(targets), together):
            x = {name: part[start : start + together] for name, part in inputs.items()}
            y = side_by_side(targets[start : start + together], runs or 1)
            words = ", ".join(f"{name} {described(part)}".strip() for name, part in x.items())
            with calling(f"{type(model).__name__}, on {words},", "give inputs that it reads, or wrap it"):
                outputs = _outputs(model, x, runs)
                if not start:
                    few = {name: part[:FEW] for name, part in x.items()}
                    check_steady(*(_outputs(model, few, runs).detach().cpu().numpy() for _ in range(2)))
            hint = f"targets are {described(y[0])}, outputs {described(outputs[0])}: give a loss= that takes both"
            with calling("the loss", hint):
                if loss is _entropy and not runs:
                    _check_axes(outputs[0])
                number = self._count(y[0])
                if number:
                    total, weight = total + number * _mean(loss(outputs, y), runs or 1), weight + number
        mean = torch.as_tensor(total / weight)
        return mean if runs else mean.squeeze()

    def _given(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The user's loss, (R,)."""
        assert self.loss is not None
        outputs, targets = aligned(outputs, targets)
        if not is_of_torch(self.loss):
            return self.loss(outputs, targets)
        if outputs.ndim > 3 and outputs.shape[:-1] == targets.shape:
            _check_axes(outputs[0])
            outputs = outputs.movedim(-1, 2)  # where torch looks for classes
        return torch.stack([self.loss(*pair) for pair in zip(outputs, targets, strict=True)])

    def _count(self, targets: Tensor) -> float:
        """By how much the mean over these targets counts: their number, or the sum of weights where a loss divides by
        it."""
        if self._values:
            return float(len(targets))
        counts, of = targets.long().ne(self._setting("ignore_index", IGNORED)), whole(self.loss)
        divides = isinstance(of, (nn.CrossEntropyLoss, nn.NLLLoss)) or of in (F.cross_entropy, F.nll_loss)
        weights = self._setting("weight", None) if divides else None
        if weights is None or targets.is_floating_point():
            return float(counts.sum())
        return float(weights[targets[counts].long().cpu()].sum())

    def _setting(self, name: str, usual: Any) -> Any:
        """Of a loss of torch, or of one with some of its arguments."""
        given = getattr(self.loss, "keywords", {})
        return given[name] if name in given else getattr(whole(self.loss), name, usual)

    @property
    def _inputs(self) -> Mapping[str, Tensor]:
        return {"": self.inputs} if isinstance(self.inputs, Tensor) else self.inputs

    @property
    def _classes(self) -> Tensor:
        """Targets as classes; IGNORED where a token only fills up a row."""
        classes, filling = self.targets.long(), padding(None, self._inputs)  # of bytes, 156 would be -100
        if filling is None or filling.shape != classes.shape:
            return classes
        return classes.masked_fill(filling.to(classes.device), IGNORED)

    @property
    def _values(self) -> bool:
        return self.targets.is_floating_point()

    def _together(self, runs: int, most: int) -> int:
        size = max(part[0].numel() * (1 if part.is_floating_point() else TOKEN) for part in self._inputs.values())
        return max(1, min(most, NUMBERS // max(1, size)) // runs)


def number_of_runs(model: nn.Module, runs: bool | None) -> int | None:
    """R, where the model says so, or the user: then its first weight has them."""
    if runs is None:
        return runs_of(model)
    return (runs_of(model) or len(next(model.parameters()))) if runs else None


def side_by_side(x: Tensor, runs: int) -> Tensor:
    """The same data for each run: (B, …) → (R, B, …), without a copy."""
    return x[None].expand(runs, *x.shape)


def _tensor(name: str, values: object) -> Tensor:
    if not isinstance(values, Tensor):
        loader = isinstance(values, torch.utils.data.DataLoader)
        hint = " (of a DataLoader, torch.cat its batches)" if loader else ""
        converted = array(name, values, f"a tensor (N, …) of numbers{hint}")
        values = torch.as_tensor(converted) if converted.dtype.kind in "fiubc" else values
    if not isinstance(values, Tensor) or values.is_complex():
        raise ArgumentError(f"{name} is {described(values)}; give a tensor (N, …) of real numbers")
    if values.layout != torch.strided:
        raise ArgumentError(f"{name} is sparse; give {name}.to_dense()")
    return values


def _outputs(model: nn.Module, x: Mapping[str, Tensor], runs: int | None) -> Tensor:
    if runs:
        x = {name: side_by_side(part, runs) for name, part in x.items()}
    answer = asked(model, x[""]) if "" in x else asked(model, **x)
    if not isinstance(answer, Tensor) or answer.is_complex():
        raise ArgumentError(f"the model gave {described(answer)}; wrap it, so that it gives a tensor of real numbers")
    answer = at_least_float32(answer)
    return answer if runs else answer[None]


def _mean(each: object, runs: int) -> Tensor:
    shapes = [(1,), ()] if runs == 1 else [(runs,)]
    if not isinstance(each, Tensor) or each.shape not in shapes:
        raise ArgumentError(f"the loss gave {described(each)}; give a function with one mean for each run, ({runs},)")
    return each.reshape(runs)


def _entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy over the last axis, or of a sigmoid where that has one output; the mean of what is not IGNORED."""
    if outputs.shape[:-1] != targets.shape:
        hint = f"give one class for each of {tuple(outputs.shape[1:-1])}, or a loss= of your own"
        raise ArgumentError(f"{_shapes(outputs, targets)}; {hint}")
    counts, classes = targets.ne(IGNORED), max(2, outputs.shape[-1])
    if wrong := int((counts & ((targets < 0) | (targets >= classes))).sum()):
        hint = f"give whole numbers from 0 to {classes - 1}, and {IGNORED} where none counts"
        raise ArgumentError(f"{wrong} targets are no class of {classes}: {hint}")
    if outputs.shape[-1] == 1:
        each = F.binary_cross_entropy_with_logits(outputs[..., 0], targets.to(outputs.dtype), reduction="none")
        each = each.where(counts, 0.0)
    else:
        flat, wanted = outputs.reshape(-1, outputs.shape[-1]), targets.reshape(-1).long()
        each = F.cross_entropy(flat, wanted, reduction="none", ignore_index=IGNORED).view(targets.shape)
    return each.flatten(1).sum(1) / counts.flatten(1).sum(1).clamp(min=1)


def _shapes(outputs: Tensor, targets: Tensor) -> str:
    return f"targets have shape {tuple(targets.shape[1:])} for outputs {tuple(outputs.shape[1:])}"


def _check_axes(outputs: Tensor) -> None:
    """ArgumentError where torch's own cross entropy would look for the classes on another axis of the same length."""
    if outputs.ndim > 2 and outputs.shape[1] == outputs.shape[-1]:
        hint = "give loss=lambda outputs, targets: ... over the one that has them"
        axes = f"the classes may be on either axis of {outputs.shape[-1]}"
        raise ArgumentError(f"outputs are {tuple(outputs.shape)}: {axes}; {hint}")


def _squared(outputs: Tensor, targets: Tensor) -> Tensor:
    outputs = outputs[..., 0] if outputs.dim() == targets.dim() + 1 and outputs.shape[-1] == 1 else outputs
    if outputs.shape != targets.shape:
        hint = "give values of the shape of the outputs, whole numbers for classes, or a loss= of your own"
        raise ArgumentError(f"{_shapes(outputs, targets)}; {hint}")
    return (outputs - targets).square().flatten(1).mean(1)  # in the type of the more precise of both
