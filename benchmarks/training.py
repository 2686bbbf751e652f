"""How close training is to the machine's limit, beside plain PyTorch, for four families of models.

    python benchmarks/training.py                                # prints; some 8 minutes on an idle machine
    python benchmarks/training.py --families perceptrons         # one of them
    python benchmarks/training.py --searches                     # instead, searches for a function by episodes
    python benchmarks/training.py --write benchmarks/README.md   # and puts the table into its place there

Ours is what the engine does: a fleet, with its batches made on the way, its optimizer and its book-keeping; evaluation
is shown apart, as a share of training at the figure's own rhythm. Plain is the same model (its outputs are compared
with ours before anything is timed), run by run, with batches ready in memory and torch's Adam; compiled is that under
`torch.compile`, and ours is compiled once more as LAB_STEPS=compiled does it, and where one call takes a step, or all
blocks of a transformer, trained without it, as LAB_STEPS=plain does. All are interleaved, round by round, with a large
float32 product that gives the machine's rate. Shown are medians over rounds: rows or tokens a second, the share of that
rate which the matrix products of a step amount to, and how often as fast as the others ours is; seconds are those of
the processor, of one thread, so that other work on the machine counts little. Then ours alone, by the clock, in one
process and in two at the same time.

Of a search, an episode half-way is timed, and its inner steps alone, with one call of C a step, then by torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import cast

import torch
from fleet import Numbers
from plain import MLP, HyperTransformer, Transformer, WithRunAxis, same
from report import heading, machine, publish, table_parser
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from lab import kinds
from lab.papers.hypernetwork.settings import sraven
from lab.papers.simplicity.settings import of_table
from lab.papers.transformers.settings import setting
from lab.spec import AdamTrapezoid, ConstantRate, EpisodeSpec, ModelSpec, Perceptron, RunSpec, replace
from lab.tasks import Text
from lab.tasks.named import table_named
from lab.tasks.table import TableTask
from lab.training.descent_fleet import fleet_of
from lab.training.episodes import Episodes
from lab.training.fleet import Fleet, note_of, train
from lab.training.steps import Compiled

ROUNDS, SECONDS = 7, 1.0  # rounds, and how long each contestant trains in one, roughly
EVERY = 50  # steps between two evaluations of a language model, as figures have it
SEARCHES = ("a+b mod 27", "fashion_mnist_sample as numbers", "bank-marketing")  # at laptop scale
BATCHES, LONG, SIZE = 4, 10**7, 1024
APART = 2e-4  # of outputs, relative to the largest: rounding of float32


@dataclass(frozen=True)
class Family:
    """One kind of training. counts: what is counted in a second; each: how many of it an example has. evaluated: the
    spec as a figure has it, with its evaluations.
    """

    specs: list[RunSpec]
    evaluated: RunSpec
    parts: tuple[str, ...]
    plain: Callable[[kinds.Sizes], nn.Module]
    counts: str
    each: int = 1


def families() -> dict[str, Family]:
    """By name. Sizes are those of the laptop scale, fleets those that the engine makes."""
    return {
        "algorithmic": _algorithmic(),
        "HYLA on SRAVEN": _sraven(),
        "perceptrons": _perceptrons(),
        "language": _language(),
    }


def _algorithmic() -> Family:
    base = setting("addmod", "laptop").runs(1)[0]
    spec = replace(base, model=replace(base.model, mlp="gelu", canon=False, tied=False, positions="learned"))
    specs = _long([spec])
    return Family(
        specs, spec, ("gelu", "softmax"), lambda s: Transformer(spec.model, s.inputs, s.length), "tokens", _length(spec)
    )


def _sraven() -> Family:
    base = sraven("laptop", "hyla").runs(1)[0]
    spec = replace(base, model=replace(base.model, dropout=0.0, phi="relu", mlp="gelu"))

    def plain(sizes: kinds.Sizes) -> nn.Module:
        return HyperTransformer(spec.model, sizes.inputs, sizes.outputs, sizes.length, sizes.positions)

    return Family(_long([spec]), spec, tuple(map(str, spec.model.parts.values())), plain, "tokens", _length(spec))


def _perceptrons() -> Family:
    recipe = ConstantRate(LONG, 1e-3, optimizer="adam", keep="last", every=LONG)
    specs = [RunSpec(Numbers(64), Perceptron(2, 64), recipe, seed, ()) for seed in range(64)]
    evaluated = replace(specs[0], recipe=replace(recipe, every=50, average=1), evaluate=("val", "test"))
    return Family(specs, evaluated, ("relu",), lambda s: MLP(specs[0].model, s.inputs, s.outputs), "rows")


def _language() -> Family:
    task = Text("moby_dick", context=256)
    model = ModelSpec(layers=4, heads=4, width=256)
    recipe = AdamTrapezoid(steps=LONG, rate=0.001, batch=8, every=LONG)
    specs = [RunSpec(task, model, recipe, 0, ())]
    evaluated = replace(specs[0], recipe=replace(recipe, every=EVERY), evaluate=("val", "test"))
    return Family(
        specs, evaluated, ("gelu", "softmax"), lambda s: Transformer(model, s.inputs, s.length), "tokens", task.context
    )


def _long(specs: list[RunSpec]) -> list[RunSpec]:
    return [replace(s, recipe=replace(s.recipe, steps=LONG, every=LONG, stop=None), evaluate=()) for s in specs]


def _length(spec: RunSpec) -> int:
    sizes = kinds.sizes(spec.task, spec.task_seed)
    return sizes.trained or sizes.length


class Ours:
    """A fleet that trains on from where it stands."""

    def __init__(self, family: Family, steps: str = "kernel"):
        self.family = family
        self.fleet: Fleet = fleet_of(family.specs, [family.parts] * len(family.specs))
        if steps != "kernel":  # as LAB_STEPS does
            self.fleet.kernel, self.fleet.losses = None, self.fleet.plain_losses
        if steps == "compiled":
            self.fleet.losses = Compiled(self.fleet)

    def steps(self, count: int) -> None:
        """Take so many."""
        last = self.fleet.step + count
        train(self.fleet, lambda fleet: fleet.step < last)

    @property
    def examples(self) -> int:
        """Of a step, of all runs."""
        return len(self.family.specs) * kinds.batch_size(self.family.specs[0])


class Plain:
    """One plain model, on batches that are ready."""

    def __init__(self, family: Family, compiled: bool):
        spec = family.specs[0]
        single = fleet_of([spec], [family.parts])
        self.batches = [single.batch(step) for step in range(BATCHES)]
        model = same(family.plain(kinds.sizes(spec.task, spec.task_seed)), single.model)
        with torch.no_grad():
            one, other = (self.batches[0].outputs(m) for m in (WithRunAxis(model), single.model))
        if float((one - other).abs().max() / other.abs().max()) > APART:
            raise SystemExit("the plain model is not ours: their outputs differ")
        self.adam = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.model, self.step, self.examples = WithRunAxis(torch.compile(model) if compiled else model), 0, 0
        self.examples = kinds.batch_size(spec)

    def steps(self, count: int) -> None:
        """Take so many."""
        for _ in range(count):
            batch = self.batches[self.step % BATCHES]
            self.step += 1
            self.adam.zero_grad()
            batch.loss(batch.outputs(self.model)).sum().backward()
            self.adam.step()


def timed(contestant: Ours | Plain, count: int, clock: Callable[[], float] = time.process_time) -> float:
    """Examples a second; of this process's own, where no other clock is given."""
    start = clock()
    contestant.steps(count)
    return count * contestant.examples / (clock() - start)


