"""What the controls of an explorer are set to, as a small dictionary that JSON can hold, and back again."""

from collections.abc import Mapping
from math import inf
from typing import Any

import ipywidgets as widgets
from ipywidgets.widgets.widget_selection import _MultipleSelection, _Selection
from traitlets import TraitError

from lab.errors import ArgumentError, check_flag, check_number, check_whole, listed, shown

PLAIN = (str, int, float, bool, type(None))
TELLING = (widgets.HTML, widgets.Label, widgets.FloatProgress, widgets.IntProgress)  # nobody sets them


def controls_of(owner: object) -> dict[str, Any]:
    """What can be set, by the names of its public attributes: controls, lists of them, mappings to them."""
    return {
        name: control
        for name, control in vars(owner).items()
        if name[0] != "_" and name != "children" and _sets(control)
    }


def read(control: Any) -> Any:
    """The value of a control, or of all of a list or a mapping, as JSON has it; an option that is no number and no
    text is named by its label."""
    if isinstance(control, Mapping):
        return {str(name): read(one) for name, one in control.items()}
    if isinstance(control, (list, tuple)):
        return [read(one) for one in control]
    if isinstance(control, _MultipleSelection):
        return [_options(control)[index] for index in control.index]
    if isinstance(control, _Selection):
        return None if control.index is None else _options(control)[control.index]
    return list(control.value) if isinstance(control.value, (list, tuple)) else control.value


def put(name: str, control: Any, value: Any) -> None:
    """Set a control as `read` said it. Raises ArgumentError for a value that it cannot have."""
    if isinstance(control, Mapping):
        if not isinstance(value, Mapping) or set(value) - {str(one) for one in control}:
            raise ArgumentError(
                f"state: {name}={shown(value)}; give values by name, of {listed(list(map(str, control)))}"
            )
        for key, one in control.items():
            if str(key) in value:
                put(f"{name}[{str(key)!r}]", one, value[str(key)])
    elif isinstance(control, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(control):
            raise ArgumentError(f"state: {name}={shown(value)}; give a list of {len(control)} values")
        for number, (one, wanted) in enumerate(zip(control, value, strict=True)):
            put(f"{name}[{number}]", one, wanted)
    elif isinstance(control, _MultipleSelection):
        if not isinstance(value, (list, tuple)):
            raise ArgumentError(f"state: {name}={shown(value)}; give a list of options")
        control.index = tuple(_place(name, control, one) for one in value)
    elif isinstance(control, _Selection):
        index = None if value is None and not control.options else _place(name, control, value)
        if index != control.index:
            control.index = index
    else:
        try:
            control.value = _fitting(name, control, value)
        except TraitError as error:
            raise ArgumentError(
                f"state: {name}={shown(value)}; give what {name} is now: {shown(read(control))}"
            ) from error


def _sets(value: Any) -> bool:
    if isinstance(value, (Mapping, list, tuple)):
        return bool(value) and all(map(_sets, value.values() if isinstance(value, Mapping) else value))
    if not isinstance(value, widgets.DOMWidget) or isinstance(value, TELLING) or not value.has_trait("value"):
        return False
    return not isinstance(value.value, bytes)  # a picture, or a curve


def _options(control: Any) -> list:
    """The options of a menu, as JSON has them."""
    pairs = zip(control._options_labels, control._options_values, strict=True)
    return [value if isinstance(value, PLAIN) else label for label, value in pairs]


def _place(name: str, control: Any, value: Any) -> int:
    """Where an option stands."""
    options = _options(control)
    for number, option in enumerate(options):
        alike = type(option) is type(value) or isinstance(option, (int, float)) and isinstance(value, (int, float))
        if alike and option == value:
            return number
    raise ArgumentError(f"state: {name}={shown(value)}; give one of {listed(list(map(repr, options)), repr(value))}")


def _fitting(name: str, control: Any, value: Any) -> Any:
    """The value, if the control can have it: a slider would move it to its end without a word."""
    now = control.value
    if isinstance(now, bool):
        return check_flag(f"state: {name}", value)
    least: Any = getattr(control, "min", None)
    most: Any = getattr(control, "max", None)
    bounded = least is not None and most is not None
    if isinstance(now, int) and bounded:
        return check_whole(f"state: {name}", value, least, most)
    if isinstance(now, float):
        return check_number(f"state: {name}", value, *((least, most) if bounded else (-inf, inf)))
    if type(value) is not type(now):
        raise ArgumentError(f"state: {name}={shown(value)}; give a {type(now).__name__}")
    return value
