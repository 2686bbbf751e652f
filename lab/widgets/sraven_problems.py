"""Problems of SRAVEN for explorers of latent codes: their rules, and panels as pictures."""

from __future__ import annotations

import html
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from lab.plots.sraven import draw, rule_words
from lab.tasks.sraven import COLUMNS, RULES
from lab.tasks.stream import Examples
from lab.widgets.problems import Problems


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
