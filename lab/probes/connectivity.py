"""How far a loss rises on the straight way between two models, before and after their hidden units are matched.

Units of a stack of linear layers can change places without a change of the function. `matched` finds the places in
which the weights of the second model are nearest to those of the first (weight matching: Ainsworth et al. 2023).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_flag, check_whole, described, shortened
from lab.estimates import Estimate, mean, unless_equal
from lab.models.layers import Linear
from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.spline import Spline
from lab.picture import HasPicture
from lab.probes.arguments import array, calling, functions, module
from lab.probes.landscape import Measure, answer_of
from lab.probes.reading import asked
from lab.probes.spectrum import main_of
from lab.probes.weights import Double, bare, flat, history, rest, rest_history, runs_of, weights

CLOSE = 1e-3  # of the largest output: up to where outputs are the same
GAIN = 1e-12  # of the similarity: below, an assignment is no better than the one before
Axes = dict[str, dict[int, int]]  # by tensor: axis → hidden layer whose units it has
State = dict[str, Tensor]


@dataclass(frozen=True, eq=False, repr=False)
class Connectivity(HasPicture):
    """Measures on the straight way between pairs of models, which begins at the first one, 0, and ends at the second.

    along (points,); values: for each measure (pairs, points); matched: the same with the second model's units in their
    matched places, None where they cannot be matched (`notes` say why). loss: which measure barriers are of. places:
    for each pair and hidden layer, which unit of the second model stands at each place.
    """

    along: np.ndarray
    values: dict[str, np.ndarray] = field(repr=False)
    matched: dict[str, np.ndarray] | None = field(repr=False)
    loss: str
    places: tuple[tuple[np.ndarray, ...], ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def barriers(self) -> np.ndarray:
        """(pairs,): the most that the loss is above the straight line between its values at both ends."""
        return self._barriers(self.values[self.loss])

    @property
    def matched_barriers(self) -> np.ndarray | None:
        """(pairs,): the same after matching."""
        return None if self.matched is None else self._barriers(self.matched[self.loss])

    @property
    def barrier(self) -> Estimate:
        """The mean barrier, with Student's interval over pairs: `.effect`, `.interval(0.95)`."""
        return unless_equal(mean(self.barriers, over="pairs"))

    @property
    def matched_barrier(self) -> Estimate | None:
        """The mean barrier after matching."""
        barriers = self.matched_barriers
        return None if barriers is None else unless_equal(mean(barriers, over="pairs"))

    @property
    def table(self) -> pd.DataFrame:
        """One row a point: pair, matched, along, and each measure."""
        ways = {False: self.values} | ({} if self.matched is None else {True: self.matched})
        tables = []
        for matched, values in ways.items():
            pair, point = (part.ravel() for part in np.indices(values[self.loss].shape))
            columns = {name: numbers.ravel() for name, numbers in values.items()}
            tables.append(pd.DataFrame({"pair": pair, "matched": matched, "along": self.along[point], **columns}))
        return pd.concat(tables, ignore_index=True)

    def _barriers(self, values: np.ndarray) -> np.ndarray:
        return (values - (1 - self.along) * values[:, :1] - self.along * values[:, -1:]).max(1)


