"""The Hessian of a loss in the weights: its leading eigenvalues, and the density of all of them, by Lanczos' method.

The second derivatives are exact, of a copy in evaluation mode; a kink (of ReLU, of a spline) has none. P is the number
of weights, R the number of models side by side, each of which has a Hessian of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import pi, sqrt

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from lab.errors import ArgumentError, check_whole, described
from lab.picture import HasPicture
from lab.probes.arguments import calling, check_room, functions, module
from lab.probes.reading import reading
from lab.probes.weights import Double, bare, runs_of, weights

SPENT = 1e-12  # of the largest number of a tridiagonal matrix: below, a direction is rounding
POINTS, WIDTH, ENDS = 1000, 0.01, 6  # of the density: points; width of a bump, of the whole; widths beyond the ends


def main_of(measures: Mapping[str, Callable]) -> str:
    """Which measure is the loss: the one with that name, else the first.

    >>> main_of({"accuracy": len, "loss": len}), main_of({"error": len, "size": len})
    ('loss', 'error')
    """
    return "loss" if "loss" in measures else next(iter(measures))


class Hessian:
    """Products of the Hessian of a measure with vectors. The graph of its gradient is kept: give a sample of data.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> Hessian(model, "loss", lambda m: (m.weight**2 * torch.tensor([1.0, 3.0])).sum())(torch.eye(2)[:1]).tolist()
    [[2.0, 0.0]]
    """

    def __init__(self, model: nn.Module, name: str, measure: Callable):
        double = Double(model)
        self.weights = list(weights(double.model).values())
        for weight in self.weights:
            weight.requires_grad_(True)
        self.runs = runs_of(double.model) or 1
        if self.runs > 1 and any(weight.dim() < 2 or len(weight) != self.runs for weight in self.weights):
            raise ArgumentError(f"{self.runs} runs share some of their weights; give a model with one, as run.model()")
        self.size, self.products = sum(weight.numel() for weight in self.weights) // self.runs, 0
        self._words, self._hint = f"the second derivative of {name!r}", "give a loss that PyTorch differentiates twice"
        measure = getattr(measure, "differentiable", measure)
        with reading(double.model), torch.enable_grad(), calling(self._words, self._hint), sdpa_kernel(SDPBackend.MATH):
            loss = measure(double.model)
            if not isinstance(loss, Tensor) or not loss.requires_grad:
                given = f"measure {name!r} gave {described(loss)} without a gradient"
                raise ArgumentError(f"{given}; give the tensor itself: no .item(), no .detach(), no no_grad")
            if loss.numel() != self.runs or not loss.isfinite().all():
                given = f"measure {name!r} gave {loss.detach().flatten()[:4].tolist()} for {self.runs} models"
                raise ArgumentError(f"{given}; give one finite number a model")
            gradients = torch.autograd.grad(
                loss.sum(), self.weights, create_graph=True, allow_unused=True, materialize_grads=True
            )
        self._curved = [number for number, gradient in enumerate(gradients) if gradient.requires_grad]
        self._gradients = [gradients[number] for number in self._curved]

    def __call__(self, vectors: Tensor) -> Tensor:
        """(R, P) → (R, P), float64."""
        self.products += 1
        if not self._gradients:  # of a loss that is linear in its weights
            return torch.zeros(self.runs, self.size, dtype=torch.float64)
        parts = vectors.split([weight.numel() // self.runs for weight in self.weights], 1)
        along = [parts[number].reshape(self.weights[number].shape).to(self.weights[number]) for number in self._curved]
        with torch.inference_mode(False), torch.enable_grad(), calling(self._words, self._hint):
            products = torch.autograd.grad(
                self._gradients, self.weights, along, retain_graph=True, allow_unused=True, materialize_grads=True
            )
        product = torch.cat([part.reshape(self.runs, -1).double().cpu() for part in products], 1)
        if not product.isfinite().all():
            raise ArgumentError(f"{self._words} is not finite at this model; {self._hint}")
        return product


def lanczos(product: Callable[[Tensor], Tensor], start: Tensor, steps: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Lanczos' method with full reorthogonalization, R matrices at once.

    product: (R, P) → (R, P). start (R, P). Returns eigenvalues (R, K) and eigenvectors (R, K, K) of the tridiagonal
    matrices, and their bases (K, R, P), K = steps. Where the vectors that a start reaches are spent, it goes on with a
    random one (drawn from the seed), so that a value that several eigenvectors have is pairs as often.

    >>> matrix, start = torch.diag(torch.tensor([1.0, 2.0, 2.0])).double(), torch.ones(1, 3).double()
    >>> [round(value, 6) for value in lanczos(lambda v: v @ matrix, start, 3, seed=0)[0][0].tolist()]
    [1.0, 2.0, 2.0]
    """
    (runs, size), basis = start.shape, torch.empty(steps, *start.shape, dtype=torch.float64)
    matrix, vector = torch.zeros(runs, steps, steps, dtype=torch.float64), start / start.norm(dim=1, keepdim=True)

    def rest(vectors: Tensor, step: int) -> Tensor:
        for _ in range(2):  # once leaves rounding
            shares = torch.einsum("krp,rp->kr", basis[: step + 1], vectors)
            vectors = vectors - torch.einsum("krp,kr->rp", basis[: step + 1], shares)
        return vectors

    for step in range(steps):
        basis[step] = vector
        image = product(vector)
        matrix[:, step, step] = (image * vector).sum(1)
        if step + 1 < steps:
            image = rest(image, step)
            length = image.norm(dim=1)
            spent = length <= SPENT * matrix.abs().amax((1, 2))
            if spent.any():
                generator = np.random.default_rng([seed, step + 1, 1])  # [seed, 0] is the stream that drew the start
                fresh = torch.from_numpy(generator.normal(size=(1, size))).expand(runs, -1)
                image, length = torch.where(spent[:, None], rest(fresh, step), image), length.where(~spent, 0.0)
            matrix[:, step, step + 1] = matrix[:, step + 1, step] = length
            vector = image / image.norm(dim=1, keepdim=True)
    return *torch.linalg.eigh(matrix), basis


