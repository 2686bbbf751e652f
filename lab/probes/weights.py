"""The weights of a model as one point of a space, and copies of the model at other points.

P is the number of weights, R the number of models side by side. Weights are the parameters that require gradients;
where none does, all are, but for the values of splines.
"""

import copy
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from lab.errors import ArgumentError, shortened
from lab.nonlinearity.spline import Spline
from lab.probes.arguments import FAR, calling, module, numbers
from lab.probes.reading import check_made, in_float32, set_evaluation_mode, used_by


def weights(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights by name, in the order of `model.parameters()`.

    >>> list(weights(nn.Sequential(nn.Linear(2, 1), Spline.zeros(learnable=False))))
    ['0.weight', '0.bias']
    """
    named = dict(module("model", model).named_parameters())
    parameters = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    if not parameters:
        functions = {id(part.values) for part in model.modules() if isinstance(part, Spline)}
        parameters = {name: parameter for name, parameter in named.items() if id(parameter) not in functions}
    if not parameters:
        raise ArgumentError(f"{type(model).__name__} has no weights; give a model with parameters")
    check_made(list(model.modules()))
    if bad := [name for name, parameter in parameters.items() if parameter.is_complex()]:
        hint = "a space of weights is of real numbers; keep torch.view_as_real of them"
        raise ArgumentError(f"weights {shortened(', '.join(bad), 100)} are complex, and {hint}")
    if bad := [name for name, parameter in parameters.items() if not parameter.isfinite().all()]:
        raise ArgumentError(f"weights {', '.join(bad)} are not finite; give a model that did not diverge")
    return parameters


def flat(model: nn.Module) -> np.ndarray:
    """The weights as one vector, (P,), float64.

    >>> flat(nn.Linear(3, 2)).shape
    (8,)
    """
    return np.concatenate([_numbers(parameter).ravel() for parameter in weights(model).values()])


class Checkpoints(NamedTuple):
    """Checkpoints of a training. weights (T, P). buffers (T, S): by how much the running statistics, and what else is
    no weight (`rest`), differ from the model's; steps (T,): after which. None where they are not known."""

    weights: np.ndarray
    buffers: np.ndarray | None = None
    steps: np.ndarray | None = None


def checkpoints_of(model: nn.Module, trajectory: object) -> Checkpoints:
    """Checkpoints as `landscape` takes them: those that `history` reads, or `Checkpoints` as they are."""
    if isinstance(trajectory, Checkpoints):
        return trajectory
    if isinstance(trajectory, tuple) and [np.ndim(part) for part in trajectory] == [1, 2]:  # steps, and weights
        weights = history(model, trajectory[1])
        steps = np.asarray(trajectory[0])
        if len(steps) != len(weights):
            raise ArgumentError(f"a trajectory of {len(steps)} steps and {len(weights)} weights; give as many of each")
        return Checkpoints(weights, None, steps)
    return Checkpoints(history(model, trajectory), rest_history(model, trajectory))


def history(model: nn.Module, checkpoints: object) -> np.ndarray:
    """Checkpoints of a training as (T, P), float64.

    checkpoints: a sequence of T `state_dict()`s; or (T, P) or (T, 1, P), or a sequence of T vectors, weights in the
    order of `model.parameters()`, as `torch.nn.utils.parameters_to_vector` gives them; values of parameters that are no
    weights may stand among them.

    >>> history(model := nn.Linear(3, 2), [model.state_dict()] * 4).shape
    (4, 8)
    """
    model = bare(model)
    wanted = weights(model)
    size = sum(p.numel() for p in wanted.values())
    expected = f"(checkpoints, {size}), one vector of weights a checkpoint, or a list of state_dicts"
    if isinstance(checkpoints, (list, tuple)):  # of tensors, maybe on a GPU
        checkpoints = [
            _of_state(one, wanted) if isinstance(one, Mapping) else numbers("trajectory", one, expected).tolist()
            for one in checkpoints
        ]
    vectors = numbers("trajectory", checkpoints, expected)
    if vectors.ndim == 3 and vectors.shape[1] == 1:
        vectors = vectors[:, 0]
    trained = np.concatenate([np.full(p.numel(), name in wanted) for name, p in model.named_parameters()])
    if vectors.ndim != 2 or not len(vectors) or vectors.shape[1] not in (len(trained), trained.sum()):
        hint = "one vector of the model's weights a checkpoint (torch.nn.utils.parameters_to_vector)"
        raise ArgumentError(f"the trajectory has shape {vectors.shape}; give (checkpoints, {trained.sum()}), {hint}")
    if not (np.abs(vectors) < FAR).all():
        raise ArgumentError("the trajectory has weights that are not finite; leave these checkpoints out")
    return vectors if vectors.shape[1] == trained.sum() else vectors[:, trained]


def rest_history(model: nn.Module, checkpoints: object) -> np.ndarray | None:
    """By how much the `rest` of T `state_dict()`s differs from the model's, (T, S); None of vectors of weights.

    What a state lacks is as in the model.
    """
    others = rest(bare(model))
    if not others or not isinstance(checkpoints, (list, tuple)):
        return None
    if not all(isinstance(one, Mapping) for one in checkpoints):
        return None
    ours = np.concatenate([_numbers(tensor).ravel() for tensor in others.values()])
    theirs = np.stack([_of_state({**others, **_plain(one, others)}, others) for one in checkpoints])
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(theirs - ours, nan=0.0, posinf=0.0, neginf=0.0)  # masks are infinite in both


def _plain(state: Mapping[str, object], wanted: Mapping[str, Tensor]) -> dict[str, object]:
    """A state by the model's own names: without those that torch.compile and data in parallel put in front."""
    plain = {name: name.replace("_orig_mod.", "").removeprefix("module.") for name in state}
    return {name if name in wanted else plain[name]: value for name, value in state.items()}


def _of_state(state: Mapping[str, object], wanted: Mapping[str, Tensor]) -> np.ndarray:
    """The numbers of a state_dict, one behind the other, (P,)."""
    state = _plain(state, wanted)
    if missing := [name for name in wanted if name not in state]:
        lacks, has = (shortened(", ".join(map(str, names)), 100) for names in (missing, state))
        raise ArgumentError(
            f"a state_dict of the trajectory lacks {lacks}; it has {has}: give state_dicts of this model"
        )
    parts = {name: numbers(f"trajectory: {name}", state[name], f"shape {tuple(w.shape)}") for name, w in wanted.items()}
    for name, part in parts.items():
        if part.shape != wanted[name].shape:
            shapes = f"{name} of shape {part.shape}, the model has {tuple(wanted[name].shape)}"
            raise ArgumentError(f"a state_dict of the trajectory has {shapes}; give state_dicts of this model")
    return np.concatenate([part.ravel() for part in parts.values()])


def runs_of(model: nn.Module) -> int | None:
    """R, where the model says that it has a run axis, else None.

    It says so by an attribute `runs`, the length of the leading axis of all its weights, as the models of `lab.models`
    and their layers do; a model of such layers alone has their number. Shapes say nothing.

    >>> runs_of(nn.Linear(3, 2)) is None
    True
    """
    counts = _runs(model)
    return counts.pop() if len(counts) == 1 else None


def stacked(model: nn.Module) -> bool:
    """Whether all weights of a model of one run have its run axis, so that several can stand side by side."""
    return runs_of(model) == 1 and all(p.dim() > 1 and len(p) == 1 for p in weights(model).values())


def _runs(part: nn.Module) -> set[int | None]:
    """How many runs the parts of a module have that hold its weights; None for those that don't say."""
    runs = getattr(part, "runs", None)
    if isinstance(runs, int) and not isinstance(runs, bool):
        for name, parameter in part.named_parameters():
            matrix = parameter.dim() > 1 and not isinstance(part.get_submodule(name.rpartition(".")[0]), Spline)
            if matrix and len(parameter) != runs:
                raise ArgumentError(
                    f"{type(part).__name__} says runs={runs}, and its {name} is {len(parameter)} long: runs is the "
                    "length of the leading axis of all weights; call what you mean by another name"
                )
        return {runs}
    if isinstance(part, Spline):  # may be one function for all runs
        return set()
    direct = {None} if any(True for _ in part.parameters(recurse=False)) else set()
    return direct.union(*map(_runs, part.children()))


def bare(model: nn.Module) -> nn.Module:
    """The module in a wrapper of torch: that of torch.compile, or of data in parallel.

    >>> type(bare(nn.DataParallel(nn.ReLU()))).__name__
    'ReLU'
    """
    while True:
        if "_orig_mod" in model._modules:
            model = model.get_submodule("_orig_mod")
        elif isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        else:
            return model


def rest(model: nn.Module) -> dict[str, Tensor]:
    """What else a model computes with, by name: numbers that are no weights, as running statistics and frozen layers.

    >>> list(rest(nn.BatchNorm1d(2)))
    ['running_mean', 'running_var']
    """
    trained = weights(model)
    others = {name: tensor for name, tensor in model.named_parameters() if name not in trained}
    return {name: t for name, t in (*others.items(), *model.named_buffers()) if t.is_floating_point()}


def copied(model: nn.Module) -> nn.Module:
    """A copy, also of a model with tensors of its last call, as those with hooks and the older weight_norm have them.
    Other attributes that cannot be copied (a generator, a lock, an open file) are shared."""
    copies = {id(t): t.detach().clone() for t in used_by(model) if isinstance(t, Tensor) and not t.is_leaf}
    try:
        return copy.deepcopy(model, dict(copies))
    except Exception:
        of_modules = vars(nn.Module())
        for part in model.modules():
            for value in (value for name, value in vars(part).items() if name not in of_modules):
                try:
                    copy.deepcopy(value, dict(copies))
                except Exception:
                    copies[id(value)] = value
    with calling(f"copying {type(model).__name__}", "a landscape needs a copy; let copy.deepcopy(model) work"):
        return copy.deepcopy(model, copies)


class Double:
    """A copy of a model that can be put at any point of its weight space; the model itself is never changed.

    The copy is in evaluation mode, and numbers of half precision are float32, since steps of a landscape are small.
    """

    def __init__(self, model: nn.Module):
        self.model = copied(bare(model))
        set_evaluation_mode(list(self.model.modules()))
        in_float32([*self.model.parameters(), *self.model.buffers()])
        self._weights = weights(self.model)
        self._shapes = [parameter.shape for parameter in self._weights.values()]
        others = [parameter for name, parameter in self.model.named_parameters() if name not in self._weights]
        self._rest = [(tensor, tensor.detach().clone()) for tensor in [*others, *self.model.buffers()]]

    def at(self, point: Tensor, move: Tensor | None = None) -> nn.Module:
        """The copy with the weights (P,). move (S,): is added to what else it computes with (`rest`), which is as in
        the model without; variances stay above 0."""
        for (parameter, part), shape in zip(self._parts(point), self._shapes, strict=True):
            parameter.data = part.reshape(shape).to(parameter.device, parameter.dtype, copy=True)
        for tensor, original in self._rest:
            tensor.data = original.clone()  # a call may have changed a buffer
        if move is not None:
            others = rest(self.model)
            sizes = [tensor.numel() for tensor in others.values()]
            for (name, tensor), by in zip(others.items(), move.split(sizes), strict=True):
                there = tensor.detach().double() + by.to(tensor.device).view(tensor.shape)
                tensor.data = (there.clamp(min=0) if name.endswith("running_var") else there).to(tensor.dtype)
        return self.model

    def side_by_side(self, points: Tensor) -> nn.Module:
        """The copy with R = len(points) runs, for a model whose run axis has one; points (R, P)."""
        for (parameter, part), shape in zip(self._parts(points), self._shapes, strict=True):
            parameter.data = part.reshape(len(points), *shape[1:]).to(parameter.dtype, copy=True)
        for tensor, original in self._rest:  # functions of one run, keys of normalization: the same for all
            runs = original.dim() > 1 and len(original) == 1
            tensor.data = original.repeat(len(points), *[1] * (original.dim() - 1)) if runs else original.clone()
        return self.model

    def _parts(self, points: Tensor) -> list[tuple[nn.Parameter, Tensor]]:
        sizes = [shape.numel() for shape in self._shapes]
        return list(zip(self._weights.values(), points.split(sizes, dim=-1), strict=True))


def _numbers(values: object) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, np.float64)
