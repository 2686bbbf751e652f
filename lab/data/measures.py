"""Losses and metrics: of models side by side, by name, or as functions of the user's own."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lab.errors import ArgumentError, check_choice, described, listed, shown
from lab.identity import digest_of

Function = Callable[[Tensor, Tensor], Any]
LOSSES = ("cross_entropy", "mse", "mae")
METRICS = ("accuracy", "r2", "cross_entropy", "mse", "mae")
OF_CLASSES = ("cross_entropy", "accuracy")
LESS = LOSSES  # less of these is better
ERRORS = re.compile(r"error|loss|\b(n?r?mse|mae|mape|wer|cer|nll|bpc|perplexity|ppl)\b", re.IGNORECASE)
COLUMNS = ("function", "search", "seed", "rate", "step", "loss", "diverged")  # of a comparison's table, next to metrics
IGNORED = -100  # a class that counts nowhere, as in torch: padding, what has no label
NAMES = {"r2": "R²", "mse": "mean squared error", "mae": "mean absolute error", "cross_entropy": "cross-entropy (nats)"}


def chosen(
    classes: bool, loss: str | Function | None, metrics: Sequence[str] | Mapping[str, str | Function] | None
) -> tuple[str | Function, dict[str, str | Function]]:
    """Loss and metrics as given, or the usual ones; ArgumentError where a name fits no such targets."""
    loss = ("cross_entropy" if classes else "mse") if loss is None else loss
    if metrics is None:
        metrics = ("accuracy",) if classes else ("r2",)
    if isinstance(metrics, str):
        metrics = (metrics,)
    if not isinstance(metrics, Mapping):
        if not isinstance(metrics, Sequence) or not metrics:
            raise ArgumentError(f"metrics={shown(metrics)}: give names ({', '.join(METRICS)}), or functions by name")
        names = [named(metric) for metric in metrics]
        if twice := [name for name in names if names.count(name) > 1]:
            cure = 'give functions by name, as metrics={"near": f, "far": g}'
            raise ArgumentError(f"metrics has two of the name {shown(twice[0])}; {cure}")
        metrics = dict(zip(names, metrics, strict=True))
    for name in metrics:
        if not isinstance(name, str) or name in COLUMNS:
            raise ArgumentError(f"a metric has the name {shown(name)}; give words, and none of {', '.join(COLUMNS)}")
    for what, known, given in [("loss", LOSSES, loss), *(("metric", METRICS, metric) for metric in metrics.values())]:
        fitting = ", ".join(name for name in known if (name in OF_CLASSES) == classes)
        if isinstance(given, type):
            expected = f"a name ({fitting}), or a function (outputs, targets) → number, as {given.__name__}()"
            raise ArgumentError(f"{what} is {described(given)}; give {expected}")
        if callable(given):
            continue
        check_choice(what, given, known, ", or a function (outputs, targets) → number")
        if (given in OF_CLASSES) != classes:
            there = "classes" if classes else "values"
            raise ArgumentError(f"{what} {given!r} does not fit targets that are {there}; give {fitting} or a function")
    return loss, dict(metrics)


def identity(measure: str | Function) -> str:
    """A loss or metric as digests have it: of a function its name, its code and its settings."""
    return measure if isinstance(measure, str) else f"{named(measure)} {digest_of(measure)}"


def named(measure: str | Function) -> str:
    """A loss or metric in words: of a function its name."""
    if isinstance(measure, str):
        return measure
    return getattr(measure, "__qualname__", None) or repr(measure)


def sign(measure: str | Function) -> int:
    """1 where more is better, -1 where less is: of errors by name, of losses of torch, of scikit-learn's errors.

    >>> sign("mae"), sign(torch.nn.L1Loss()), sign(F.mse_loss), sign(lambda outputs, targets: 0.0)
    (-1, -1, -1, 1)
    """
    if isinstance(measure, str):
        return -1 if measure in LESS else 1
    name = getattr(whole(measure), "__name__", "")
    is_error = _is_of_sklearn(measure) and name.endswith(("_error", "_loss", "_deviance"))
    return -1 if is_error or is_of_torch(measure) else 1


def is_of_torch(loss: object) -> bool:
    """Whether this is one of torch's losses, maybe with some of its arguments."""
    loss = whole(loss)
    home = type(loss).__module__ if isinstance(loss, nn.Module) else getattr(loss, "__module__", None)
    return home in (nn.MSELoss.__module__, F.__name__)


def whole(measure: Any) -> Any:
    """The function that was given some of its arguments."""
    return measure.func if isinstance(measure, partial) else measure


def _is_of_sklearn(measure: object) -> bool:
    """Whether this is one of scikit-learn's metrics, maybe with some of its arguments."""
    return str(getattr(whole(measure), "__module__", "")).startswith("sklearn.")


