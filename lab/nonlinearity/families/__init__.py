"""Named functions by families, one file each. Whatever file stands here is read by `lab.nonlinearity.functions`."""

from importlib import import_module
from pkgutil import iter_modules

from lab.nonlinearity.table import TABLE

FIRST = ("lab.nonlinearity.families.of_torch", "lab.nonlinearity.learnable")  # the latter has the activations paper's


def read() -> None:
    """Read every file of this package; the table is in their order, torch's functions first."""
    names = [*FIRST, *(f"{__name__}.{module.name}" for module in iter_modules(__path__))]
    for name in names:
        import_module(name)
    places = {
        name: names.index(row.make.__module__) if row.make.__module__ in names else 0 for name, row in TABLE.items()
    }
    for name in sorted(TABLE, key=lambda name: places[name]):
        TABLE[name] = TABLE.pop(name)
