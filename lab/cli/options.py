"""What options of several commands share: the device, and how the help states a default."""

from __future__ import annotations

from typing import Annotated, Any

import tyro


def default(text: str, **more: Any) -> Any:
    """An annotation for an option whose default is better said in words than as a value (None, an empty tuple)."""
    return tyro.conf.arg(help_behavior_hint=f"(default: {text})", **more)


Device = Annotated[str, tyro.conf.arg(metavar="DEVICE", help="auto (a GPU if there is one), cpu or cuda.")]
Scale = Annotated[str, tyro.conf.arg(metavar="SCALE")]
