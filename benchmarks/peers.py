"""Functions that learn, one a channel or one for all: the lab's and those of other packages, in one run.

    pip install --no-deps deepsplines rational-activations ikan inkan flashkan torchinfo matplotlib
    python benchmarks/peers.py                                     # what is there; a minute on an idle CPU core
    python benchmarks/peers.py --write benchmarks/README.md        # and puts the table of layers into its place there
    python benchmarks/peers.py --device cuda

Forward and backward, to the input and to what learns, of images (batch, 64, 32, 32) in float32; of layers from 64 to 64
numbers on rows (batch, 64). Contestants are interleaved: round by round, each once. Times are medians over rounds, with
half of the range between quartiles, and the least, which says most where other work runs. ikan's KANLinear is
efficient-kan's, which is on no package index. FastKAN is not, either: a layer like its own is written here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from report import heading, machine, publish, table_parser
from torch import Tensor, nn

from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.kan import KANLayer, bases
from lab.nonlinearity.spline import Spline

CHANNELS, SIDE, KNOTS, RANGE = 64, 32, 51, 4.0
ROUNDS = 15


def activations() -> dict[str, nn.Module]:
    """By name: functions of images (batch, CHANNELS, SIDE, SIDE)."""
    one = Spline.from_function(nn.LeakyReLU(), -RANGE, RANGE, KNOTS, learnable=True)
    modules: dict[str, nn.Module] = {
        "GELU": nn.GELU(),
        "PReLU, one a channel": nn.PReLU(CHANNELS),
        "lab.Spline, one for all": one,
        "lab ChannelSpline": ChannelSpline(one.values.detach().expand(CHANNELS, -1), -RANGE, RANGE, learnable=True),
    }
    try:
        from deepsplines.ds_modules import DeepBSpline

        theirs = DeepBSpline("conv", CHANNELS, size=KNOTS, range_=RANGE, init="leaky_relu", save_memory=False)
        modules["DeepSplines DeepBSpline, one a channel"] = theirs
    except ImportError as error:
        print(f"DeepSplines is not here ({error})")
    try:
        from rational.torch import Rational

        modules["rational-activations, one for all"] = Rational(cuda=False)
    except ImportError as error:
        print(f"rational-activations is not here ({error})")
    return modules


class InTorch(KANLayer):
    """The lab's layer in torch's operations."""

    def forward(self, x: Tensor) -> Tensor:
        near = bases(x, self.knots.to(x), self.order).flatten(-2)
        weight = (self.coefficients * self.scale[..., None]).flatten(1)
        return F.linear(F.silu(x), self.base) + F.linear(near, weight)


class RadialBases(nn.Module):
    """FastKAN's layer (Li 2024) in torch's operations: Gaussians of normalized inputs, at 8 places on [-2, 2] and as
    wide as these are apart, and a SiLU."""

    def __init__(self, inputs: int, outputs: int, low: float = -2.0, high: float = 2.0, count: int = 8):
        super().__init__()
        self.register_buffer("centers", torch.linspace(low, high, count))
        self.width = (high - low) / (count - 1)
        self.norm = nn.LayerNorm(inputs)
        self.splines = nn.Linear(inputs * count, outputs, bias=False)
        self.base = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        near = torch.exp(-(((self.norm(x)[..., None] - self.centers) / self.width) ** 2))
        return self.splines(near.flatten(-2)) + self.base(F.silu(x))


def layers() -> dict[str, nn.Module]:
    """By name: layers from CHANNELS to CHANNELS numbers."""
    spline = ChannelSpline(torch.zeros(CHANNELS, KNOTS), -RANGE, RANGE, learnable=True)
    modules: dict[str, nn.Module] = {
        "Linear, GELU": nn.Sequential(nn.Linear(CHANNELS, CHANNELS), nn.GELU()),
        "Linear, lab ChannelSpline": nn.Sequential(nn.Linear(CHANNELS, CHANNELS), spline),
        "lab KANLayer": KANLayer(CHANNELS, CHANNELS),
        "lab KANLayer, piecewise linear": KANLayer(CHANNELS, CHANNELS, order=1),
        "lab KANLayer, in torch's operations": InTorch(CHANNELS, CHANNELS),
        "radial bases, as FastKAN's (written here)": RadialBases(CHANNELS, CHANNELS),
    }
    try:
        from inkan import KANLayer as Theirs

        for name, compiled in (("eager", False), ("compiled bases", True)):
            theirs = Theirs(CHANNELS, CHANNELS, compile_basis=compiled)
            modules[f"inkan {version('inkan')}, {name}"] = theirs
    except ImportError as error:
        print(f"inkan is not here ({error})")
    try:
        from flashkan import KANLayer as Flash

        modules[f"flashkan {version('flashkan')}, compiled bases"] = Flash(CHANNELS, CHANNELS)
    except ImportError as error:
        print(f"flashkan is not here ({error})")
    package = find_spec("ikan")
    if package is None or package.origin is None:
        print("ikan is not here")
        return modules
    # its __init__ asks for packages that this one module does not need
    spec = spec_from_file_location("ikan_kan", Path(package.origin).with_name("KAN.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    theirs = modules[f"efficient-kan's KANLinear (ikan {version('ikan')})"] = module.KANLinear(CHANNELS, CHANNELS)
    check_kan(modules["lab KANLayer"], theirs)
    return modules


@torch.no_grad()
def check_kan(ours: nn.Module, theirs: nn.Module) -> None:
    """With the same weights, efficient-kan's layer and the lab's are one function."""
    x = 2 * torch.randn(100, CHANNELS)
    pairs = (ours.base, theirs.base_weight), (ours.scale, theirs.spline_scaler)
    for one, other in (*pairs, (ours.coefficients, theirs.spline_weight)):
        one.copy_(other)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-4)


def check(modules: dict[str, nn.Module], x: Tensor) -> None:
    """What is timed is one function: within the range, the lab's spline and DeepSplines' are the leaky ReLU."""
    inside = x.clamp(-0.9 * RANGE, 0.9 * RANGE)
    for name, module in modules.items():
        if "Spline" in name:
            torch.testing.assert_close(module(inside), nn.functional.leaky_relu(inside), atol=1e-4, rtol=1e-4)


def measured(modules: dict[str, Callable], x: Tensor, rounds: int) -> dict[str, np.ndarray]:
    """Seconds of each round by name, forward and backward."""
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    for number in range(rounds + 2):  # two warm up
        for name, module in modules.items():
            given = x.detach().requires_grad_()
            _wait(x)
            start = time.perf_counter()
            module(given).sum().backward()
            _wait(x)
            if number > 1:
                seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def _wait(x: Tensor) -> None:
    if x.device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Measure and print."""
    parser = table_parser(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=("images", "layers"))
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    for what, make, shape in (
        ("images", activations, (asked.batch, CHANNELS, SIDE, SIDE)),
        ("layers", layers, (64 * asked.batch, CHANNELS)),
    ):
        if asked.only not in (what, None):
            continue
        x = torch.randn(shape, generator=generator).to(asked.device)
        modules = {name: module.to(asked.device) for name, module in make().items()}
        if what == "images":
            check(modules, x)
        seconds = measured(modules, x, asked.rounds)
        first = np.median(next(iter(seconds.values())))
        words = f"{what}, {asked.device}, one thread, float32, {tuple(shape)}"
        lines = heading((words, "ms", f"× {next(iter(seconds))}", "least ms"))
        for name, values in seconds.items():
            low, middle, high = 1000 * np.percentile(values, (25, 50, 75))
            spread = f"{middle:.3g} ± {(high - low) / 2:.1g}"
            lines.append(f"| {name} | {spread} | {middle / 1000 / first:.2f} | {1000 * values.min():.3g} |")
        today = f"{date.today():%-d %B %Y}, torch {torch.__version__}"
        table = "\n".join([f"{machine()}. {today}; forward and backward.", "", *lines])
        publish(table, asked.write if what == "layers" else None, "peers", ", layers")


if __name__ == "__main__":
    main()