def enough(contestant: Ours | Plain, seconds: float) -> int:
    """Steps that take about so long; it is warm afterwards."""
    contestant.steps(2)
    return max(1, round(seconds * timed(contestant, 3) / contestant.examples))


def rate() -> float:
    """Multiplications and additions a second of a large float32 product."""
    one, other = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE)
    start = time.process_time()
    for _ in range(4):
        one @ other
    return 4 * 2 * SIZE**3 / (time.process_time() - start)


def products(ours: Ours) -> float:
    """Multiplications and additions of a step's matrix products, an example."""
    with FlopCounterMode(display=False) as counter:
        batch = ours.fleet.batch(0)
        batch.loss(batch.outputs(ours.fleet.model)).sum().backward()
    return counter.get_total_flops() / ours.examples


def measure(name: str, family: Family, rounds: int, seconds: float, compiled: bool) -> dict[str, float]:
    """The row of a family."""
    ours = Ours(family)
    contestants: dict[str, Ours | Plain] = {"ours": ours, "plain": Plain(family, False)}
    if note_of(ours.fleet):
        contestants["torch"] = Ours(family, "plain")
    if compiled:
        contestants |= {"compiled": Plain(family, True), "steps": Ours(family, "compiled")}
    counts = {word: enough(one, seconds) for word, one in contestants.items()}
    took: dict[str, list[float]] = {word: [] for word in contestants}
    rates, work = [], products(ours)
    for turn in range(rounds):
        rates.append(rate())
        words = list(contestants)
        for word in words[turn % len(words) :] + words[: turn % len(words)]:
            took[word].append(timed(contestants[word], counts[word]))
    speed = statistics.median(took["ours"])
    row = {
        "evaluation": evaluation(family, ours.examples / speed),
        "speed": speed * family.each,
        "share": statistics.median(a * work / r for a, r in zip(took["ours"], rates, strict=True)),
    }
    for word in ("plain", "compiled", "steps", "torch"):
        ratios = sorted(a / b for a, b in zip(took["ours"], took.get(word, []), strict=False))
        row[word] = statistics.median(ratios) if ratios else float("nan")
    print(name, {word: round(value, 3) for word, value in row.items()}, flush=True)
    return row


