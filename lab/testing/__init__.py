"""Laws of a store for tests: any order of what two processes do, each of which may be killed at any call.

`StoreMachine` is a state machine of hypothesis (`pip install hypothesis`, which the lab itself does not need):

    class TestStore(StoreMachine.TestCase): ...

holds `lab.store.Store` to a model of a few lines. To hold another store to it, derive a machine whose `make_store`
gives it. `python -m lab.testing --minutes 10` looks for longer.
"""

from lab.testing.calls import FileCalls, Killed
from lab.testing.machine import FLEETS, SETTINGS, SPECS, Expected, StoreMachine

__all__ = ["FLEETS", "SETTINGS", "SPECS", "Expected", "FileCalls", "Killed", "StoreMachine"]
