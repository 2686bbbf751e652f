"""A map of latent codes as the page draws it, and the code of one of its points."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets
from plotly.colors import sequential

from lab.plots.latent_codes import in_order, look
from lab.widgets import modules
from lab.widgets.hosted import PageView, short


class LatentView(PageView):
    """The map and the code of the chosen point; what the traits hold is said in `page/latent.js`."""

    name, _esm = "latent", modules.widget("latent.js")

    points: traitlets.List = traitlets.List().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    colourings = traitlets.List(traitlets.Dict()).tag(sync=True)
    colour = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    a = traitlets.List(traitlets.Int()).tag(sync=True)
    b = traitlets.List(traitlets.Int()).tag(sync=True)
    codes: traitlets.List = traitlets.List().tag(sync=True)
    kinds = traitlets.List(traitlets.Unicode()).tag(sync=True)
    colours = traitlets.List(traitlets.Unicode(), list(sequential.Cividis)).tag(sync=True)


def colouring(name: str, values: np.ndarray) -> dict[str, Any]:
    """Labels with their looks, or numbers, as the page reads them."""
    if values.dtype.kind != "U":
        return {"name": name, "values": short(values)}
    labels = [str(label) for label in in_order(np.unique(values))]
    looks = {label: list(mark) for label, mark in look(labels).items()}
    return {"name": name, "labels": values.tolist(), "looks": looks}
