"""Training steps of language models: Linear, ReLU, GELU, the exact spline and its polynomial, by depth (Table 6).

    python benchmarks/language.py                                  # prints; some 20 minutes on one idle CPU core
    python benchmarks/language.py --layers 2 4 --rounds 5          # less
    python benchmarks/language.py --write benchmarks/README.md     # and puts the table into its place there
    python benchmarks/language.py --device cuda

The transformers paper needs 81,720 s with its exact spline where GELU needs 34,020 s (12 layers), and falls back to a
polynomial. Here the lab's own training runs: width 256, 4 heads, windows of 256 tokens of a text, 8 a step, Adam. All
contestants of a depth are interleaved, round by round, each a few steps in every round, in an order that turns. Told
are medians over rounds of the ratio to GELU in the same round, with half of the range between quartiles; tokens a
second; and what the matrix products of a step take at the rate of a large product measured in the same rounds, as a
share of the step.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import torch
from report import heading, machine, publish, table_parser

from lab.nonlinearity.spline import Spline
from lab.spec import AdamTrapezoid, Coefficients, Knots, ModelSpec, RunSpec
from lab.tasks import Text
from lab.training.fleet import Fleet
from lab.training.live import interleaved, products

LAYERS, STEPS, ROUNDS = (2, 4, 8, 12), 3, 9
DEGREE = 18


def parts() -> dict[str, str | Knots | Coefficients]:
    """Non-linearities by name. The spline is a wavelet on the paper's knots, its polynomial is fitted to it."""
    places = torch.linspace(-20, 20, 122)
    spline = Spline(torch.sin(1.5 * places) * torch.exp(-places.square() / 8), -20.0, 20.0)
    fitted = spline.polynomial(DEGREE)
    return {
        "Linear": "identity",
        "ReLU": "relu",
        "GELU": "gelu",
        "spline": Knots(spline.low, spline.high, tuple(spline.values.tolist())),
        "polynomial": Coefficients(fitted.low, fitted.high, fitted.coefficients, fitted.basis),
    }


def fleet(name: str, layers: int, task: Text, batch: int, device: str) -> Fleet:
    """One run, ready to train."""
    phi = parts()[name]
    model = ModelSpec(layers=layers, heads=4, width=256, canon=True, tied=True, mlp=phi)
    recipe = AdamTrapezoid(steps=1_000_000, rate=0.001, batch=batch, every=1_000_000)
    return Fleet([RunSpec(task, model, recipe, seed=0, evaluate=())], [(phi, "softmax")], device)


def measure(layers: int, task: Text, batch: int, rounds: int, device: str) -> dict[str, dict[str, float]]:
    """The row of one depth, by contestant."""
    fleets = {name: fleet(name, layers, task, batch, device) for name in parts()}
    work = products(fleets["GELU"])
    times, row = interleaved(fleets, rounds, STEPS), {}
    for name in fleets:
        ratio, spread = times.ratio(name, "GELU")
        tokens = batch * task.context / float(np.median(times.seconds[name]))
        cell = {"ratio": ratio, "spread": spread, "tokens": tokens, "share": times.share(name, work)}
        row[name] = cell
        said = f"{cell['tokens']:,.0f} tokens/s, {cell['share']:.2f} of the machine's rate"
        print(f"{layers:3} layers {name:11} {ratio:6.3f} ± {cell['spread']:.3f} × GELU, {said}", flush=True)
    return row


def table(rows: dict[int, dict[str, dict[str, float]]], device: str) -> str:
    """As Markdown."""
    names = list(parts())
    when = f"{date.today():%-d %B %Y}, torch {torch.__version__}"
    lines = [f"{machine()}; {device}, threads: {torch.get_num_threads()}. {when}.", ""]
    lines += heading(["layers", *names])
    for layers, row in rows.items():
        cells = [f"{o['ratio']:.3f} ± {o['spread']:.3f} ({o['tokens']:,.0f}; {o['share']:.2f})" for o in row.values()]
        lines.append(f"| {layers} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = table_parser(__doc__)
    parser.add_argument("--layers", nargs="+", type=int, default=LAYERS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", default="moby_dick", help="a text of the lab, by characters")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    task = Text(given.corpus, context=given.context)
    rows = {n: measure(n, task, given.batch, given.rounds, given.device) for n in given.layers}
    publish(table(rows, given.device), given.write, "language")


if __name__ == "__main__":
    main()
