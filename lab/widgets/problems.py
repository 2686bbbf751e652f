"""What a trained run was asked and what it answers, for explorers of latent codes: labels, words, pictures.

Problems are fresh: those that are looked at have combinations (of rules, of terms) that training never saw; as many
with combinations that it saw are there for decoders to learn from, as in the figures.
"""

import html
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, LabError
from lab.models.hyper import method_of
from lab.papers.codes import SEED, SHUFFLES, embedding, fresh, same
from lab.plots.style import method_title
from lab.plots.tasks import draw_matrix, rule_words
from lab.probes import codes_by_layer, contrast, decode
from lab.probes.decoding import Contrast, Decoding
from lab.run import Run
from lab.tasks import Logic, Sraven
from lab.tasks.logic import which_terms, written
from lab.tasks.sraven import COLUMNS, RULES
from lab.tasks.stream import Examples
from lab.widgets import pages
from lab.widgets.course import few
from lab.widgets.explorer import check_alive

BATCH = 256
TABLE = 'style="border-collapse: collapse; line-height: 1.3; font-size: inherit; font-variant-numeric: tabular-nums"'
Place = tuple[int, int, int]  # layer, query, key, from 0
Map = tuple[np.ndarray, float]  # points (N, 2), trustworthiness
Way = tuple[list[int], np.ndarray, np.ndarray, float]  # steps, codes (S, N, heads), points (S, N, 2), trustworthiness
MOVING = 6000  # points of a map of neighbours: half a minute


class Problems:
    """`count` problems of unseen combinations, and as many of seen ones, with the run's answers.

    A query token says which answer is meant: its own; of a token that nothing is asked of, the last one.
    Those of a task have besides: `accuracy`, how well the unseen ones are answered; `tokens`, what each token is;
    `colours(part, query)`, text or numbers, one a problem, by name; `traits(part, query)`, their names (C,), and which
    each problem has, (N, C) bool; `labels(part, query, colouring)`, what a decoder is to say, (N,) or (N, C);
    `hover(i)` and `show(i)`, the problem with the model's answer in words and as HTML.
    """

    group: str  # latent that tells combinations apart
    trait: str  # what a combination is made of
    score: str  # what `accuracy` is
    notation = ""  # what has to be said of how things are written
    how: dict[str, str] = {}  # further arguments of their sampling

    def __init__(self, run: Run, count: int):
        self.run, self.task = run, run.spec.task
        self.seen, self.unseen = (fresh(run, split, count, **self.how) for split in ("test", "ood"))
        self._answers = {id(part): self._answer(part) for part in (self.seen, self.unseen)}

    def __len__(self) -> int:
        return len(self.unseen)

    @property
    def name(self) -> str:
        """The model and the task in words."""
        method = method_of(self.run.spec.model)
        return f"{method_title(method) if method else 'a model'}, seed {self.run.spec.seed}"

    def groups(self, part: Examples) -> np.ndarray:
        """Which combination each problem is, (N, parts)."""
        return part.latents[self.group].numpy()

    def place(self, query: int) -> int:
        """Which answer is meant by a query token."""
        return self.task.positions.index(query) if query in self.task.positions else len(self.task.positions) - 1

    def decoded(self, colouring: str) -> str:
        """What a decoder is asked where points are coloured by this."""
        return colouring

    def word(self, label: Any) -> str:
        """A class of a decoder in words."""
        return str(label)

    def _answer(self, part: Examples) -> Tensor:
        with torch.no_grad():
            return torch.cat([self._model(inputs[None])[0] for inputs in part.inputs.split(BATCH)])

    @cached_property
    def _model(self) -> torch.nn.Module:
        return self.run.model()


