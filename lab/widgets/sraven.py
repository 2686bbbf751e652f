"""SravenExplorer: solve SRAVEN problems by hand, against a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anywidget
import ipywidgets as widgets
import numpy as np
import torch
import traitlets
from torch import Tensor

from lab.errors import ArgumentError
from lab.plots.tasks import bars_frame, dial, draw_matrix, refill_bars, rule_words
from lab.run import Run
from lab.scale import BEST
from lab.spec import replace
from lab.store import Store
from lab.tasks.counts import ambiguous
from lab.tasks.sraven import RULES, Sraven
from lab.widgets import pages
from lab.widgets.explorer import LABEL, button, check, menu, side_by_side
from lab.widgets.pages import live
from lab.widgets.solvers import SolverExplorer, solvers

ANY, SEEN, UNSEEN = "any", "trained on", "held out"
SPLITS = {SEEN: "train", UNSEEN: "ood"}
WAITING, ABSENT = "the model answers when you check or reveal", "no trained model of this size is here"
EASY = Sraven(features=2)
MOST_FEATURES, FEWEST_VALUES, MOST_VALUES = 4, 3, 16  # of the sliders


class Choice(anywidget.AnyWidget):
    """One picture of several for each row; with mouse or keyboard (Tab to a row, arrows in it, Space to press).

    rows: their names. pictures: SVG, the same in every row. value: for each row the number of what is pressed, or None.

    >>> choice = Choice(rows=["A", "B"], pictures=["<svg></svg>"] * 3, value=[None, None])
    >>> choice.ask(["A"], ["<svg></svg>"] * 8)
    >>> choice.value
    [None]
    """

    rows = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pictures = traitlets.List(traitlets.Unicode()).tag(sync=True)
    value = traitlets.List(traitlets.Int(allow_none=True)).tag(sync=True)

    def ask(self, rows: Sequence[str], pictures: Sequence[str]) -> None:
        """Other rows and pictures, with nothing pressed."""
        with self.hold_sync():
            self.rows, self.pictures, self.value = list(rows), list(pictures), [None] * len(rows)

    _esm = pages.widget("choice.js")
    _css = (pages.FOLDER / "choice.css").read_text(encoding="utf-8")


@dataclass
class Tally:
    """Whole problems and single features that were right, and by how many who guesses would be right on average.

    >>> tally = Tally()
    >>> tally.add(features=2, values=8, you=2, model=1)
    >>> tally.add(features=2, values=8, you=1, model=None)  # no model was there
    >>> tally.rows()[1:]
    [('problems', '1 of 2', '0 of 1', '0.031 of 2'), ('features', '3 of 4', '1 of 2', '0.5 of 4')]
    """

    solved: list[tuple[int, int, int, int | None]] = field(default_factory=list)  # features, values, you, model

    def add(self, features: int, values: int, you: int, model: int | None) -> None:
        """One more problem: of its features, how many you had right, and how many a model had."""
        self.solved.append((features, values, you, model))

    def rows(self) -> list[tuple[str, ...]]:
        """The score as words: a head, whole problems, single features."""
        modelled = [(k, model) for k, _, _, model in self.solved if model is not None]
        all_of = len(self.solved), sum(k for k, *_ in self.solved)
        by_you = sum(you == k for k, _, you, _ in self.solved), sum(you for *_, you, _ in self.solved)
        by_model = sum(model == k for k, model in modelled), sum(model for _, model in modelled)
        asked = len(modelled), sum(k for k, _ in modelled)
        chance = sum(f**-k for k, f, *_ in self.solved), sum(k / f for k, f, *_ in self.solved)
        rows: list[tuple[str, ...]] = [("right", "you", "the model", "chance")]
        for number, name in enumerate(("problems", "features")):
            model = f"{by_model[number]} of {asked[number]}" if modelled else "–"
            guessed = f"{chance[number]:.2g} of {all_of[number]}"
            rows.append((name, f"{by_you[number]} of {all_of[number]}", model, guessed))
        return rows

    def html(self) -> str:
        """The score as a table of a page."""
        return pages.filled("tally.html", rows=self.rows())


class SravenExplorer(SolverExplorer):
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
        super().__init__(scale, store)
        self._runs = [task] if isinstance(task, Run) else list(task) if isinstance(task, Sequence) else []
        first = self._runs[0].spec.task if self._runs else task
        if not isinstance(first, Sraven) or not all(isinstance(run.spec.task, Sraven) for run in self._runs):
            raise ArgumentError(f"{task!r} is not about SRAVEN; give a lab.tasks.Sraven, or runs of lab.train with one")
        self._task = first
        self._open = True  # the solution is not shown yet
        self._counted: set[tuple] = set()  # problems whose solution was shown
        self.tally = Tally()
        self._controls()
        self.figure = bars_frame()
        self._new()
        self.figure = live(self.figure)
        asked = widgets.Label("Your answer, the values of the last panel from the top:")
        buttons = widgets.HBox([self.check, self.reveal])
        problem, answers = [self.matrix, asked, self.choice, buttons], [self.figure, self.told, self.score]
        self.arrange(
            [self.features, self.values, self.shuffled, self.among],
            [widgets.Label("rules that may appear:"), *self.rules],
            [self.number, self.following, self.model],
            side_by_side(problem, answers, least=320),
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
        self.shuffled = check("features shuffled", start.permute)
        self.shuffled.tooltip = "each column shows them in an order of its own"
        self.among = menu("combination of rules", [ANY, SEEN, UNSEEN], width="250px")
        self.among.tooltip = "by the model that is chosen: what it was trained on, or what was held out from it"
        self.rules = [check(name) for name in RULES]
        self.number = widgets.BoundedIntText(0, 0, 10**9, description="problem", style=LABEL, layout={"width": "150px"})
        self.following = button("next", "the next problem")
        self.model = menu("play against", [], width="min(24rem, 100%)")
        self.choice, self.matrix, self.score = Choice(), widgets.HTML(), widgets.HTML()
        self.check = button("check", button_style="primary")
        self.reveal = button("reveal", "show the answer; it does not count")

    @property
    def task(self) -> Sraven:
        """What the controls ask for."""
        changes = {"features": self.features.value, "values": self.values.value, "permute": self.shuffled.value}
        return replace(self._task, **changes)

    @property
    def answer(self) -> list[int | None]:
        """What was chosen for each feature of the last panel."""
        said = [value if value is None or value < self._shown.values else None for value in self.choice.value]
        return (said + [None] * self._shown.features)[: self._shown.features]

    def _new(self) -> None:
        task = self.task
        models = solvers(task, self._scale, self._store, self._runs)
        run = models.get(self.model.value) or next(iter(models.values()), None)
        combinations = self._combinations(task, run)  # may find none, so before anything changes
        generator = torch.Generator().manual_seed(self.number.value)
        rules = combinations[torch.randint(len(combinations), (1,), generator=generator)]
        self.problem, self._shown, self._open = task.make(rules, generator), task, True
        self._ambiguous = bool(ambiguous(task, self.problem.latents["panels"]))
        with self.quietly():
            self._offer(models, next((name for name, one in models.items() if one is run), None))
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
        return self._model(self.run)(self.problem.inputs[None])[0, 0].softmax(-1).numpy()

    def _draw(self) -> None:
        solved, answer = not self._open, self.answer
        if solved:
            answer = [right if said is None else said for said, right in zip(answer, self._right, strict=True)]
        self.matrix.value = draw_matrix(self.problem, 0, self._shown.values, answer, judged=solved, solved=solved)
        thought = self._thought() if solved else None
        note = "" if thought is not None else WAITING if self.run else ABSENT
        with self.figure.batch_update():
            refill_bars(self.figure, self._shown.values, thought, self._right, self.answer, note)
        self._tell(self._words(thought))
        self.score.value = self.tally.html() if self.tally.solved else ""

    def _words(self, thought: np.ndarray | None) -> list[str]:
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
        lines.append(
            "Ambiguous: other rules fit the eight panels, too, and give another answer. Only the answer of the rules"
            " that made the problem counts."
            if self._ambiguous
            else "Not ambiguous: all rules that fit the eight panels give the same answer."
        )
        if self.run is None:
            command = self._command(f"Sraven(features={self._shown.features}, values={self._shown.values})")
            lines.append(
                f"No trained model for K = {self._shown.features}, F = {self._shown.values} is here."
                f" {command} trains one; then press next."
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
