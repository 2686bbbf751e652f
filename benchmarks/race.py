"""Learning rates of the race in the page: for each task and function the one with the highest validation score.

Of the rows that are learned from, an eighth is kept aside; accuracy on it, or of numbers the share of variance that is
explained, averaged over training and seeds, decides.
The test rows are never looked at, and the seeds are not those that the page begins with. Node makes data and first
weights with the page's own modules; PyTorch trains, all rates and seeds side by side, since it computes what the page
does. --write: where the page reads it; the rest of the tasks stays as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor

from lab.nonlinearity.spline import Spline
from lab.widgets.function_view import offered

PAGE = Path(__file__).parents[1] / "lab" / "widgets" / "page"
RATES = PAGE / "rates.js"
STEPS = {"a + b modulo 27": 1000}
SHORT = 1000  # steps of the other tasks
TRIED = {"a + b modulo 27": (1, 3, 6, 10, 16, 25, 40, 60, 100)}
OTHERS = (0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 5.0)
SEEDS = (101, 102)
SCRIPT = """
import { readFileSync } from "node:fs";
import { randomLayers } from "PAGE/network.js";
import { PLAIN_SPLINES } from "PAGE/playground.js";
import { RACES, validation } from "PAGE/tasks.js";
const { race, seeds } = JSON.parse(readFileSync(0, "utf8")), { make, hidden, scale, every } = RACES[race];
const plain = ({ points, targets, labels }) => ({ points: Array.from(points), targets: Array.from(targets), labels });
const runs = seeds.map((seed) => {
  const { inputs, outputs, train, test } = validation(make(seed));
  const layers = randomLayers([inputs, ...hidden, outputs], seed + 1, scale);
  return { inputs, outputs, train: plain(train), test: plain(test), layers: layers.map(({ weight, bias, ...sizes }) =>
    ({ ...sizes, weight: Array.from(weight), bias: Array.from(bias) })) };
});
console.log(JSON.stringify({ runs, every, functions: PLAIN_SPLINES }));
"""


def prepared(race: str) -> dict:
    """Data and first weights of each seed, as the page makes them, and its own functions."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        raise SystemExit("node is not on the PATH (on Debian: apt install nodejs)")
    command = [node, "--input-type=module", "--eval", SCRIPT.replace("PAGE", PAGE.as_uri())]
    asked = json.dumps({"race": race, "seeds": SEEDS})
    return json.loads(subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True).stdout)


def scores(race: str, phi: torch.nn.Module, state: dict, rates: tuple[float, ...]) -> Tensor:
    """Validation score, averaged over training and seeds, of each rate, (rates,)."""
    runs, rate = state["runs"], torch.tensor(rates).repeat_interleave(len(SEEDS))[:, None, None]

    def stacked(values: list) -> Tensor:
        return torch.tensor(values).repeat(len(rates), *[1] * (torch.tensor(values).ndim - 1))

    def rows(split: str) -> tuple[Tensor, Tensor]:
        points, targets = (stacked([run[split][name] for run in runs]) for name in ("points", "targets"))
        sizes = (len(points), -1, runs[0]["inputs"]), (len(points), -1, runs[0]["outputs"])
        return points.view(sizes[0]).float(), targets.view(sizes[1]).float()

    (x, targets), (test_x, wanted) = rows("train"), rows("test")
    weights = []
    for number, layer in enumerate(runs[0]["layers"]):
        size = layer["inputs"], layer["outputs"]
        weights += [stacked([run["layers"][number]["weight"] for run in runs]).view(-1, *size)]
        weights += [stacked([run["layers"][number]["bias"] for run in runs]).view(-1, 1, size[1])]
    weights = [weight.requires_grad_() for weight in weights]

    def network(h: Tensor) -> Tensor:
        for number in range(0, len(weights), 2):
            h = torch.baddbmm(weights[number + 1], phi(h) if number else h, weights[number])
        return h

    right = []
    for step in range(1, STEPS.get(race, SHORT) + 1):
        loss = (network(x) - targets).square().mean((1, 2)).sum()
        for weight, slope in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= rate * slope
        if step % state["every"] == 0:
            with torch.no_grad():
                said = network(test_x)
                if runs[0]["test"]["labels"] is None:
                    left = (said - wanted).square().sum((1, 2)) / (wanted - wanted.mean(1, True)).square().sum((1, 2))
                    right.append((1 - left.nan_to_num(1.0)).clamp(min=0.0))
                else:
                    right.append((said.argmax(-1) == wanted.argmax(-1)).float().mean(1))
    return torch.stack(right).mean(0).view(len(rates), len(SEEDS)).mean(1)


def tuned(race: str, wanted: str | None = None) -> dict[str, float]:
    """The best rate of each function, by name; or of one alone."""
    state, rates = prepared(race), TRIED.get(race, OTHERS)
    curves = {f["name"]: f for f in offered()} | state["functions"]
    functions: dict[str, torch.nn.Module] = {
        name: Spline(torch.tensor(f["values"]), f["low"], f["high"]) for name, f in curves.items()
    }
    best = {}
    functions["ReLU"] = torch.nn.ReLU()
    if wanted is not None and wanted not in functions:
        raise SystemExit(f"--function {wanted}: there is none; known: {', '.join(functions)}")
    for name in functions if wanted is None else [wanted]:
        reached = scores(race, functions[name], state, rates)
        words = ", ".join(f"{rate:g}: {100 * score:.1f} %" for rate, score in zip(rates, reached.tolist(), strict=True))
        print(f"{race}, {name}: {words}", file=sys.stderr, flush=True)
        number = int(reached.argmax())
        outputs = state["runs"][0]["outputs"]
        if reached[number] < (1.2 / outputs if outputs > 1 else 0.05):  # about chance: that decides nothing
            print(f"{race}, {name}: it learns with none of these rates; the page uses ReLU's", file=sys.stderr)
            continue
        if number in (0, len(rates) - 1):
            print(f"{race}, {name}: the best rate is the last one tried; try more", file=sys.stderr)
        best[name] = rates[number]
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = json.loads(re.search(r"RATES = (\{.*\});", RATES.read_text(encoding="utf-8"), re.DOTALL)[1])
    parser.add_argument("--task", choices=list(known), action="append", help="default: all")
    parser.add_argument("--function", help="tune this one alone, as it is called in the page; default: all")
    parser.add_argument("--write", action="store_true", help="into the page's module")
    asked = parser.parse_args()
    for race in asked.task or known:
        known[race] |= tuned(race, asked.function)
        print(race, known[race])
        if asked.write:  # after each: a task that is done stays done
            text, new = RATES.read_text(encoding="utf-8"), json.dumps(known, indent=2)
            RATES.write_text(re.sub(r"\{.*\}", lambda _, new=new: new, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