def connectivity(
    a: nn.Module | Sequence[nn.Module],
    b: nn.Module | Sequence[nn.Module],
    measures: Mapping[str, Measure],
    points: int = 21,
    inputs: Tensor | np.ndarray | None = None,
    match: bool = True,
) -> Connectivity:
    """Measures on the straight way from model a to model b in weight space, as they are and with b's units matched.

    a, b: two models of the same architecture, or two lists of as many, for an interval over pairs: let no model stand
        in two of them. They are not changed.
    measures: by name, functions from a model to a number, as for `landscape`. Barriers are of the one named "loss",
        else of the first.
    points: on the way, with both ends. match: whether units are matched, too: those between linear layers, by what a
        model computes when it is measured. A function for each unit goes with its unit. Where that is not all that a
        model does with its units, the way without matching is given alone, and `notes` say so.
    inputs: what a model with running statistics (batch norm) is called with, (N, …): those between two models are no
        mean of theirs (Jordan et al. 2023), and are computed from these inputs at each point. The ends have their own.

    Raises ArgumentError for models that differ in more than numbers, a loss that is not finite at a model, and a model
    with running statistics without `inputs`.

    >>> first = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    >>> second = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    >>> for one, other in zip(first.parameters(), second.parameters()):
    ...     other.data = one.flip(1) if one.shape == (1, 2) else one.flip(0)  # the two hidden units change places
    >>> x = torch.linspace(-1, 1, 9)[:, None]
    >>> result = connectivity(first, second, {"loss": lambda model: (model(x) - x).square().mean()})
    >>> result.places[0][0].tolist(), result.matched_barriers.round(6).tolist()
    ([1, 0], [0.0])
    """
    functions("measures", measures, "{'loss': probes.Loss(inputs, targets)}")
    check_whole("points", points, 2)
    check_flag("match", match)
    firsts, seconds = (list(m) if isinstance(m, (list, tuple)) else [m] for m in (a, b))
    if len(firsts) != len(seconds) or not firsts:
        raise ArgumentError(f"a has {len(firsts)} models and b {len(seconds)}; give as many, one pair at least")
    along, loss, notes = np.linspace(0, 1, points), main_of(measures), []
    pairs = [(bare(module("a", x)), bare(module("b", y))) for x, y in zip(firsts, seconds, strict=True)]
    ways = [_way(one, _state(other), measures, along, inputs, other) for one, other in pairs]
    matched, places = [], []
    if match:
        try:
            for one, other in pairs:
                state, where = matched_to(one, other, loss, measures[loss])
                matched.append(_way(one, state, measures, along, inputs))
                places.append(where)
        except _Unmatched as reason:
            notes.append(f"units are not matched: {reason}")
            matched, places = [], []
    bad = sum(int((~np.isfinite(way[loss])).sum()) for way in (*ways, *matched))
    notes += [f"{loss} is not finite at {bad} points between the models, whose barriers count nowhere"] if bad else []
    stacked = [{n: np.stack([way[n] for way in some]) for n in measures} if some else None for some in (ways, matched)]
    assert stacked[0] is not None  # there is a pair
    return Connectivity(along, stacked[0], stacked[1], loss, tuple(places), tuple(notes))


class _Unmatched(Exception):
    """Why units cannot be matched."""


def matched_to(a: nn.Module, b: nn.Module, name: str, measure: Measure) -> tuple[State, tuple[np.ndarray, ...]]:
    """The tensors of b with its units in the places in which its weights are nearest to a's, and these places."""
    double = Double(a)
    order, output = _called(double.model, name, measure)
    axes = _axes(double.model, order)
    sizes = {layer: _state(a)[n].shape[axis] for n, where in axes.items() for axis, layer in where.items()}
    chance = np.random.default_rng(0)
    shuffled = _permuted(_state(a), axes, [chance.permutation(sizes[layer]) for layer in sorted(sizes)])
    difference = rest_history(a, [shuffled])
    move = None if difference is None else torch.from_numpy(difference[0])
    other = _called(double.at(torch.from_numpy(history(a, [shuffled])[0]), move), name, measure)[1]
    if not torch.allclose(other, output, 0, CLOSE * float(output.abs().max()), equal_nan=True):
        raise _Unmatched("the model's answer is another when its hidden units change places")
    trained = {n for n, tensor in a.named_parameters() if n in axes}
    ours, theirs = ({n: m[n].cpu().double() for n in trained} for m in (_state(a), _state(b)))
    places = tuple(_assigned(axes, sizes, ours, theirs))
    return _permuted(_state(b), axes, places), places


