"""The values of a non-linearity that a search found."""

from typing import cast, overload

from lab.errors import ArgumentError
from lab.nonlinearity.part import reshape
from lab.spec import Knots, KnotTable, Learned, Part, Resolved, Shaped
from lab.store import Store


@overload
def resolve(part: Learned, store: Store) -> Knots | KnotTable: ...
@overload
def resolve(part: Part, store: Store) -> Resolved: ...
def resolve(part: Part, store: Store) -> Resolved:
    """A non-linearity with its values: what a search found is read from the store."""
    if isinstance(part, Shaped):
        base = resolve(part.of, store)
        return reshape(cast(Knots, base), part.shape, part.degree)  # others have no shape of their own
    if not isinstance(part, Learned):
        return part
    _, weights, _ = store.load(part.search)
    search = part.search
    if part.part not in weights:
        raise ArgumentError(f"this search found no {part.part!r}; it found {', '.join(weights)}")
    values = weights[part.part].tolist()
    if isinstance(values[0], list):  # one function an input dimension
        return KnotTable(search.low, search.high, tuple(map(tuple, values)))
    return Knots(search.low, search.high, tuple(values))
