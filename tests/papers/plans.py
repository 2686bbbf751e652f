"""What entries train."""

from lab.catalogue.registry import entry


def planned(name, scale="smoke", seeds=None):
    """(labels, spec) of a figure's runs, by default with as many seeds as it has at this scale."""
    found = entry(name)
    return found.plan(scale, seeds or found.seeds[scale])