def _assigned(axes: Axes, sizes: Mapping[int, int], ours: State, theirs: State) -> list[np.ndarray]:
    """For each hidden layer the places of the second's units: the best of two starts, improved layer by layer."""
    from scipy.optimize import linear_sum_assignment

    def improved(layer: int, places: list[np.ndarray], names: list[str]) -> np.ndarray:
        similarity = torch.zeros(sizes[layer], sizes[layer], dtype=torch.float64)
        for name in names:
            axis = next(axis for axis, number in axes[name].items() if number == layer)
            others = {name: {axis: number for axis, number in axes[name].items() if number != layer}}
            one, other = ours[name], _permuted({name: theirs[name]}, others, places)[name]
            one, other = (tensor.movedim(axis, 0).reshape(sizes[layer], -1) for tensor in (one, other))
            similarity += one @ other.T
        return linear_sum_assignment(similarity.cpu().numpy(), maximize=True)[1]

    def alike(places: list[np.ndarray]) -> float:
        other = _permuted(theirs, axes, places)
        return sum(float((ours[name] * other[name]).sum()) for name in ours)

    layers = sorted(sizes)
    as_is = [np.arange(sizes[layer]) for layer in layers]
    forward = list(as_is)
    for layer in layers:  # by what enters a unit: finds the places of a copy
        forward[layer] = improved(layer, forward, [name for name in ours if max(axes[name].values()) == layer])
    best = []
    for places in (forward, as_is):
        before, now = -np.inf, alike(places)
        while now - before > GAIN * abs(now):
            for layer in layers:
                places[layer] = improved(layer, places, [name for name in ours if layer in axes[name].values()])
            before, now = now, alike(places)
        best.append((now, places))
    return max(best, key=lambda pair: pair[0])[1]


def _permuted(state: State, axes: Axes, places: Sequence[np.ndarray]) -> State:
    """Tensors with the units of each hidden layer in other places."""
    there = dict(state)
    for name in axes.keys() & state.keys():
        for axis, layer in axes[name].items():
            there[name] = there[name].index_select(axis, torch.as_tensor(places[layer], device=there[name].device))
    return there


def _called(model: nn.Module, name: str, measure: Measure) -> tuple[list[str], Tensor]:
    """The parts of a model in the order in which its first call within a measure calls them, and that call's output."""
    order: list[str] = []
    outputs: list[Any] = []
    hooks = [
        part.register_forward_pre_hook(lambda part, given, path=path: None if outputs else order.append(path))
        for path, part in model.named_modules()
    ]
    hooks.append(model.register_forward_hook(lambda part, given, output: outputs.append(output)))
    try:
        answer_of(name, measure, model)
    finally:
        for hook in hooks:
            hook.remove()
    first = asked(lambda: outputs[0]) if outputs else None
    if not isinstance(first, Tensor) or not first.is_floating_point():
        raise _Unmatched(f"measure {name!r} does not call the model, or it gives {described(first)}")
    return order, first


def _axes(model: nn.Module, order: list[str]) -> Axes:
    """Which axes of which tensors have the units between linear layers, in the order in which parts are called."""
    linear = [path for path in order if isinstance(model.get_submodule(path), (nn.Linear, Linear))]
    axes: Axes = {}
    layer, width, visited = -1, None, set()
    if len(linear) < 2 or runs_of(model) not in (None, 1):
        raise _Unmatched("this is no stack of two linear layers or more, of one run")
    for path in order:
        part: Any = model.get_submodule(path)
        tensors = {n: t for n, t in (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False))}
        tensors = {n: t for n, t in tensors.items() if t.numel() > 1}
        of_units: dict[str, dict[int, int]] = {}
        if path in linear:
            into, out = (1, 0) if isinstance(part, nn.Linear) else (1, 2)
            if width is not None and part.weight.shape[into] != width:
                raise _Unmatched(f"{path} receives {part.weight.shape[into]} numbers of a layer with {width} units")
            layer, width = layer + 1, part.weight.shape[out]
            of_units["weight"] = {into: layer - 1} if layer else {}
            if layer < len(linear) - 1:
                of_units["weight"][out] = layer
                of_units["bias"] = {part.weight.dim() - 1 if out else 0: layer}
        elif 0 <= layer < len(linear) - 1 and not (isinstance(part, Spline) and not isinstance(part, ChannelSpline)):
            for name, tensor in tensors.items():
                first = isinstance(part, ChannelSpline) or tensor.dim() == 1
                if tensor.shape[0 if first else -1] == width and (first or tensor.numel() == width):
                    of_units[name] = {0 if first else tensor.dim() - 1: layer}
        if path in visited and any(of_units.values()):
            raise _Unmatched(f"{path} is called more than once")
        visited.add(path)
        if "weight" in of_units and "weight" not in dict(part.named_parameters(recurse=False)):
            raise _Unmatched(f"the weight of {path} is computed from others")
        axes |= {f"{path}.{n}".lstrip("."): of_units[n] for n in tensors if of_units.get(n)}
    every = dict(model.named_parameters(remove_duplicate=False))
    if tied := [n for n in every if n not in dict(model.named_parameters())]:
        raise _Unmatched(f"{shortened(', '.join(tied), 80)} is tied to another weight")
    return axes


