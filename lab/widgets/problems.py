"""What a trained run was asked and what it answers, for explorers of latent codes: labels, words, pictures.

Problems are fresh: those that are looked at have combinations (of rules, of terms) that training never saw; as many
with combinations that it saw are there for decoders to learn from, as in the figures.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError
from lab.models.methods import method_of
from lab.papers.hypernetwork.codes_tables import fresh
from lab.papers.hypernetwork.logic_codes import figures as logic_codes
from lab.plots.sraven_problem import draw, rule_words
from lab.plots.style import method_title
from lab.run import Run
from lab.tasks import Logic, Sraven
from lab.tasks.sraven import COLUMNS, RULES
from lab.tasks.stream import Examples

BATCH = 256
TABLE = 'style="border-collapse: collapse; line-height: 1.3; font-size: inherit; font-variant-numeric: tabular-nums"'
CELL = 'style="padding: 0 8px; text-align: right"'


class Problems(ABC):
    """`count` problems of unseen combinations, and as many of seen ones, with the run's answers.

    A query token says which answer is meant: its own; of a token that nothing is asked of, the last one.
    """

    group: str  # latent that tells combinations apart
    trait: str  # what a combination is made of
    score: str  # what `accuracy` is
    notation = ""  # what has to be said of how things are written

    def __init__(self, run: Run, count: int):
        self.run, self.task = run, run.spec.task
        self.seen, self.unseen = self._sample("test", count), self._sample("ood", count)
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

    @property
    @abstractmethod
    def accuracy(self) -> str:
        """How well the unseen ones are answered."""

    @property
    @abstractmethod
    def tokens(self) -> list[str]:
        """What each token is."""

    @abstractmethod
    def colours(self, part: Examples, query: int) -> dict[str, np.ndarray]:
        """Text or numbers, one a problem, by name."""

    @abstractmethod
    def traits(self, part: Examples, query: int) -> tuple[list[str], np.ndarray]:
        """Their names (C,), and which each problem has, (N, C) bool."""

    @abstractmethod
    def decoded(self, colouring: str) -> str:
        """What a decoder is asked where points are coloured by this."""

    @abstractmethod
    def labels(self, part: Examples, query: int, colouring: str) -> np.ndarray:
        """What a decoder is to say, (N,) or (N, C)."""

    @abstractmethod
    def word(self, label: Any) -> str:
        """A class of a decoder in words."""

    @abstractmethod
    def hover(self, i: int) -> str:
        """The problem in words, with the model's answers."""

    @abstractmethod
    def show(self, i: int) -> str:
        """The problem as HTML."""

    def _sample(self, split: str, count: int) -> Examples:
        return fresh(self.run, split, count)

    def _answer(self, part: Examples) -> Tensor:
        """The model's outputs, (N, K, O)."""
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
        """How many are answered right in all features."""
        right = (self._said(self.unseen) == self.unseen.targets).all(1).double().mean().item()
        return f"{100 * right:.0f} %"

    @cached_property
    def tokens(self) -> list[str]:
        """What each token is."""
        k = self.task.features
        panels = [f"row {p // COLUMNS + 1}, column {p % COLUMNS + 1}" for p in range(COLUMNS**2 - 1)]
        shown = [f"{panel}" + (f", {chr(97 + place)}" if k > 1 else "") for panel in panels for place in range(k)]
        return shown + [f"answer {chr(65 + place)}" if k > 1 else "answer" for place in range(k)]

    def colours(self, part: Examples, query: int) -> dict[str, np.ndarray]:
        """Text or numbers, one a problem, by name."""
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
        """Their names (C,), and which each problem has, (N, C) bool."""
        rules = part.latents["answer_rules"][:, self.place(query)].numpy()
        return list(RULES), rules[:, None] == np.arange(len(RULES))

    def decoded(self, colouring: str) -> str:
        """What a decoder is asked where points are coloured by this."""
        return colouring

    def labels(self, part: Examples, query: int, colouring: str) -> np.ndarray:
        """What a decoder is to say, (N,)."""
        values = self.colours(part, query)[colouring]
        return values.astype(int) if values.dtype.kind == "f" else values

    def word(self, label: Any) -> str:
        """A class of a decoder in words."""
        return str(label)

    def hover(self, i: int) -> str:
        """The problem in words, with the model's answers."""
        rules = self.unseen.latents["answer_rules"][i].tolist()
        said, right = self._said(self.unseen)[i].tolist(), self.unseen.targets[i].tolist()
        lines = [
            f"{chr(65 + p)}: {RULES[rule]}, answer {right[p]}, the model says {said[p]}" for p, rule in enumerate(rules)
        ]
        return "<br>".join([f"problem {i}", *lines])

    def show(self, i: int) -> str:
        """The problem as HTML: drawn, solved, with the model's answer in the last panel."""
        said, right = self._said(self.unseen)[i], self.unseen.targets[i]
        hits = int((said == right).sum())
        rules = "".join(f"<div>{html.escape(words)}</div>" for words in rule_words(self.unseen, i))
        drawn = draw(self.unseen, i, self.task.values, said.tolist(), judged=True, solved=True)
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

    @cached_property
    def accuracy(self) -> str:
        """The coefficient of determination."""
        outputs, part = self._answers[id(self.unseen)], self.unseen
        return f"{self.task.scores(outputs[None], part.targets[None], part)['r2'].item():.2f}"

    @cached_property
    def tokens(self) -> list[str]:
        """What each token is."""
        return [f"example {t + 1}" for t in range(self.task.length - 1)] + ["query"]

    def colours(self, part: Examples, query: int) -> dict[str, np.ndarray]:
        """Text or numbers, one a problem, by name."""
        target, said = part.targets[:, 0].numpy().astype(float), self._answers[id(part)][:, 0, 0].numpy().astype(float)
        terms = np.array([[self._written(term) for term in terms] for terms in part.latents["terms"].tolist()])
        by_term = {f"term {k + 1}": terms[:, k] for k in range(self.task.terms)}
        functions = np.array([" ∨ ".join(row) for row in terms])
        return by_term | {"function": functions, "target": target, "prediction": said, "error": abs(said - target)}

    def traits(self, part: Examples, query: int) -> tuple[list[str], np.ndarray]:
        """Their names (C,), and which each problem has, (N, C) bool."""
        return [self._written(term) for term in range(self._terms)], self.labels(part, query, "").astype(bool)

    def decoded(self, colouring: str) -> str:
        """What a decoder is asked where points are coloured by this: always the terms, as in Figure 2B."""
        return "term"

    def labels(self, part: Examples, query: int, colouring: str) -> np.ndarray:
        """What a decoder is to say, (N, terms) of 0 and 1."""
        return logic_codes.which_terms(part, self._terms)

    def word(self, label: Any) -> str:
        """A class of a decoder in words."""
        return self._written(int(label))

    def hover(self, i: int) -> str:
        """The problem in words, with the model's answer."""
        said, right = self._answers[id(self.unseen)][i, 0, 0].item(), self.unseen.targets[i, 0].item()
        formula = self.task.formula(self.unseen.latents["terms"][i]).replace(" ∨ ", "<br>∨ ")
        return f"function {i}<br>{formula}<br>at the query {right:.2f}, the model says {said:.2f}"

    def show(self, i: int) -> str:
        """The problem as HTML: formula, examples, the model's answer."""
        said, right = self._answers[id(self.unseen)][i, 0, 0].item(), self.unseen.targets[i, 0].item()
        head = "".join(f"<th {CELL}>x{n + 1}</th>" for n in range(self.task.variables)) + f"<th {CELL}>f</th>"
        rows = [[f"{value:.2f}" for value in token] for token in self.unseen.inputs[i].tolist()]
        rows[-1][-1] = f"<b>{right:.2f}</b>"
        body = "".join(
            f"<tr>{''.join(f'<td {CELL}>{value}</td>' for value in row)}</tr>" for row in rows[-1:] + rows[:-1]
        )
        formula = self.task.formula(self.unseen.latents["terms"][i])
        return (
            f"<b>Function {i}</b>: {formula}<div>At the query (first line) it is {right:.2f}; the model says"
            f" {said:.2f}. Below: what the model is shown.</div><div style='max-height: 220px; overflow: auto'>"
            f"<table {TABLE}><tr>{head}</tr>{body}</table></div>"
        )

    @property
    def _terms(self) -> int:
        return 2**self.task.variables - self.task.reserved

    def _written(self, term: int) -> str:
        return logic_codes.written(term, self.task.variables)

    def _sample(self, split: str, count: int) -> Examples:
        return logic_codes.sample(self.run, split, count)


def problems_of(run: Run, count: int) -> Problems:
    """The problems of a run on one of these tasks."""
    kinds: dict[type, type[Problems]] = {Sraven: SravenProblems, Logic: LogicProblems}
    if type(run.spec.task) not in kinds:
        raise ArgumentError(
            f"{run.spec.task_name} has no latent codes to explore; give a run on sraven or logic, as"
            " lab.trained('sraven', 'hyla')"
        )
    return kinds[type(run.spec.task)](run, count)
