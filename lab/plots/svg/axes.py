"""Axes of a picture: ranges, ticks and their labels, by Plotly's rules."""

import base64
from collections.abc import Mapping, Sequence
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np

MOST_TICKS = 1_000  # of an axis, as in Plotly


def merged(below: Mapping, above: Mapping) -> dict:
    """Settings over others, and theirs where they say nothing.

    >>> merged({"font": {"size": 12, "color": "red"}}, {"font": {"size": 10}})
    {'font': {'size': 10, 'color': 'red'}}
    """
    both = dict(below)
    for name, value in above.items():
        if isinstance(value, Mapping) and isinstance(both.get(name), Mapping):
            both[name] = merged(both[name], value)
        elif value is not None:
            both[name] = value
    return both


def numbers(values: Any) -> Any:
    """An array of what Plotly holds as base64, or as a list; None is NaN.

    >>> numbers([1, None]).tolist()
    [1.0, nan]
    """
    if isinstance(values, Mapping):
        flat = np.frombuffer(base64.b64decode(values["bdata"]), f"<{values['dtype']}")
        shape = [int(size) for size in str(values.get("shape", flat.size)).split(",")]
        return flat.reshape(shape).astype(float)
    if isinstance(values, (list, tuple)) and any(isinstance(one, str) for one in values):
        return np.asarray(values, dtype=object)  # "1" is a text, too
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.asarray(values, dtype=object)


