"""What is explored as Python, so that copied code runs as far as it can be known."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any


def python_of(
    x: Any, scale: str | None = None, edit: bool = False, inputs: object = None, targets: object = None
) -> str:
    """The arguments of `lab.explore` as Python. What only the caller can name is called x, X and y.

    >>> python_of("memorize", "smoke")
    "'memorize', scale='smoke'"
    """
    parts = [_named(x)]
    parts += [f"scale={scale!r}"] if scale is not None else []
    parts += ["edit=True"] if edit else []
    parts += ["inputs=X"] if inputs is not None else []
    parts += ["targets=y"] if targets is not None else []
    return ", ".join(parts)


def _named(x: Any) -> str:
    from lab.catalogue.figure import Figure
    from lab.nonlinearity.spline import Spline
    from lab.tasks import Task

    if isinstance(x, str):
        return repr(x)
    if isinstance(x, Figure):
        return f"lab.figure({x.name!r}, scale={x.scale!r})"
    if isinstance(x, Spline) and x.values.ndim == 1:
        numbers = ", ".join(f"{value:.9g}" for value in x.values.tolist())
        return f"lab.Spline([{numbers}], low={x.low!r}, high={x.high!r})"
    if is_dataclass(x) and type(x).__module__.startswith("lab.tasks") and not isinstance(x, Task):
        return f"lab.tasks.{x!r}"
    return "x"