class SravenProblems(Problems):
    """Symbolic Raven's matrices; what a code may say is the rule of an answer."""

    group, trait, score = "rules", "rule", "answered right"

    @cached_property
    def accuracy(self) -> str:
        right = (self._said(self.unseen) == self.unseen.targets).all(1).double().mean().item()
        return f"{100 * right:.0f} %"

    @cached_property
    def tokens(self) -> list[str]:
        k = self.task.features
        panels = [f"row {p // COLUMNS + 1}, column {p % COLUMNS + 1}" for p in range(COLUMNS**2 - 1)]
        shown = [f"{panel}" + (f", {chr(97 + place)}" if k > 1 else "") for panel in panels for place in range(k)]
        return shown + [f"answer {chr(65 + place)}" if k > 1 else "answer" for place in range(k)]

    def colours(self, part: Examples, query: int) -> dict[str, np.ndarray]:
        place = self.place(query)
        target, said = part.targets[:, place].numpy(), self._said(part)[:, place].numpy()
        rules = np.array(RULES)[part.latents["answer_rules"][:, place].numpy()]
        return {
            "rule": rules,
            "target": target.astype(float),
            "prediction": said.astype(float),
            "correctness": np.where(said == target, "right", "wrong"),
        }

    def traits(self, part: Examples, query: int) -> tuple[list[str], np.ndarray]:
        rules = part.latents["answer_rules"][:, self.place(query)].numpy()
        return list(RULES), rules[:, None] == np.arange(len(RULES))

    def labels(self, part: Examples, query: int, colouring: str) -> np.ndarray:
        values = self.colours(part, query)[colouring]
        return values.astype(int) if values.dtype.kind == "f" else values

    def hover(self, i: int) -> str:
        rules = self.unseen.latents["answer_rules"][i].tolist()
        said, right = self._said(self.unseen)[i].tolist(), self.unseen.targets[i].tolist()
        lines = [
            f"{chr(65 + p)}: {RULES[rule]}, answer {right[p]}, the model says {said[p]}" for p, rule in enumerate(rules)
        ]
        return "<br>".join([f"problem {i}", *lines])

    def show(self, i: int) -> str:
        said, right = self._said(self.unseen)[i], self.unseen.targets[i]
        hits = int((said == right).sum())
        rules = "".join(f"<div>{html.escape(words)}</div>" for words in rule_words(self.unseen, i))
        drawn = draw_matrix(self.unseen, i, self.task.values, said.tolist(), judged=True, solved=True)
        answer = f"In the last panel is the model's answer: {hits} of {len(right)} features right."
        return (
            f"<b>Problem {i}</b><br>{drawn}<div>{answer}</div><div>Features of one letter follow one rule:</div>{rules}"
        )

    def _said(self, part: Examples) -> Tensor:
        return self._answers[id(part)].argmax(-1)


class LogicProblems(Problems):
    """Fuzzy logic functions, with the same points in context; what a code may say are its terms."""

    group, trait, score = "terms", "term", "R² (1 − ΣSE / ΣVar)"
    notation = " A term is written by the signs of its variables, x1 first: − is negated."
    how = {"fixed": "query"}

    @cached_property
    def accuracy(self) -> str:
        outputs, part = self._answers[id(self.unseen)], self.unseen
        return f"{self.task.scores(outputs[None], part.targets[None], part)['r2'].item():.2f}"

    @cached_property
    def tokens(self) -> list[str]:
        return [f"example {t + 1}" for t in range(self.task.length - 1)] + ["query"]

    def colours(self, part: Examples, query: int) -> dict[str, np.ndarray]:
        target, said = part.targets[:, 0].numpy().astype(float), self._answers[id(part)][:, 0, 0].numpy().astype(float)
        terms = np.array([[self._written(term) for term in terms] for terms in part.latents["terms"].tolist()])
        by_term = {f"term {k + 1}": terms[:, k] for k in range(self.task.terms)}
        functions = np.array([" ∨ ".join(row) for row in terms])
        return by_term | {"function": functions, "target": target, "prediction": said, "error": abs(said - target)}

    def traits(self, part: Examples, query: int) -> tuple[list[str], np.ndarray]:
        return [self._written(term) for term in range(self._terms)], self.labels(part, query, "").astype(bool)

    def decoded(self, colouring: str) -> str:
        return "term"  # always, as in Figure 2B

    def labels(self, part: Examples, query: int, colouring: str) -> np.ndarray:
        return which_terms(part, self._terms)

    def word(self, label: Any) -> str:
        return self._written(int(label))

    def hover(self, i: int) -> str:
        said, right = self._answers[id(self.unseen)][i, 0, 0].item(), self.unseen.targets[i, 0].item()
        formula = self.task.formula(self.unseen.latents["terms"][i]).replace(" ∨ ", "<br>∨ ")
        return f"function {i}<br>{formula}<br>at the query {right:.2f}, the model says {said:.2f}"

    def show(self, i: int) -> str:
        said, right = self._answers[id(self.unseen)][i, 0, 0].item(), self.unseen.targets[i, 0].item()
        rows = [[f"{value:.2f}" for value in token] for token in self.unseen.inputs[i].tolist()]
        rows[-1][-1] = f"{right:.2f}"
        return pages.filled(
            "logic_problem.html",
            number=i,
            formula=self.task.formula(self.unseen.latents["terms"][i]),
            right=f"{right:.2f}",
            said=f"{said:.2f}",
            names=[*(f"x{n + 1}" for n in range(self.task.variables)), "f"],
            rows=rows[-1:] + rows[:-1],
            style=TABLE,
        )

    @property
    def _terms(self) -> int:
        return 2**self.task.variables - self.task.reserved

    def _written(self, term: int) -> str:
        return written(term, self.task.variables)


