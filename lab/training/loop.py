"""The training loop, the same for every task and model."""

from __future__ import annotations

from collections.abc import Callable

from lab.training.fleet import Fleet
from lab.training.steps import losses_of


def train(fleet: Fleet, report: Callable[[Fleet], bool] | None = None) -> Fleet:
    """Train a fleet from where it stands to the last step of its recipe.

    report: called after every step; training stops there when it returns False, and can be taken up again.
    """
    recipe, optimizer, losses = fleet.recipe, fleet.optimizer, losses_of(fleet)
    while fleet.step < recipe.last:
        step = fleet.step
        fleet.set_rates(step)
        loss = losses(fleet.batch(step))  # (R,)
        total = fleet.watch(loss, step)  # a run whose loss is not finite is left out from here on
        optimizer.zero_grad()
        total.backward()
        fleet.freeze()
        optimizer.step()

        fleet.note_step(loss)
        if fleet.step % recipe.every == 0 or fleet.step == recipe.last:
            fleet.measure()
            if not fleet.living.any():
                fleet.skip()
        if report is not None and not report(fleet):
            break
    return fleet
