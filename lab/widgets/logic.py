"""LogicExplorer: build a fuzzy logic function, and see what a trained model makes of its examples in context."""

import ipywidgets as widgets
import numpy as np
import torch
from torch import Tensor

from lab.catalogue.registry import papers_with
from lab.errors import ArgumentError
from lab.plots.tasks import planes_frame, refill_planes
from lab.run import Run
from lab.scale import BEST, training_scale
from lab.spec import replace
from lab.store import Store
from lab.tasks.logic import Logic
from lab.widgets.explorer import LABEL, menu
from lab.widgets.pages import live
from lab.widgets.solvers import SolverExplorer, solvers

GRID = 17  # points along each side of the plane; more than 20 take longer than a hand waits
SPLITS = {
    "train": "It was trained on this function.",
    "ood": "It never saw this function in training, but both of its terms in other functions.",
    "unseen_terms": "It never saw these terms in training.",
}


class LogicExplorer(SolverExplorer):
    """Two terms, chosen variable by variable; the function on a plane of two variables; a model's answer next to it.

    task: what to begin with, of two terms (default: that of the lab's figures). Other lengths and held-out fractions of
    the figures at this scale are offered next to it; where there is a model for one of them alone, it comes first. The
    model sees the examples in context, and answers one query after the other.

    >>> LogicExplorer(Logic(), scale="smoke").formula
    '(x1 ∧ ¬x2 ∧ ¬x3 ∧ ¬x4) ∨ (¬x1 ∧ x2 ∧ ¬x3 ∧ ¬x4)'
    """

    def __init__(self, task: Logic | None = None, scale: str = BEST, store: Store | None = None):
        super().__init__(scale, store)
        (paper,) = papers_with("logic_tasks")
        self._kinds: list[Logic] = paper.logic_tasks(training_scale(scale))
        self._task = task or self._kinds[0]
        if self._task.terms != 2 or self._task.variables < 3:
            raise ArgumentError(f"{self._task} is not drawn; give a lab.tasks.Logic of two terms and three variables")
        others = (replace(self._task, length=kind.length, held_out=kind.held_out) for kind in self._kinds)
        offered = (self._task, *others)
        self._task = next((kind for kind in offered if solvers(kind, scale, self._store)), self._task)
        self._controls()
        self.figure = planes_frame()
        self._draw()
        self.figure = live(self.figure)
        self.arrange(
            *[[widgets.Label(f"term {number}:"), *row] for number, row in enumerate(self.terms, 1)],
            [self.across, self.up, *self.others],
            [self.length, self.held_out, self.model, self.number],
            self.figure,
            self.told,
        )
        toggles = [toggle for row in self.terms for toggle in row]
        menus = [self.across, self.up, self.length, self.held_out, self.model]
        self.watch(self._draw, *toggles, *menus, *self.others, self.number)

    def _controls(self) -> None:
        task = self._task
        names = [f"x{number + 1}" for number in range(task.variables)]
        self.terms = [
            [
                widgets.ToggleButton(number == term, description=name, layout={"width": "64px"})
                for number, name in enumerate(names)
            ]
            for term in range(2)
        ]
        self.across, self.up = menu("across", names, width="auto"), menu("up", names, names[1], width="auto")
        self.others = [
            widgets.FloatSlider(0.2, min=0, max=1, step=0.05, style=LABEL, layout={"width": "220px"})
            for _ in range(task.variables - 2)
        ]
        examples = [(str(length - 1), length) for length in sorted({kind.length for kind in (task, *self._kinds)})]
        self.length = menu("examples in context", examples, task.length, width="auto")
        parts = sorted({kind.held_out for kind in (task, *self._kinds)})
        fractions = [(f"{part:.0%}", part) for part in parts]
        self.held_out = menu("held out", fractions, task.held_out, width="auto")
        self.held_out.tooltip = "share of the functions that the model never saw in training"
        self.model = menu("model", [], width="min(22rem, 100%)")
        self.number = widgets.BoundedIntText(0, 0, 10**9, description="draw", style=LABEL, layout={"width": "130px"})
        self.number.tooltip = "other examples in context"

    @property
    def task(self) -> Logic:
        """What the controls ask for."""
        return replace(self._task, length=self.length.value, held_out=self.held_out.value)

    @property
    def formula(self) -> str:
        """The function, written out."""
        return " ∨ ".join("(" + " ∧ ".join(toggle.description for toggle in row) + ")" for row in self.terms)

    @property
    def _chosen(self) -> Tensor:
        """The two terms by their numbers, (1, 2), in increasing order."""
        bits = torch.tensor([[toggle.value for toggle in row] for row in self.terms]).long()
        numbers = (bits * 2 ** torch.arange(bits.shape[1] - 1, -1, -1)).sum(1).sort().values
        if numbers[0] == numbers[1]:
            raise ArgumentError("the two terms are the same; press a variable in one of them")
        return numbers[None]

    def _draw(self) -> None:
        models = solvers(self.task, self._scale, self._store)
        with self.quietly():
            self._offer(models, self.model.value if self.model.value in models else next(iter(models), None))
            for row in self.terms:
                for number, toggle in enumerate(row, 1):
                    toggle.description = f"x{number}" if toggle.value else f"¬x{number}"
        terms, task, axes = self._chosen, self.task, (self.across.index, self.up.index)
        if axes[0] == axes[1]:
            raise ArgumentError("the plane has the same variable twice; choose another one for across or for up")
        free = [variable for variable in range(task.variables) if variable not in axes]
        with self.quietly():
            for slider, variable in zip(self.others, free, strict=True):
                slider.description = f"x{variable + 1}"
        ticks = np.linspace(0, 1, GRID)
        x = self._sequences(task, axes, free, torch.tensor(ticks, dtype=torch.float32))
        asked = task.make(terms.expand(len(x), -1), x)
        truth, model = asked.targets.view(GRID, GRID).numpy(), None
        if self.run is not None:
            model = self._model(self.run)(asked.inputs[None]).view(GRID, GRID).numpy()
        context = asked.inputs[0, :-1].numpy()
        note = "" if self.run else "no trained model of this kind is here"
        names = self.across.value, self.up.value
        with self.figure.batch_update():
            refill_planes(self.figure, names, ticks, truth, model, context[:, axes], context[:, -1].tolist(), note)
        self._tell(self._words(terms[0], truth, model))

    def _sequences(self, task: Logic, axes: tuple[int, int], free: list[int], ticks: Tensor) -> Tensor:
        """The same examples in context for all, and a query at each point of the plane: (GRID², T, L)."""
        generator = torch.Generator().manual_seed(self.number.value)
        x = torch.rand(task.length, task.variables, generator=generator).repeat(GRID**2, 1, 1)
        x[:, -1, axes[0]], x[:, -1, axes[1]] = ticks.repeat(GRID), ticks.repeat_interleave(GRID)
        for slider, variable in zip(self.others, free, strict=True):
            x[:, -1, variable] = slider.value
        return x

    def _words(self, terms: Tensor, truth: np.ndarray, model: np.ndarray | None) -> list[str]:
        """What is said below the planes, line by line."""
        lines = [f"f = {self.formula}: ∧ is the smaller value, ∨ the larger one, ¬x is 1 − x."]
        if model is None or self.run is None:
            command = self._command(f"Logic(length={self.length.value}, held_out={self.held_out.value})")
            return [*lines, f"{command} trains a model; then move any control."]
        error, spread = float(np.square(model - truth).mean()), float(truth.var())
        r2 = f"{1 - error / spread:.2f}".replace("-", "−") if spread > 1e-6 else "none, the function is constant here"
        said = f"{self.model.value}: R² on this plane {r2}, mean squared error {error:.4f}."
        lines.append(f"{said} {self._training_note(self.run, terms)}")
        return [*lines, "Dots: the examples in context. In the other variables they lie anywhere, not on the plane."]

    def _training_note(self, run: Run, terms: Tensor) -> str:
        """What the model's training had of this function."""
        spec = run.spec
        for split, words in SPLITS.items():
            empty = split == "ood" and not spec.task.held_out
            if not empty and (spec.task.functions(split, spec.seed) == terms).all(-1).any():
                return words
        return "It never saw one of these terms in training."
