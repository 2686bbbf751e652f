"""What packages for loss landscapes say on problems with known answers, beside the lab's probes.

    pip install --no-deps pyhessian loss-landscapes hessian-eigenthings    # those there are asked
    pip install --no-deps curvlinops-for-pytorch backpack-for-pytorch einops einconv
    python benchmarks/calibration.py                                       # a minute of a core
    python benchmarks/calibration.py --write docs/calibration.md           # and puts the table into its place there

Two quadratic losses, Σ λ w² / 2, once with eigenvalues that differ and once with one that is there twice; a plane
through a model at 0, where the loss is x² + y²; and a copy of a model with its units in another order. Then the rate of
products of a Hessian with vectors, of 8 models side by side, as a share of the rate of matrix products in this run.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch
from report import heading, machine, publish, table_parser
from torch import nn

from lab import probes
from lab.models.mlp import MLP
from lab.probes import loss
from lab.probes.spectrum import Hessian

PACKAGES = ("pyhessian", "loss-landscapes", "hessian-eigenthings", "curvlinops-for-pytorch")
PROBLEMS = {"4, −2, 1": (4.0, -2.0, 1.0), "4, 4, 1": (4.0, 4.0, 1.0)}
RUNS, WIDTH, ROWS, INPUTS, ROUNDS = 8, 256, 1024, 64, 60


class Weighted(nn.Module):
    """The mean of targets times squared outputs: with a row a weight, any diagonal Hessian."""

    reduction = "mean"

    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return (targets * outputs.squeeze(-1) ** 2).mean()


def quadratic(sizes: tuple[float, ...]) -> tuple[nn.Linear, torch.Tensor, torch.Tensor]:
    """A model and data on which `Weighted` has the Hessian diag(sizes)."""
    torch.manual_seed(0)
    count = len(sizes)
    return nn.Linear(count, 1, bias=False), torch.eye(count) * (count / 2) ** 0.5, torch.tensor(sizes)


def ours(sizes: tuple[float, ...]) -> list[float]:
    model, x, y = quadratic(sizes)
    return probes.spectrum(model, {"loss": lambda m: Weighted()(m(x), y)}, probes=1).eigenvalues.ravel().tolist()


def pyhessian(sizes: tuple[float, ...]) -> list[float]:
    from pyhessian import hessian

    model, x, y = quadratic(sizes)
    return hessian(model, Weighted(), data=(x, y), cuda=False).eigenvalues(maxIter=1000, tol=1e-9, top_n=len(sizes))[0]


def eigenthings(sizes: tuple[float, ...]) -> list[float]:
    from hessian_eigenthings import HessianOperator, lanczos

    model, x, y = quadratic(sizes)
    operator = HessianOperator(model, [(x, y)], lambda m, batch: Weighted()(m(batch[0]), batch[1]))
    return lanczos(operator, k=len(sizes), max_iter=len(sizes), seed=0).eigenvalues.tolist()


def curvlinops(sizes: tuple[float, ...]) -> list[float]:
    from curvlinops import HessianLinearOperator
    from scipy.sparse.linalg import eigsh

    model, x, y = quadratic(sizes)
    operator = HessianLinearOperator(model, Weighted(), list(model.parameters()), [(x, y)]).to_scipy()
    return eigsh(operator, k=len(sizes) - 1, v0=np.ones(len(sizes)), return_eigenvectors=False).tolist()


def plane_of_landscapes() -> str:
    """The loss at the corners of the plane that ends at the weights (1, 0) and (0, 1): 0, 1, 1 and 2."""
    from loss_landscapes import planar_interpolation
    from loss_landscapes.metrics import Loss

    ends = [nn.Linear(2, 1, bias=False) for _ in range(3)]
    for model, values in zip(ends, ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), strict=True):
        model.weight.data = torch.tensor([values])
    before = copy.deepcopy(ends[0].state_dict())
    metric = Loss(lambda outputs, targets: outputs.square().sum(), torch.eye(2), torch.zeros(2, 1))
    grid = planar_interpolation(*ends, metric, steps=10)
    same = all(torch.equal(value, before[name]) for name, value in ends[0].state_dict().items())
    corners = ", ".join(f"{value:.3g}" for value in grid[[0, 0, -1, -1], [0, -1, 0, -1]])
    return f"{corners}; the model is {'as it was' if same else 'left at another place'}"


def plane_of_ours() -> str:
    model = nn.Linear(2, 1, bias=False)
    model.weight.data.zero_()
    grid = probes.landscape(model, {"loss": lambda m: m.weight.square().sum()}, np.eye(2), grid=3).values["loss"]
    corners = ", ".join(f"{value:.3g}" for value in grid[[1, 1, 2, 2], [1, 2, 1, 2]])
    return f"{corners}; the model is {'as it was' if not model.weight.any() else 'left at another place'}"


def permuted() -> tuple[nn.Module, nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    one = nn.Sequential(nn.Linear(1, 3), nn.Tanh(), nn.Linear(3, 1))
    two, x = copy.deepcopy(one), torch.linspace(-1, 1, 9)[:, None]
    for part, axis in ((two[0].weight, 0), (two[0].bias, 0), (two[2].weight, 1)):
        part.data = part.data.flip(axis)
    return one, two, x


def barrier_of_landscapes() -> str:
    from loss_landscapes import linear_interpolation
    from loss_landscapes.metrics import Loss

    one, two, x = permuted()
    values = linear_interpolation(
        one, two, Loss(nn.functional.mse_loss, x, one(x).detach()), steps=21, deepcopy_model=True
    )
    return f"{np.max(values):.2g}"


def barrier_of_ours() -> str:
    one, two, x = permuted()
    path = probes.connectivity(one, two, {"loss": probes.Loss(x, one(x).detach())})
    matched = path.matched_barriers
    assert matched is not None
    return f"{path.barriers[0]:.2g}; {abs(matched[0]):.1g} once matched"


def answer(call: Callable[[], object]) -> str:
    """What a package says, or how it fails; – where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            said = call()
        except ImportError as error:
            return f"– ({error.name})" if error.name else "–"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:60]}"
    return said if isinstance(said, str) else ", ".join(f"{value:.5g}" for value in sorted(said, reverse=True))


