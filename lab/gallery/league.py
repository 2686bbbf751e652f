"""The page of the league: one row a function, with its drawing, which can be sorted by what it costs and gains."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from lab.catalogue.league import ENTRY, league, standing, yours
from lab.catalogue.registry import entry
from lab.catalogue.shipped import resolve_scale, shipped_results
from lab.gallery import pages
from lab.nonlinearity.functions import scalars
from lab.nonlinearity.part import as_module
from lab.plots.caption import bounds, signed
from lab.probes.profile import Profile
from lab.tasks.named import task_title


def page() -> str:
    """The league as it was shipped, with those of the user's own functions that are trained where the zoo has them."""
    mine, here = yours(), shipped_results(ENTRY, resolve_scale(entry(ENTRY)))
    if mine:
        table = standing(mine=True, progress=False, train=False).table
    else:
        table = here.table("table") if here.facts else pd.DataFrame()
    ranks = league.ranking(table) if len(table) else pd.DataFrame({"task": [], "function": []})
    parts = {name: name for name in scalars()} | {name: part for name, (part, _) in mine.items()}
    rows = [_row(str(name), rows, parts.get(str(name))) for name, rows in ranks.groupby("function", sort=False)]
    if len(ranks):  # what diverged at every rate is the last of its task
        places = ranks.groupby("task")["gain"].rank(ascending=False, na_option="bottom")
        for row in rows:
            row["rank"] = float(places[ranks["function"] == row["name"]].mean())
    tasks = {task: task_title(str(task).removesuffix("_sample")) for task in dict.fromkeys(ranks["task"])}
    return pages.page("league.html", "The league", rows=sorted(rows, key=lambda row: row["rank"]), tasks=tasks)


def _row(name: str, rows: pd.DataFrame, part: Any) -> dict[str, Any]:
    """A function: its drawing, None where it is another one on each task; what it costs, and its gain by task."""
    gains = {
        one.task: {"value": one.gain, "words": "best fixed" if name == one.over else _interval(one)}
        for one in rows.itertuples()
        if np.isfinite(one.gain)
    }
    drawing = None if part is None else pages.points(_profile(part))
    return {"name": name, "points": drawing, "cost": float(rows["cost"].iloc[0]), "gains": gains}


def _interval(one: Any) -> str:
    known = np.isfinite(one.low) and np.isfinite(one.high)
    return signed(one.gain) + (f" {bounds(one.low, one.high)}" if known else "")


def _profile(part: Any) -> Profile:
    x = np.linspace(-league.REACH, league.REACH, 121)
    with torch.no_grad():
        y = as_module(part)(torch.from_numpy(x).float()).double().numpy()
    return Profile(x, y, np.diff(y) / np.diff(x), constant=False)
