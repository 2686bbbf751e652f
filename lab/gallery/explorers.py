"""Pages of explorers that need no kernel: of figures, of the map of codes, of a landscape, all from what is shipped."""

import ipywidgets as widgets
import numpy as np
import pandas as pd

from lab.api import trained
from lab.catalogue.figure import Figure
from lab.catalogue.shipped import shipped_results
from lab.places import SHIPPED
from lab.plots import go
from lab.store import Store
from lab.widgets import explore
from lab.widgets.explorer import check, menu
from lab.widgets.landscape import STEPS, LandscapeView
from lab.widgets.latent import LatentExplorer
from lab.widgets.pages import short, view_content

FIGURES = ("transformers/fig5", "transformers/fig6", "transformers/fig11")  # whose explorers need no kernel
CODES, PROBLEMS = "hypernetwork/codes", 200  # the map of latent codes, and how many there are on it
AROUND, METHOD = "simplicity/fig7", "TanH"  # the figure and the method whose first network a landscape is around
LANDSCAPE = f"{AROUND}_landscape"


def explorers(scales: dict[str, str]) -> dict[str, str]:
    """Pages by what they explore; scales: of the figures whose results are here."""
    made = {name: _figure(name, scales[name]) for name in FIGURES if name in scales}  # not drawn for it
    if (SHIPPED / "runs").is_dir():
        codes = LatentExplorer(trained("sraven", "hyla", store=Store(SHIPPED), progress=False), PROBLEMS)
        codes.source = lambda: 'lab.trained("sraven", "hyla")'
        made[CODES] = codes.page()
    if AROUND in scales:
        made[LANDSCAPE] = _landscape(shipped_results(AROUND, scales[AROUND]).table("table"))
    return made


def _figure(name: str, scale: str) -> str:
    here = shipped_results(name, scale)
    tables = {kind: here.table(kind) for kind in here.files}
    return explore(Figure(go.Figure(), tables.pop("table"), here.facts, "", name, scale, extras=tables)).page()


def _landscape(table: pd.DataFrame) -> str:
    """Loss and complexity around the network, from the points of the figure's table."""
    rows = table[(table["method"] == METHOD) & (table["seed"] == 0)]
    parts = {part: some for part, some in rows.groupby("part")}
    grids = {name: parts[name].pivot(index="y", columns="x", values="value") for name in ("loss", "complexity")}
    x, y = (np.array(axis, float) for axis in (grids["loss"].columns, grids["loss"].index))
    way = parts["way"].sort_values("number")[["x", "y"]].to_numpy()
    land = {"x": x.tolist(), "y": y.tolist(), "trajectory": way.tolist(), "steps": [], "axes": ["PC 1", "PC 2"]}
    land["values"] = {name: [short(row) for row in grid.to_numpy()] for name, grid in grids.items()}
    view, names = LandscapeView(land=land), list(grids)
    at = {
        trait: widgets.FloatSlider(0.0, min=axis[0], max=axis[-1], step=np.ptp(axis) / STEPS, description=trait[1])
        for trait, axis in (("px", x), ("py", y))
    }
    view.follow(left=menu("left", names), right=menu("right", names, names[-1]), logarithm=check("log", False), **at)
    across, up = (grid.ravel().tolist() for grid in np.meshgrid(x, y))
    numbers = {"x": across, "y": up} | {name: short(grid.to_numpy().ravel()) for name, grid in grids.items()}
    words = f"<p>Of a network of {AROUND} with {METHOD}, on {rows['table'].iloc[0]}, with the way of its training.</p>"
    code = f'lab.figure("{AROUND}").table'
    return view_content("Landscape: loss, complexity", view, code, words, numbers).page()