def rates() -> dict[int, float]:
    """Share of the product rate: multiplications of a product of the Hessians of RUNS models with vectors. By how many
    rows, times models, the loss is computed of at once: as it is, and all. Least times of the processor, in turn."""
    torch.set_num_threads(1)
    model, shapes = MLP((INPUTS, WIDTH, WIDTH, 1), range(RUNS), nn.Tanh()), ((RUNS, ROWS, WIDTH), (RUNS, WIDTH, WIDTH))
    data = probes.Loss(torch.randn(ROWS, INPUTS), torch.randn(ROWS))
    a, b = (torch.randn(shape) for shape in shapes)
    calls: dict[int, Callable[[], object]] = {0: lambda: a @ b}
    usual = loss.ROWS_BACKWARD
    for rows in (usual, ROWS * RUNS):
        loss.ROWS_BACKWARD = rows
        products = Hessian(model, "loss", data)
        vectors = torch.randn(RUNS, products.size, dtype=torch.float64)
        calls[rows] = partial(products, vectors)
    loss.ROWS_BACKWARD = usual
    least = dict.fromkeys(calls, np.inf)
    for _ in range(ROUNDS):
        for rows, call in calls.items():
            start = time.process_time()
            call()
            least[rows] = min(least[rows], time.process_time() - start)
    # of a layer's three products (forward, to its weights, to its input) two each; the first layer has fewer
    work = (6 * (WIDTH * WIDTH + WIDTH) + 2 * INPUTS * WIDTH) / (WIDTH * WIDTH)
    return {rows: work * least[0] / least[rows] for rows in calls if rows}


def versions() -> str:
    known = []
    for package in PACKAGES:
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            known.append(f"{package} is not installed")
    return ", ".join(known)


def table() -> str:
    names = ("problem", "closed form", "lab", "pyhessian", "hessian-eigenthings", "curvlinops", "loss-landscapes")
    rows = heading(names)
    for name, sizes in PROBLEMS.items():
        cells = [answer(lambda one=one, sizes=sizes: one(sizes)) for one in (ours, pyhessian, eigenthings, curvlinops)]
        rows.append(f"| eigenvalues of a quadratic | {name} | {' | '.join(cells)} | |")
    others = {
        "x² + y² at corners": ("0, 1, 1, 2", plane_of_ours, plane_of_landscapes),
        "barrier to a permuted copy": ("0 once matched", barrier_of_ours, barrier_of_landscapes),
    }
    for name, (known, mine, theirs) in others.items():
        rows.append(f"| {name} | {known} | {answer(mine)} | | | | {answer(theirs)} |")
    models = f"{RUNS} perceptrons side by side ({INPUTS}-{WIDTH}-{WIDTH}-1, {ROWS:,} rows)"
    said = f"{versions()}. curvlinops leaves eigenvalues to scipy, which gives one less than there are."
    share, whole = rates().values()
    said += f"\nProducts of the Hessians of {models} with vectors: {share:.2f} of the product rate of this run, on one"
    said += f" core; {whole:.2f} with all rows at once."
    return "\n".join([*rows, "", f"{said} {machine()}, {date.today()}."])


if __name__ == "__main__":
    options = table_parser(__doc__).parse_args()
    publish(table(), options.write, "calibration")