def _state(model: nn.Module) -> State:
    return {n: t.detach() for n, t in (*model.named_parameters(), *model.named_buffers())}


def _way(
    a: nn.Module,
    b: State,
    measures: Mapping[str, Measure],
    along: np.ndarray,
    inputs: object,
    other: nn.Module | None = None,
) -> dict[str, np.ndarray]:
    """Measures on the straight way from a model to the tensors of another, (points,) each. other: is measured, too, to
    see whether it is what stands at the end."""
    shapes = [{n: tuple(t.shape) for n, t in state.items()} for state in (_state(a), b)]
    if shapes[0] != shapes[1]:
        wrong = [n for n in shapes[0].keys() | shapes[1].keys() if shapes[0].get(n) != shapes[1].get(n)]
        raise ArgumentError(f"a and b differ in {shortened(', '.join(sorted(wrong)), 100)}; give models of one kind")
    moving = [n.rpartition(".")[0] for n in rest(a) if n.endswith("running_mean")]
    if moving and inputs is None:
        hint = "give inputs=, data on which they are computed anew"
        raise ArgumentError(f"between two models the running statistics of {len(moving)} layers are neither's; {hint}")
    start, end, change = flat(a), history(a, [b])[0], rest_history(a, [b])
    double, values = Double(a), {name: np.empty(len(along)) for name in measures}
    device = next(iter(weights(double.model).values())).device
    for number, share in enumerate(along):
        move = None if change is None else torch.from_numpy(share * change[0])
        model = double.at(torch.from_numpy((1 - share) * start + share * end).to(device), move)
        if moving and 0 < share < 1:
            _recompute(model, moving, inputs)
        for name, measure in measures.items():
            answer = answer_of(name, measure, model)
            if answer.size != 1:
                raise ArgumentError(f"measure {name!r} gave shape {answer.shape}; it must give one number a model")
            values[name][number] = answer.item()
    for name, way in values.items():
        if not np.isfinite(way[[0, -1]]).all():
            raise ArgumentError(f"{name!r} is {way[0]:g} of a and {way[-1]:g} of b; give models where it is finite")
        alone = way[-1] if other is None else answer_of(name, measures[name], Double(other).model).item()
        if not np.isclose(alone, way[-1], CLOSE, CLOSE * np.abs(way).max(initial=0, where=np.isfinite(way))):
            words = f"{name!r} is {alone:.6g} of b, and {way[-1]:.6g} of a with the weights of b"
            raise ArgumentError(f"{words}: they differ in more than numbers; give models of one kind")
    return values


@torch.no_grad()
def _recompute(model: nn.Module, moving: list[str], inputs: object) -> None:
    """Running statistics of a copy of a model, from one pass of the inputs."""
    like = next(iter(weights(model).values()))
    data = inputs if isinstance(inputs, Tensor) else torch.as_tensor(array("inputs", inputs, "a tensor (N, …)"))
    data = data.to(like.device, like.dtype if data.is_floating_point() else None)
    parts: list[Any] = [model.get_submodule(path) for path in moving]
    momenta = [part.momentum for part in parts]
    try:
        for part in parts:
            part.training, part.momentum = True, 1.0
        with calling(f"{type(model).__name__}, on {described(data)},", "give inputs= that it reads"):
            model(data)
    finally:
        for part, momentum in zip(parts, momenta, strict=True):
            part.training, part.momentum = False, momentum
