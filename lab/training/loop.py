"""The training loop: stage II and baselines (transformers paper, App. B)."""

from __future__ import annotations

from collections.abc import Callable

from lab.training.fleet import Fleet
from lab.training.schedules import factor


def train(fleet: Fleet, report: Callable[[Fleet], bool] | None = None) -> Fleet:
    """Train a fleet from where it stands to the last step of its recipe.

    report: called after every step; training stops there when it returns False, and can be taken up again.
    """
    recipe, model, optimizer = fleet.recipe, fleet.model, fleet.optimizer
    for step in range(fleet.step, recipe.last):
        optimizer.param_groups[0]["lr"] = recipe.rate * factor(step, recipe)
        batch = fleet.batch(step)
        logits = model(batch.tokens, batch.positions)  # (R, B, K, V)
        loss = batch.loss(logits)  # (R,)
        total = fleet.watch(loss, step)  # a run whose loss is not finite is left out from here on
        optimizer.zero_grad()
        total.backward()
        fleet.freeze()
        optimizer.step()

        fleet.history.add(loss)
        fleet.step = step + 1
        if fleet.step % recipe.every == 0 or fleet.step == recipe.last:
            fleet.history.close(fleet.step, {split: fleet.accuracy(split) for split in fleet.evaluation})
        if report is not None and not report(fleet):
            break
    return fleet
