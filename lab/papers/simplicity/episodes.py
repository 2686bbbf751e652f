"""The search by episodes whose function a run was trained with."""

from __future__ import annotations

from lab.run import Run
from lab.search_results import EpisodeResult
from lab.spec import by_episodes, needs


def episode_result(run: Run) -> EpisodeResult:
    """What the first search that a run needs has found."""
    search = needs(run.spec)[0]
    assert by_episodes(search), f"run {run.key} has a function of a {type(search).__name__}"
    return EpisodeResult(search, run.store)
