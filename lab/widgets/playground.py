"""Playground: a small network that learns in the page with a chosen or drawn function, and one with ReLU next to it."""

from __future__ import annotations

from collections.abc import Mapping

import anywidget
import traitlets

from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.probes.profile import profile
from lab.widgets import modules
from lab.widgets.function_view import described

LEARNED, TITLE = "simplicity/addition-27", "the learned function"


class Playground(anywidget.AnyWidget):
    """Press play: two perceptrons with the same initial weights learn in the page, without the kernel.

    functions: by name, offered before the learned function for addition modulo 27, a sine, TanH and GELU.

    >>> import torch
    >>> Playground({"a hat": Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)}).functions[0]["name"]
    'a hat'
    """

    _esm = modules.widget("playground.js")

    functions = traitlets.List(traitlets.Dict()).tag(sync=True)
    autoplay = traitlets.Bool(False).tag(sync=True)

    def __init__(self, functions: Mapping[str, Spline] | None = None):
        super().__init__(functions=offered(functions))


def offered(functions: Mapping[str, Spline] | None = None) -> list[dict]:
    """Functions as the page reads them: those given, and the learned one that is shipped."""
    learned = {LEARNED: zoo(LEARNED)} if LEARNED in zoo_names() else {}
    descriptions = [described(name, profile(phi)) for name, phi in {**(functions or {}), **learned}.items()]
    return [one | {"title": TITLE} if one["name"] == LEARNED else one for one in descriptions]
