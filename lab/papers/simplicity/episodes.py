"""Searches by episodes: the one whose function a run was trained with, and what provenance says of any."""

from __future__ import annotations

from lab.run import Run
from lab.search_results import EpisodeResult
from lab.spec import EpisodeSpec, by_episodes, needs


def episode_result(run: Run) -> EpisodeResult:
    """What the first search that a run needs has found."""
    search = needs(run.spec)[0]
    assert by_episodes(search), f"run {run.key} has a function of a {type(search).__name__}"
    return EpisodeResult(search, run.store)


def numbers_of(search: EpisodeSpec) -> dict[str, object]:
    """The settings of a search's restarts by name, each with all of its values."""
    values = {
        name: sorted({getattr(restart, name) for restart in search.restarts})
        for name in ("rate", "knots", "window", "start")
    }
    return {
        "search: episodes": search.episodes,
        "search: restarts": len(search.restarts),
        "search: rates of knots": values["rate"],
        "search: numbers of knots": values["knots"],
        "search: inner steps differentiated": values["window"],
        "search: starts": values["start"],
        "search: range of knots": [search.low, search.high],
    }
