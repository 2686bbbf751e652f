"""What entries train."""

from lab.catalogue.registry import entry
from lab.run import Run
from lab.store import Store


def planned(name, scale="smoke", seeds=None):
    """(labels, spec) of a figure's runs, by default with as many seeds as it has at this scale."""
    found = entry(name)
    return found.plan(scale, seeds or found.seeds[scale])


def planned_runs(name, seeds=None, **labels):
    """(labels, run) of a figure at smoke scale, of those that have these labels."""
    plan = [(every, Run(spec, Store())) for every, spec in planned(name, seeds=seeds)]
    return [(every, run) for every, run in plan if labels.items() <= every.items()]