def _called(measure: Function, output: Tensor, target: Tensor, what: str) -> Tensor:
    """The number that a function gives of (outputs, targets), as torch's losses read them, or of (targets, outputs), as
    scikit-learn's metrics do."""
    given = measure(target, output) if _is_of_sklearn(measure) else measure(output, target)
    value = given if isinstance(given, Tensor) else torch.as_tensor(given, dtype=torch.float64)
    if value.numel() != 1:
        raise ArgumentError(f"{what} gives shape {tuple(value.shape)}; give one number, the mean over the batch")
    return value.reshape(())


def doubts(metrics: Mapping[str, str | Function]) -> tuple[str, ...]:
    """A line on functions of the user's that are called as errors are.

    >>> doubts({"RMSE": lambda outputs, targets: 0.0})[0].startswith("more of RMSE counts as better")
    True
    """
    named_so = [
        name
        for name, metric in metrics.items()
        if not isinstance(metric, str) and sign(metric) == 1 and ERRORS.search(name.replace("_", " "))
    ]
    said = f"more of {listed(named_so)} counts as better, as of all functions of yours"
    return (f"{said}: let it return an error below 0",) if named_so else ()


def unit(measure: str | Function) -> tuple[str, float]:
    """The unit in which differences of a measure are said, and what one is multiplied by for it: percentage points of
    an accuracy, else its own.

    >>> unit("accuracy"), unit("r2")
    (('points', 100.0), ('', 1.0))
    """
    return ("points", 100.0) if measure == "accuracy" else ("", 1.0)


def losses(loss: str | Function, outputs: Tensor, targets: Tensor, last: bool = False) -> Tensor:
    """The mean loss of each of R models: outputs (R, B, …), targets (R, B, …) → (R,), differentiable.

    Classes that are `IGNORED` do not count; a function of the user's gets them as they are. last: see `class_last`.

    >>> losses("mse", torch.tensor([[[1.0], [3.0]]]), torch.tensor([[1.0, 1.0]]))
    tensor([2.])
    """
    if callable(loss):
        pairs = zip(*aligned(outputs, targets), strict=True)
        return torch.stack([_called(loss, out, target, "the loss") for out, target in pairs])
    each = _errors(loss, outputs, targets, last)
    return each.sum(1) / _counted(targets).sum(1).clamp(min=1) if loss == "cross_entropy" else each.mean(1)


def scores(metric: str | Function, outputs: Tensor, targets: Tensor, last: bool = False) -> Tensor:
    """A metric of each of R models on a whole split, (R,) float64: outputs (R, N, …), targets (N, …).

    R² of targets (N, K) is the mean over their K columns, as scikit-learn has it; of more axes, of all values together.
    """
    wide = targets.expand(len(outputs), *targets.shape)
    if callable(metric):
        pairs = zip(*aligned(outputs, wide), strict=True)
        return torch.stack([_called(metric, out, target, "the metric").double() for out, target in pairs])
    if metric == "accuracy":
        logits = class_last(outputs, wide, last)
        if logits.shape[-1] == 1:
            cure = "let it give them, or have metrics={'accuracy': lambda o, t: ((o > 0) == (t > 0)).float().mean()}"
            raise ArgumentError(f"the model gives one output, and accuracy needs one for each class; {cure}")
        right = (logits.argmax(-1) == wide).flatten(1)
        return right.double().sum(1) / _counted(wide).sum(1)
    if metric == "r2":
        return _r2(alike(outputs, wide).double(), targets.double())
    if metric == "cross_entropy":
        return _errors(metric, outputs, wide, last).double().sum(1) / _counted(wide).sum(1)
    return _errors(metric, outputs.double(), wide, last).mean(1)


def _errors(loss: str, outputs: Tensor, targets: Tensor, last: bool) -> Tensor:
    """Of each number of each of R models, (R, n); 0 where it does not count."""
    if loss == "cross_entropy":
        logits, ids = class_last(outputs, targets, last).flatten(0, -2), targets.flatten()
        nats = F.cross_entropy(at_least_float32(logits), ids, reduction="none", ignore_index=IGNORED)
        return nats.view(len(outputs), -1)
    gap = (alike(outputs, targets) - targets).flatten(1)
    return gap.square() if loss == "mse" else gap.abs()


def _counted(classes: Tensor) -> Tensor:
    return classes.ne(IGNORED).flatten(1)


def _r2(outputs: Tensor, targets: Tensor) -> Tensor:
    """Of outputs (R, N, …) and targets (N, …); where targets are all the same 0, or 1 without an error."""
    errors, spread = (outputs - targets).square(), (targets - targets.mean(0)).square().sum(0)
    same = (targets == targets[:1]).all(0)
    if targets.ndim == 2:
        return torch.where(same, 1 - errors.sum(1).sign(), 1 - errors.sum(1) / spread).mean(1)
    error = errors.flatten(1).sum(1)
    return torch.where(same.all(), 1 - error.sign(), 1 - error / spread.sum())