def leading(
    hessian: Hessian, count: int, pairs: tuple[Tensor, Tensor, Tensor]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of what `lanczos` pairs the eigenvalues of largest size (R, count), residuals (R, count), vectors (R, count, P).

    A vector has length 1, and its largest number is above 0.
    """
    values, shares, basis = pairs
    order = values.abs().argsort(dim=1, descending=True, stable=True)[:, :count]
    values = values.gather(1, order)
    vectors = torch.einsum("krp,rkc->rcp", basis, shares.gather(2, order[:, None].expand(-1, shares.shape[1], -1)))
    vectors = vectors * vectors.gather(2, vectors.abs().argmax(2, keepdim=True)).sign()
    images = torch.stack([hessian(vectors[:, number]) for number in range(count)], 1)
    return values.numpy(), (images - values[..., None] * vectors).norm(dim=2).numpy(), vectors.numpy()


def starts(hessian: Hessian, count: int, seed: int) -> Tensor:
    """Vectors of random directions, (count, R, P): the same for each run, alone or with others."""
    drawn = np.random.default_rng(seed).normal(size=(count, 1, hessian.size))
    return torch.from_numpy(drawn).expand(-1, hessian.runs, -1)


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(HasPicture):
    """Eigenvalues of the Hessian of a loss, in the unit of the loss by that of the weights squared.

    eigenvalues, residuals (count,): the largest in size, from both ends, with ‖Hv − λv‖ of the vector v of length 1
    that each belongs to: an eigenvalue is at most that far from it; vectors (count, P). x, density (points,): how many
    eigenvalues there are around x, of all, each a bump with the standard deviation `width`. means (probes,): vᵀHv of
    each probe, whose mean estimates that of all eigenvalues. size: P. products: of the Hessian with a vector, that it
    took. Of R > 1 models all arrays but x have a leading axis (R, …).
    """

    eigenvalues: np.ndarray
    residuals: np.ndarray
    vectors: np.ndarray = field(repr=False)
    x: np.ndarray = field(repr=False)
    density: np.ndarray = field(repr=False)
    means: np.ndarray = field(repr=False)
    width: float
    size: int
    products: int

    @property
    def table(self) -> pd.DataFrame:
        """One row an eigenvalue: run, number, eigenvalue, residual."""
        values = np.atleast_2d(self.eigenvalues)
        run, number = (part.ravel() for part in np.indices(values.shape))
        rest = {"eigenvalue": values.ravel(), "residual": self.residuals.ravel()}
        return pd.DataFrame({"run": run, "number": number + 1, **rest})


def spectrum(
    model: nn.Module, measures: Mapping[str, Callable], count: int = 10, steps: int = 60, probes: int = 8, seed: int = 0
) -> Spectrum:
    """The spectrum of the Hessian of a loss at a model's weights, which is not changed.

    measures: {"loss": function from a model to a tensor that can be differentiated twice}, such as `Loss`; of several,
        the one named "loss", else the first. A model with a run axis may give (R,).
    count: eigenvalues that are given, of the largest size. steps: of Lanczos' method; more find more of them, with
        smaller residuals. Both are at most P.
    probes, seed: random vectors for the density, by stochastic Lanczos quadrature (Ghorbani, Krishnan & Xiao 2019).

    Time is that of steps · probes + count backward passes. Raises ArgumentError for a loss that is not finite, has no
    gradient, or cannot be differentiated twice, and for steps that no memory holds.

    >>> model, sizes = nn.Linear(3, 1, bias=False), torch.tensor([4.0, -2.0, 1.0])
    >>> result = spectrum(model, {"loss": lambda m: (sizes * m.weight**2).sum() / 2}, count=2)
    >>> result.eigenvalues.round(5).tolist(), np.trapezoid(result.density, result.x).round(6).item()
    ([4.0, -2.0], 1.0)
    """
    functions("measures", measures, "{'loss': probes.Loss(inputs, targets)}")
    for setting, value in {"count": count, "steps": steps, "probes": probes}.items():
        check_whole(setting, value)
    check_whole("seed", seed, 0)
    name = main_of(measures)
    hessian = Hessian(bare(module("model", model)), name, measures[name])
    steps = min(max(count, steps), hessian.size)
    check_room("steps", steps, hessian.runs, hessian.size)
    nodes, shares, means = [], [], []
    for number, start in enumerate(starts(hessian, probes, seed)):
        values, vectors, basis = lanczos(hessian, start, steps, seed)
        if not number:
            largest, residuals, eigenvectors = leading(hessian, min(count, steps), (values, vectors, basis))
        nodes.append(values.numpy())
        shares.append(vectors[:, 0].square().numpy())
        means.append((nodes[-1] * shares[-1]).sum(1))
    at, of = np.concatenate(nodes, 1), np.concatenate(shares, 1) / probes
    low, high = float(at.min()), float(at.max())
    width = WIDTH * ((high - low) or abs(high) or 1.0)
    x = np.linspace(low - ENDS * width, high + ENDS * width, POINTS)
    bumps = np.exp(-0.5 * ((x - at[..., None]) / width) ** 2) / (width * sqrt(2 * pi))
    arrays = (largest, residuals, eigenvectors, (of[..., None] * bumps).sum(1), np.stack(means, 1))
    largest, residuals, eigenvectors, density, each = (part if hessian.runs > 1 else part[0] for part in arrays)
    return Spectrum(largest, residuals, eigenvectors, x, density, each, width, hessian.size, hessian.products)
