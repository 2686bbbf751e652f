"""SravenExplorer: solve SRAVEN problems by hand, against a trained model."""

from __future__ import annotations

import html
from collections.abc import Sequence

import ipywidgets as widgets
import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.plots.sraven import dial, draw, frame, refill, rule_words
from lab.run import Run
from lab.scale import BEST, SCALES, check_scale, training_scale
from lab.spec import replace
from lab.store import SHIPPED, Store
from lab.tasks.counts import ambiguous
from lab.tasks.sraven import RULES, Sraven
from lab.widgets.choice import Choice
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.live_figure import live
from lab.widgets.solvers import solvers
from lab.widgets.tally import Tally

ANY, SEEN, UNSEEN = "any", "trained on", "held out"
SPLITS = {SEEN: "train", UNSEEN: "ood"}
WAITING, ABSENT = "the model answers when you check or reveal", "no trained model of this size is here"
NARROW = {"width": "auto"}
SIDE = {"flex": "1 1 320px", "min_width": "0", "overflow": "hidden"}
TEXT = '<div style="line-height: 1.5; max-width: 40rem">{}</div>'
EASY = Sraven(features=2)
MOST_FEATURES, FEWEST_VALUES, MOST_VALUES = 4, 3, 16  # of the sliders


class SravenExplorer(Explorer):
    """A problem drawn as symbols; choose a value for each feature of the last panel, press check, and see what was
    right, the rules, what a trained model answers, and the score.

    task: the size of the problems to begin with (default: two features of eight values); or a trained run or several,
    with whose sizes to begin. Models of the lab's figures at this scale, or at the largest at which there are some
    ("best"), are offered next to them, where the store has them.

    >>> explorer = SravenExplorer(Sraven(features=3), scale="smoke")
    >>> explorer.choice.rows
    ['A', 'B', 'C']
    """

    def __init__(self, task: Sraven | Run | Sequence[Run] = EASY, scale: str = BEST, store: Store | None = None):
        super().__init__()
        self._runs = [task] if isinstance(task, Run) else list(task) if isinstance(task, Sequence) else []
        first = self._runs[0].spec.task if self._runs else task
        if not isinstance(first, Sraven) or not all(isinstance(run.spec.task, Sraven) for run in self._runs):
            raise ArgumentError(f"{task!r} is not about SRAVEN; give a lab.tasks.Sraven, or runs of lab.train with one")
        self._task = first
        self._scale, self._store = check_scale(scale, (*SCALES, BEST)), store or Store(shipped=SHIPPED)
        self._solvers: dict[str, Run] = {}
        self._models: dict[str, nn.Module] = {}  # by key, each read from the store once
        self._open = True  # the solution is not shown yet
        self._counted: set[tuple] = set()  # problems whose solution was shown
        self.tally = Tally()
        self._controls()
        self.figure = frame()
        self._new()
        self.figure = live(self.figure, height=self.figure.layout.height)
        asked = widgets.Label("Your answer, the values of the last panel from the top:")
        buttons = widgets.HBox([self.check, self.reveal])
        sides = [[self.matrix, asked, self.choice, buttons], [self.figure, self.told, self.score]]
        self.arrange(
            [self.features, self.values, self.shuffled, self.among],
            [widgets.Label("rules that may appear:"), *self.rules],
            [self.number, self.following, self.model],
            widgets.HBox([widgets.VBox(side, layout=SIDE) for side in sides], layout={"flex_flow": "row wrap"}),
        )
        self.watch(self._new, self.features, self.values, self.shuffled, self.among, self.number, *self.rules)
        self.watch(self._another_model, self.model)
        self.watch(self._draw, self.choice)
        self.press(self._next, self.following)
        self.press(self._check, self.check)
        self.press(self._reveal, self.reveal)

    def _controls(self) -> None:
        start = self._task
        most = max(MOST_FEATURES, start.features)
        self.features = widgets.IntSlider(start.features, 1, most, description="features K", style=LABEL)
        self.values = widgets.IntSlider(start.values, FEWEST_VALUES, MOST_VALUES, description="values F", style=LABEL)
        self.shuffled = widgets.Checkbox(start.permute, description="features shuffled", indent=False)
        self.shuffled.layout, self.shuffled.tooltip = NARROW, "each column shows them in an order of its own"
        self.among = widgets.Dropdown(description="combination of rules", options=[ANY, SEEN, UNSEEN], style=LABEL)
        self.among.tooltip = "by the model that is chosen: what it was trained on, or what was held out from it"
        self.among.layout = {"width": "250px"}
        self.rules = [widgets.Checkbox(True, description=name, indent=False, layout=NARROW) for name in RULES]
        self.number = widgets.BoundedIntText(0, 0, 10**9, description="problem", style=LABEL, layout={"width": "150px"})
        self.following = widgets.Button(description="next", tooltip="the next problem", layout=NARROW)
        self.model = widgets.Dropdown(description="play against", style=LABEL, layout={"width": "min(24rem, 100%)"})
        self.choice, self.matrix, self.told, self.score = Choice(), widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.check = widgets.Button(description="check", button_style="primary", layout=NARROW)
        self.reveal = widgets.Button(description="reveal", tooltip="show the answer; it does not count", layout=NARROW)

    @property
    def task(self) -> Sraven:
        """What the controls ask for."""
        changes = {"features": self.features.value, "values": self.values.value, "permute": self.shuffled.value}
        return replace(self._task, **changes)

    @property
    def run(self) -> Run | None:
        """The run that is played against, where there is one."""
        return self._solvers.get(self.model.value)

    @property
    def answer(self) -> list[int | None]:
        """What was chosen for each feature of the last panel."""
        said = [value if value is None or value < self._shown.values else None for value in self.choice.value]
        return (said + [None] * self._shown.features)[: self._shown.features]

    def _new(self) -> None:
        """Another problem."""
        task = self.task
        models = solvers(task, self._scale, self._store, self._runs)
        run = models.get(self.model.value) or next(iter(models.values()), None)
        combinations = self._combinations(task, run)  # may find none, so before anything changes
        generator = torch.Generator().manual_seed(self.number.value)
        rules = combinations[torch.randint(len(combinations), (1,), generator=generator)]
        self.problem, self._shown, self._solvers, self._open = task.make(rules, generator), task, models, True
        self._ambiguous = bool(ambiguous(task, self.problem.latents["panels"]))
        with self.quietly():
            names = list(models)
            if tuple(names) != tuple(self.model.options):
                self.model.options = names
                self.model.disabled = not names
            if run is not None:
                self.model.value = names[list(models.values()).index(run)]
            letters = [chr(ord("A") + place) for place in range(task.features)]
            self.choice.ask(letters, [dial(value, task.values) for value in range(task.values)])
        self._draw()

    def _combinations(self, task: Sraven, run: Run | None) -> Tensor:
        """The multisets of rules to choose among, (combinations, K)."""
        allowed = torch.tensor([box.value for box in self.rules])
        if not allowed.any():
            raise ArgumentError("no rule may appear; tick at least one")
        if self.among.value == ANY:
            combinations = replace(task, held_out=0.0).combinations("train")
        else:
            trained = run.spec.task if run else task
            combinations = trained.combinations(SPLITS[self.among.value], run.spec.seed if run else 0)
        combinations = combinations[allowed[combinations].all(-1)]
        if not len(combinations):
            raise ArgumentError(
                f"of the combinations that are {self.among.value}, none has these rules alone; tick more rules, or"
                f" choose {ANY!r}"
            )
        return combinations

    def _another_model(self) -> None:
        """Where the model decides which combinations there are, the problem may be another."""
        self._draw() if self.among.value == ANY else self._new()

    def _next(self) -> None:
        self.number.value += 1

    def _check(self) -> None:
        """Judge the answer; the first time, it counts."""
        if None in self.answer:
            missing = ", ".join(row for row, value in zip(self.choice.rows, self.answer, strict=True) if value is None)
            raise ArgumentError(f"nothing is chosen for {missing}; press a symbol in each row, then check")
        if self._name not in self._counted:
            thought = self._thought()
            model = None if thought is None else self._hits(thought.argmax(-1).tolist())
            self.tally.add(self._shown.features, self._shown.values, self._hits(self.answer), model)
        self._reveal()

    def _reveal(self) -> None:
        """Show the solution; from here on, this problem does not count."""
        self._counted.add(self._name)
        self._open = False
        self._draw()

    @property
    def _name(self) -> tuple:
        """What tells problems apart."""
        return self._shown, *self.problem.latents["panels"].flatten().tolist()

    @property
    def _right(self) -> list[int]:
        return self.problem.targets[0].tolist()

    def _hits(self, answer: Sequence[int | None]) -> int:
        return sum(said == right for said, right in zip(answer, self._right, strict=True))

    def _thought(self) -> np.ndarray | None:
        """What the model thinks of each value, (K, F); None where there is no model."""
        if self.run is None:
            return None
        if self.run.key not in self._models:
            self._models[self.run.key] = self.run.model()
        return self._models[self.run.key](self.problem.inputs[None])[0, 0].softmax(-1).numpy()

    def _draw(self) -> None:
        """Problem, answer, model and score as they are now; the solution only once it was asked for."""
        solved, answer = not self._open, self.answer
        if solved:
            answer = [right if said is None else said for said, right in zip(answer, self._right, strict=True)]
        self.matrix.value = draw(self.problem, 0, self._shown.values, answer, judged=solved, solved=solved)
        thought = self._thought() if solved else None
        self._draw_guess(thought)
        self.told.value = TEXT.format("<br>".join(map(html.escape, self._words(thought))))
        self.score.value = self.tally.html() if self.tally.solved else ""

    def _draw_guess(self, thought: np.ndarray | None) -> None:
        note = "" if thought is not None else WAITING if self.run else ABSENT
        with self.figure.batch_update():
            refill(self.figure, self._shown.values, thought, self._right, self.answer, note)

    def _words(self, thought: np.ndarray | None) -> list[str]:
        """What is said below the problem, line by line."""
        lines = []
        if not self._open:
            said, count = self.answer, self._shown.features
            if None not in said:
                lines.append(f"You: {self._hits(said)} of {count} right.")
            if thought is not None and self.run is not None:
                lines.append(self._verdict(self.run, thought.argmax(-1).tolist()))
            lines += rule_words(self.problem, 0)
            if self._shown.permute:
                lines.append("Places from the top in the three columns: " + self._places() + ".")
        if self._ambiguous:
            lines.append(
                "Ambiguous: other rules fit the eight panels, too, and give another answer. Only the answer of"
                " the rules that made the problem counts."
            )
        else:
            lines.append("Not ambiguous: all rules that fit the eight panels give the same answer.")
        if self.run is None:
            lines.append(
                f"No trained model for K = {self._shown.features}, F = {self._shown.values} is here."
                f" {self._command()} trains one; then press next."
            )
        return lines

    def _verdict(self, run: Run, model: list[int]) -> str:
        """What the model answers, and whether its training had this combination of rules."""
        spec, rules = run.spec, self.problem.latents["rules"][0]
        familiar = bool((spec.task.combinations("train", spec.seed) == rules).all(-1).any())
        trained = "has seen" if familiar else "has never seen"
        answer = f"{self.model.value}: {' '.join(map(str, model))}, {self._hits(model)} of {len(model)} right."
        return f"{answer} In training it {trained} this combination of rules."

    def _places(self) -> str:
        """Where the features of each rule stand."""
        *before, last = self.problem.latents["permutations"][0].tolist()
        places = ([column.index(feature) + 1 for column in before] + [place + 1] for place, feature in enumerate(last))
        return "; ".join(
            f"{name} {', '.join(map(str, there))}" for name, there in zip(self.choice.rows, places, strict=True)
        )

    def _command(self) -> str:
        task = f"lab.tasks.Sraven(features={self._shown.features}, values={self._shown.values})"
        return f'lab.train({task}, attention="hyla", seeds=1, scale="{training_scale(self._scale)}")'