def at_least_float32(values: Tensor) -> Tensor:
    """Values of low precision as float32, in which sums over a batch stay true."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def class_last(outputs: Tensor, targets: Tensor, last: bool = False) -> Tensor:
    """Logits (R, B, …, C) with the classes on their last axis; else they are behind the batch, as torch has them.

    Images of classes (B, C, H, W) are read as torch reads them, where both fit. Sequences of as many positions as
    classes are refused, since either axis may have the classes. last: it is the last one, whatever else fits.
    """
    as_last = outputs.shape[:-1] == targets.shape
    behind = targets.ndim > 2 and outputs.shape[:2] + outputs.shape[3:] == targets.shape
    if as_last and (last or not behind):
        return outputs
    if as_last and targets.ndim == 3:
        said = f"the model gives shape {tuple(outputs.shape[2:])} for {targets.shape[2]} targets"
        cure = f"pad X and y by a position (target {IGNORED} does not count), or give loss= and metrics= of your own"
        raise ArgumentError(f"{said}, and either axis may have the classes; {cure}")
    if behind:
        return outputs.movedim(2, -1)
    wanted = "logits of shape (batch, classes)" if targets.ndim == 2 else "logits with an axis of classes"
    raise ArgumentError(_misfit(outputs, targets, wanted))


def aligned(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """What a loss or metric of the user's gets, of R models: outputs in the targets' shape where there is one for each
    target, so that nothing is broadcast; classes are floats then, as in binary cross-entropy. Else both as they are.

    >>> outputs, targets = aligned(torch.zeros(1, 3, 1), torch.tensor([[0, 1, 1]]))
    >>> outputs.shape, targets
    (torch.Size([1, 3]), tensor([[0., 1., 1.]]))
    """
    if not _same_axes(outputs, targets):
        return outputs, targets
    floats = targets if targets.is_floating_point() else targets.to(at_least_float32(outputs[:1]).dtype)
    return outputs.reshape(targets.shape), floats


def alike(outputs: Tensor, targets: Tensor) -> Tensor:
    """Predicted values in the shape of the targets; (B, 1) for (B,) is taken as (B,), and no axis changes its place."""
    if _same_axes(outputs, targets):
        return outputs.reshape(targets.shape)
    raise ArgumentError(_misfit(outputs, targets, "values of the targets' shape"))


def _same_axes(outputs: Tensor, targets: Tensor) -> bool:
    """Whether all axes are equal, but for those of length 1 behind the batch."""
    axes = [[size for size in each.shape[2:] if size != 1] for each in (outputs, targets)]
    return outputs.shape[:2] == targets.shape[:2] and axes[0] == axes[1]


def _misfit(outputs: Tensor, targets: Tensor, wanted: str) -> str:
    given, there = tuple(outputs.shape[2:]), tuple(targets.shape[2:])
    text, hint = f"the model gives shape {given} for an example with targets of shape {there}", ""
    if targets.is_floating_point() and outputs.ndim == targets.ndim + 1:
        hint = ", or say kind='classification' of the data, if y holds classes"
    elif not targets.is_floating_point() and given == there:
        hint = ", or, where a row may have several labels, have loss=torch.nn.BCEWithLogitsLoss() and metrics= of yours"
    return f"{text}; let it give {wanted}{hint}"


def constant_score(metric: str | Function, learned: Tensor, targets: Tensor, classes: int = 0) -> float | None:
    """The score on `targets` of the constant answer that is best for `learned`: how often each class is there, the mean
    of values, or their median where the metric is "mae". Targets below 0 that should be classes are no examples.

    classes: how many there are; 0: targets are values. None where a metric of one's own cannot read such answers.

    >>> labels = torch.tensor([0, 0, 1])
    >>> round(constant_score("accuracy", labels, labels, 2), 3), constant_score("r2", labels.float(), labels.float())
    (0.667, 0.0)
    """
    if classes:
        shares = torch.bincount(learned[learned >= 0].flatten(), minlength=classes).double()
        answer = (shares / shares.sum()).clamp_min(1e-12).log()
    else:
        values = learned.double()
        answer = values.median(0).values if metric == "mae" else values.mean(0)
    said = answer.expand(1, *targets.shape[: targets.ndim - answer.ndim + bool(classes)], *answer.shape)
    try:
        return float(scores(metric, said, targets if classes else targets.double(), last=True)[0])
    except Exception:  # a function of the user's own may want anything
        if isinstance(metric, str):
            raise
        return None