class Reading:
    """Codes of a run on `count` problems of unseen combinations, and on as many of seen ones.

    Arguments are those of the probes; a result is kept, so that asking again costs nothing (`has`).
    """

    def __init__(self, run: Run, count: int):
        if run.diverged:
            raise ArgumentError(f"the run diverged at step {run.diverged[0]}: its codes are no numbers; give another")
        self.problems, self.layers = problems_of(run, count), run.spec.model.layers
        self._model = run.model()
        self._codes: dict[tuple[int, int], list[list[np.ndarray]]] = {}
        self._run, self._ways = run, dict[tuple[int, int], list[np.ndarray]]()
        self.steps: list[int] = run.checkpoints.tolist() if run.has_checkpoints else []
        self._results: dict[tuple, Any] = {}  # by the method's name and what it was asked

    def has(self, what: str, *asked: Any) -> bool:
        """Whether the result of a method ("map", "course", "decoding") is known."""
        return (what, *asked) in self._results

    def codes(self, place: Place, training: bool = False) -> np.ndarray:
        """(N, heads)."""
        layer, query, key = place
        if (query, key) not in self._codes:  # of both kinds and all layers at once: passes cost more than codes
            parts = (self.problems.unseen, self.problems.seen)
            both = [codes_by_layer(self._model, part, query, key) for part in parts]
            self._codes[query, key] = [[codes.codes for codes in part] for part in both]
        return self._codes[query, key][training][layer]

    def map(self, place: Place, method: str, perplexity: float | None) -> Map:
        """Points, and how far to trust them; all in one place where codes are the same."""
        asked = "map", place, method, perplexity
        if asked not in self._results:
            self._results[asked] = embedding(self.codes(place), method, perplexity)
        return self._results[asked]

    def course(self, place: Place, method: str, perplexity: float | None) -> Way:
        """The codes of checkpoints, and one map of all of them together, on which points move and do not jump; of
        neighbours (t-SNE, UMAP) fewer checkpoints, as many as a map of MOVING points has."""
        asked = "course", place, method, perplexity
        if asked not in self._results:
            steps, codes = self._way(place)
            if method != "pca":
                shown = few(len(steps), codes.shape[1], MOVING)
                steps, codes = [steps[number] for number in shown], codes[shown]
            points, trust = embedding(codes.reshape(-1, codes.shape[-1]), method, perplexity)
            self._results[asked] = steps, codes, points.reshape(*codes.shape[:2], 2), trust
        return self._results[asked]

    def _way(self, place: Place) -> tuple[list[int], np.ndarray]:
        """Codes on the unseen problems after steps, as many as a page can hold, (S, N, heads)."""
        layer, query, key = place
        steps = [self.steps[number] for number in few(len(self.steps), self.codes(place).size)]
        if (query, key) not in self._ways:
            models = map(self._run.model, steps)
            each = [codes_by_layer(model, self.problems.unseen, query, key) for model in models]
            self._ways[query, key] = [np.stack([codes.codes for codes in of]) for of in zip(*each, strict=True)]
        return steps, self._ways[query, key][layer]

    def decoding(self, place: Place, label: str) -> Decoding | str:
        """What a decoder of this label reads, trained on seen combinations and tested on unseen ones; or why there is
        none. label: what `decoded` gives for a colouring."""
        asked = "decoding", place, label
        if asked not in self._results:
            try:
                self._results[asked] = self._decode(place, label)
            except LabError as error:  # all problems solved, say: one class
                self._results[asked] = str(error)
        return self._results[asked]

    def contrast(self, place: Place, a: np.ndarray, b: np.ndarray, points: np.ndarray) -> Contrast:
        """What tells two groups of the unseen problems apart; points: the map on which they were chosen."""
        part = self.problems.unseen
        traits = self.problems.traits(part, place[1])[1]
        return contrast(self.codes(place), a, b, traits, self.problems.groups(part), SEED, SHUFFLES, points)

    def _decode(self, place: Place, colouring: str) -> Decoding | str:
        parts = self.problems.seen, self.problems.unseen
        codes = np.concatenate([self.codes(place, training) for training in (True, False)])
        if same(codes):
            return "Here all problems have one code: nothing can be read from it."
        labels = np.concatenate([self.problems.labels(part, place[1], colouring) for part in parts])
        groups = np.concatenate([self.problems.groups(part) for part in parts])
        train = np.arange(len(codes)) < len(parts[0])
        # as in the figures: of several classes each counts alike (5F), of terms each is a question of its own (2B)
        return decode(codes, labels, groups, SEED, train=train, shuffles=SHUFFLES, balanced=labels.ndim == 1)


def problems_of(run: Run, count: int) -> SravenProblems | LogicProblems:
    """The problems of a run on one of these tasks."""
    check_alive("the run", run)
    if isinstance(run.spec.task, Sraven):
        return SravenProblems(run, count)
    if isinstance(run.spec.task, Logic):
        return LogicProblems(run, count)
    raise ArgumentError(
        f"{run.spec.task_name} has no latent codes to explore; give a run on sraven or logic, as"
        " lab.trained('sraven', 'hyla')"
    )