def evaluation(family: Family, step: float) -> float:
    """Seconds of an evaluation as a share of the training before it. step: seconds of a step of the whole fleet."""
    runs = [replace(family.evaluated, seed=spec.seed) for spec in family.specs]
    fleet = fleet_of(runs, [family.parts] * len(runs))
    fleet.recipe = replace(fleet.recipe, stop=1)
    batch = fleet.batch(0)
    fleet.note_step(batch.loss(batch.outputs(fleet.model)).detach())
    start = time.process_time()
    fleet.measure()
    return (time.process_time() - start) / (family.evaluated.recipe.every * step)


def parallel_rate(name: str, processes: int, seconds: float) -> float:
    """Examples a second of ours, in several processes that train at the same time."""
    begin = time.time() + 12.0 + 6.0 * processes  # when all of them are warm
    words = [sys.executable, __file__, "--alone", name, str(begin), str(seconds)]
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(float(child.communicate()[0].split()[-1]) for child in children)


def alone(name: str, begin: float, seconds: float) -> None:
    """One of these processes."""
    ours = Ours(families()[name])
    count = enough(ours, seconds)
    time.sleep(max(0.0, begin - time.time()))
    print(timed(ours, count, time.perf_counter))


def table(rows: dict[str, dict[str, float]], known: dict[str, Family]) -> str:
    """As Markdown."""
    lines = [f"{machine()}; one thread a process. {date.today():%-d %B %Y}, torch {torch.__version__}.", ""]
    names = ["family", "in a second", "share of product rate", "× plain", "× compiled", "× ours, compiled"]
    names.append("× ours, without kernel")
    lines += heading([*names, "two processes / one", "evaluation"])
    for name, row in rows.items():
        speed = f"{row['speed']:,.0f} {known[name].counts}"
        cells = [
            f"{row[word]:.2f}" if row[word] == row[word] else "–"
            for word in ("share", "plain", "compiled", "steps", "torch", "two")
        ]
        lines.append(f"| {name} | {speed} | {' | '.join(cells)} | {row['evaluation']:.1%} |")
    return "\n".join(lines)


def searches(rounds: int) -> str:
    """Of searches by episodes, as Markdown."""
    lines = [f"{machine()}; one thread. {date.today():%-d %B %Y}, torch {torch.__version__}.", ""]
    names = ["search", "restarts × rows", "inner steps", "ms a step", "× plain steps", "ms an episode", "× plain steps"]
    lines += heading(names)
    for name in SEARCHES:
        spec, ways = cast(EpisodeSpec, of_table(cast(TableTask, table_named(name))).search()), ("kernel", "plain")
        half, took = spec.episodes // 2, {way: list[tuple[float, float]]() for way in ways}
        for turn in range(rounds + 1):
            for way in ways:
                os.environ["LAB_STEPS"] = way
                search = Episodes(spec)
                took[way].append(episode(search, half if turn else 0))
        (step, all_of_it), plain = (
            [statistics.median(one) for one in zip(*took[way][1:], strict=True)] for way in ways
        )
        steps, rows = spec.inner_steps(half), search.inner_tasks[0].draw(half)[0](0).inputs.shape[1]
        shown = f"{1e3 * step / steps:.2f} | {plain[0] / step:.2f} | {1e3 * all_of_it:.0f} | {plain[1] / all_of_it:.2f}"
        lines.append(f"| {name} | {len(spec.restarts)} × {rows} | {steps} | {shown} |")
    return "\n".join(lines)


def episode(search: Episodes, number: int) -> tuple[float, float]:
    """Seconds of its inner steps, and of all of it."""
    inner, start = search.inner_tasks[0], time.process_time()
    inner.train(inner.draw(number)[0], search.spec.inner_steps(number), 0)
    middle = time.process_time()
    search.run_episode(number)
    return middle - start, time.process_time() - middle


def main() -> None:
    """Measure, print, write."""
    parser = table_parser(__doc__)
    parser.add_argument("--families", nargs="+", default=None, help="names; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a contestant in a round")
    parser.add_argument(
        "--without-compile", action="store_true", help="leave torch.compile out: it compiles for a minute"
    )
    parser.add_argument("--without-processes", action="store_true", help="leave two processes out")
    parser.add_argument("--searches", action="store_true", help="measure searches by episodes instead")
    parser.add_argument("--alone", nargs=3, metavar=("NAME", "BEGIN", "SECONDS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.alone:
        name, begin, seconds = given.alone
        return alone(name, float(begin), float(seconds))
    if given.searches:
        return publish(searches(given.rounds), given.write, "training", " --searches")
    known = families()
    rows = {}
    for name in given.families or known:
        rows[name] = measure(name, known[name], given.rounds, given.seconds, not given.without_compile)
        one, two = [float("nan")] * 2
        if not given.without_processes:
            one, two = (parallel_rate(name, count, 4 * given.seconds) for count in (1, 2))
        rows[name]["two"] = two / one
    publish(table(rows, known), given.write, "training")


if __name__ == "__main__":
    main()
