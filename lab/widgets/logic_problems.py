"""Problems of fuzzy logic for explorers of latent codes: their terms, formulas and examples."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lab.papers.hypernetwork import logic_codes
from lab.tasks.stream import Examples
from lab.widgets.problems import CELL, TABLE, Problems


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