class Axis:
    """An axis, which gives each value its place in px.

    Values are as the axis counts: logarithms, and the numbers of categories.
    """

    def __init__(
        self,
        along: str,
        said: Mapping,
        start: float,
        stop: float,
        traces: Sequence[Mapping],
        marks: Sequence[float] = (),
    ):
        self.along, self.said, self.start, self.stop = along, said, start, stop
        held = [t[along] for t in traces if t.get(along) is not None]
        texts = [one for one in (numbers(values) for values in held) if one.dtype == object]
        self.type = said.get("type", "-")
        self.type = ("category" if texts else "linear") if self.type not in ("linear", "log", "category") else self.type
        self.categories: list = []
        if self.type == "category":
            order = [*(said.get("categoryarray") or ()), *(one for values in held for one in np.ravel(numbers(values)))]
            self.categories = list(dict.fromkeys(str(one) for one in order))
        self.low, self.high = self._range(traces, marks)

    def values(self, given: Any) -> Any:
        """Numbers as the axis counts them."""
        array = numbers(given)
        if self.type == "category":
            places = {name: float(n) for n, name in enumerate(self.categories)}
            texts = array.dtype == object
            return np.array([places.get(str(one), np.nan if texts else float(one)) for one in np.ravel(array)])
        array = (
            np.array([one if isinstance(one, (int, float)) else np.nan for one in array], float)
            if array.dtype == object
            else array
        )
        if self.type == "log":
            with np.errstate(all="ignore"):
                return np.where(array > 0, np.log10(array), np.nan)
        return array

    def px(self, value: Any) -> Any:
        """The place of values that are counted as the axis counts."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1) * (self.stop - self.start)

    def _range(self, traces: Sequence[Mapping], marks: Sequence[float]) -> tuple[float, float]:
        said = list(self.said.get("range") or (None, None))
        low, high = self._of_data(traces, [*marks, *(one for one in said if one is not None)]) if None in said else said
        low, high = (end if end is not None else data for end, data in zip(said, (low, high), strict=True))
        if self.said.get("autorange") == "reversed" and low < high:
            low, high = high, low
        return float(low), float(high)

    def _of_data(self, traces: Sequence[Mapping], marks: Sequence[float]) -> tuple[float, float]:
        """From the lowest to the highest value; with room around points, and down to 0 where something stands on it.

        marks: further values that are to be seen, as the axis counts."""
        if self.type == "category":
            return -0.5, max(len(self.categories), 1) - 0.5
        tight, roomy = [np.asarray(marks, float)], [np.zeros(0)]
        for trace in traces:
            values, padded = self._extent(trace)
            (roomy if padded else tight).append(values)
        ends = [np.concatenate(parts) for parts in (tight, roomy)]
        exact, loose = (part[np.isfinite(part)] for part in ends)
        if self.said.get("rangemode") == "tozero":
            exact = np.append(exact, 0.0)
        both = np.concatenate([exact, loose])
        if not len(both) or both.min() == both.max():
            middle = float(both[0]) if len(both) else 0.0
            return middle - 1, middle + 1
        room = 0.055 * (both.max() - both.min())
        low = min([*exact, *(loose - room)])
        high = max([*exact, *(loose + room)])
        floored = self.said.get("rangemode") == "tozero" or any(trace["type"] == "bar" for trace in traces)
        return (0.0 if floored and both.min() == 0 else low), (0.0 if floored and both.max() == 0 else high)

    def _extent(self, trace: Mapping) -> tuple[Any, bool]:
        """The values of a trace that set the range, and whether there is to be room around them."""
        kind, other, of = trace["type"], "y" if self.along == "x" else "x", trace.get(self.along)
        if kind in ("heatmap", "contour"):
            size = np.shape(numbers(trace["z"]))[self.along == "x"]
            at = self.values(of) if of is not None else np.arange(size, dtype=float)
            half = 0.0 if kind == "contour" or len(at) != size else (abs(at[1] - at[0]) if len(at) > 1 else 1.0) / 2
            return np.array([min(at) - half, max(at) + half]), False
        if kind == "box" and self.along == "y":
            return np.concatenate([self.values(trace[name]) for name in ("lowerfence", "upperfence")]), True
        count = np.size(numbers(trace[other])) if of is None and trace.get(other) is not None else 0
        values = np.ravel(self.values(of if of is not None else np.arange(count)))
        upright = (trace.get("orientation") == "h") == (self.along == "x")
        if kind == "bar" and not upright:
            gaps = np.diff(np.unique(values))
            half = min(gaps) / 2 if len(gaps) else 0.5
            return np.concatenate([values - half, values + half]), False
        bars = trace.get(f"error_{self.along}") or {}
        if bars.get("array") is not None and len(values):
            more = numbers(bars["array"])
            less = numbers(bars["arrayminus"]) if bars.get("arrayminus") is not None else more
            plain = 10.0**values if self.type == "log" else values
            ends = [plain + more, plain - less]
            values = np.concatenate([values, *(self.values(end) if self.type == "log" else end for end in ends)])
        filled = trace.get("fill") in ("tozeroy", "tonexty")
        if (kind == "bar" or (trace.get("fill") == "tozeroy" and self.along == "y")) and self.type != "log":
            base = 0.0 if trace.get("base") is None else numbers(trace["base"])
            values = np.append(values + base, base)
        line = not any(word in trace.get("mode", "lines") for word in ("markers", "text"))
        return values, self.along == "y" or not (line or filled) or bool(trace.get("error_y"))

    def keep_square(self, other: "Axis") -> None:
        """A unit of this axis is as long as one of the other; the longer gives way."""
        ratio = self.said.get("scaleratio", 1)
        one, two = (abs((axis.stop - axis.start) / ((axis.high - axis.low) or 1)) for axis in (self, other))
        longer, factor = (self, two * ratio / one) if one > two * ratio else (other, one / (two * ratio))
        room = (longer.stop - longer.start) * (1 - factor)
        toward = longer.said.get("constraintoward", "center" if longer.along == "x" else "middle")
        share = {"left": 0, "bottom": 0, "right": 1, "top": 1}.get(toward, 0.5)
        longer.start, longer.stop = longer.start + share * room, longer.stop - (1 - share) * room

    def ticks(self) -> list[tuple[float, str]]:
        """Places, as the axis counts, and texts."""
        low, high = sorted((self.low, self.high))
        edge = 1e-6 * (high - low)
        if self.said.get("tickvals") is not None:
            given = numbers(self.said["tickvals"])
            texts = self.said.get("ticktext")
            texts = [self._label(float(one), 0) for one in given] if texts is None else [str(text) for text in texts]
            ticks = list(zip(self.values(given).tolist(), texts, strict=False))
        elif self.type == "category":
            ticks = [(float(n), name) for n, name in enumerate(self.categories)]
        else:
            length = abs(self.stop - self.start)
            count = self.said.get("nticks") or min(max(length / (80 if self.along == "x" else 40), 4), 9) + 1
            ticks = self._log_ticks(low, high, count) if self.type == "log" else self._linear_ticks(low, high, count)
        return [(value, text) for value, text in ticks if low - edge <= value <= high + edge]

    def _linear_ticks(self, low: float, high: float, count: float) -> list[tuple[float, str]]:
        step = self.said.get("dtick")
        if not step or (high - low) / step > MOST_TICKS:
            step = _nice((high - low) / count)
        first = self.said.get("tick0", 0)
        places = [
            first + n * step for n in range(ceil((low - first) / step - 1e-6), floor((high - first) / step + 1e-6) + 1)
        ]
        return [(place, self._label(place, max(abs(low), abs(high)), step)) for place in places]

    def _log_ticks(self, low: float, high: float, count: float) -> list[tuple[float, str]]:
        rough = (high - low) / count
        powers = range(floor(low), ceil(high) + 1)
        step = self.said.get("dtick") if isinstance(self.said.get("dtick"), (int, float)) else None
        if step or rough > 0.7:
            step = step or ceil(rough)
            return [(float(one), self._label(10.0**one, 0)) for one in powers if one % step == 0]
        if high - low < 1:
            step = _nice((10**high - 10**low) / count)
            places = [n * step for n in range(max(1, ceil(10**low / step)), floor(10**high / step) + 1)]
            return [(log10(place), self._label(place, 10**high, step)) for place in places]
        digits = (1, 2, 5) if rough > 0.3 else range(1, 10)
        return [
            (one + log10(digit), self._label(10.0**one, 0) if digit == 1 else str(digit) if digit in (2, 5) else "")
            for one in powers
            for digit in digits
        ]

    def _label(self, value: float, largest: float, step: float = 0.0) -> str:
        form, after, before = (self.said.get(name) or "" for name in ("tickformat", "ticksuffix", "tickprefix"))
        if form:
            return f"{before}{format(value, ',.12g' if form == ',' else form)}{after}".replace("-", "−")
        power = floor(log10(largest or abs(value) or 1) + 0.01)
        if self.said.get("exponentformat") == "power" and self.type == "log" and not 1 <= value <= 10:
            return f"{before}10<sup>{round(log10(value))}</sup>{after}".replace("-", "−")
        if abs(power) >= 15:
            return f"{before}{value:.3g}{after}".replace("-", "−")
        unit, word = 1.0, ""
        if abs(power) > 3:
            thousands = round((power - 1) / 3) if power > 0 else floor(power / 3)
            unit, word = (
                1000.0**thousands,
                "fpnµmkMBT"[thousands + 5 if thousands < 0 else thousands + 4] if thousands else "",
            )
        digits = max(0, 2 - floor(log10(step / unit) + 0.01)) if step else 6
        text = f"{value / unit:.{min(digits, 10)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        text = "0" if text in ("-0", "0") else text + word
        return f"{before}{text}{after}".replace("-", "−")


def _nice(rough: float) -> float:
    """The next of 2, 5, 10 times a power of ten."""
    if not rough > 0 or not isfinite(rough):
        return 1.0
    base = 10.0 ** floor(log10(rough))
    return next(by * base for by in (2, 5, 10) if rough < by * base * (1 - 1e-9) or by == 10)
