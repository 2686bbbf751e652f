"""A map of latent codes as the page draws it, and the code of one of its points."""

from __future__ import annotations

import traitlets
from plotly.colors import sequential

from lab.widgets import modules
from lab.widgets.hosted import PageView


class LatentView(PageView):
    """The map and the code of the chosen point; what the traits hold is said in `page/latent.js`."""

    name, _esm = "latent", modules.source("latent.js")

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
