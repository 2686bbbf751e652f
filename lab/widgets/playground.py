"""Playground: a small network that learns in the page with a chosen or drawn function, and one with ReLU next to it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.plots.page import THEME
from lab.probes.profile import profile
from lab.widgets import modules
from lab.widgets.function_view import described

LEARNED, TITLE = "simplicity/addition-27", "the learned function"
WORDS = (
    "<p>Two small networks race here, one with ReLU and one with another function. They need scripts: run this cell,"
    " or trust the notebook.</p>"
)


class Playground:
    """Press play: two perceptrons with the same initial weights learn in the page, without the kernel; so they still do
    in a saved notebook that has none, and in one that was exported as HTML.

    functions: by name, offered before the learned function for addition modulo 27, a sine, TanH and GELU; the first of
    them begins.

    >>> import torch
    >>> Playground({"a hat": Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)}).functions[0]["name"]
    'a hat'
    """

    def __init__(self, functions: Mapping[str, Spline] | None = None):
        self.functions = offered(functions)
        self._chosen = next(iter(functions), None) if functions else None

    def __repr__(self) -> str:
        return "Playground: a notebook shows it"

    def _repr_html_(self) -> str:
        state = {"functions": self.functions, "chosen": self._chosen, "autoplay": False}
        return f"<style>{THEME}</style>{modules.part('playground.js', state, f'lab-{uuid4().hex}', WORDS)}"


def offered(functions: Mapping[str, Spline] | None = None) -> list[dict]:
    """Functions as the page reads them: those given, and the learned one that is shipped."""
    learned = {LEARNED: zoo(LEARNED)} if LEARNED in zoo_names() else {}
    descriptions = [described(name, profile(phi)) for name, phi in {**(functions or {}), **learned}.items()]
    return [one | {"title": TITLE} if one["name"] == LEARNED else one for one in descriptions]
