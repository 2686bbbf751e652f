"""The comparison of drawings: rounding passes, and nothing else does."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.drawings import differences

Z = np.array([[0.3, -1.7, np.nan], [1e-17, 2.5, np.inf]])


def drawing(z=Z, x=(0.1, 0.2, 0.3), zmax=2.5, count=(3, 5), text=("a", "b"), name="loss"):
    """A document with a packed array, a list, numbers, whole numbers and words."""
    heatmap = go.Heatmap(z=z, x=list(x), zmax=zmax, name=name)
    return json.loads(go.Figure([heatmap, go.Bar(y=np.array(count), text=list(text))]).to_json())["data"]


def turned(numbers):
    """The same numbers, each with its last bit turned."""
    return np.where(np.isfinite(numbers), np.nextafter(numbers, numbers.dtype.type(9)), numbers)


def test_rounding_is_no_difference():
    assert "bdata" in drawing()[0]["z"], "Plotly packs arrays"
    made = drawing(turned(Z), turned(np.array([0.1, 0.2, 0.3])).tolist(), float(turned(np.array(2.5))))
    assert made != drawing() and differences(made, drawing()) == []
    cancelled = drawing(np.where(Z == 1e-17, -1e-17, Z))
    assert cancelled != drawing() and differences(cancelled, drawing()) == []
    single = Z.astype(np.float32)
    assert drawing(turned(single)) != drawing(single) and differences(drawing(turned(single)), drawing(single)) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"z": Z * (1 + 1e-6)}, "[0].z[0]"),
        ({"z": np.nan_to_num(Z, nan=0.0, posinf=np.inf)}, "[0].z[2]"),
        ({"z": np.nan_to_num(Z, nan=np.nan, posinf=2.5)}, "[0].z[5]"),
        ({"z": Z.T}, "[0].z"),
        ({"z": Z.astype(np.float32)}, "[0].z"),
        ({"x": (0.1, 0.2 + 1e-6, 0.3)}, "[0].x[1]"),
        ({"x": (0.1, 0.2)}, "[0].x"),
        ({"zmax": 2.5 + 1e-6}, "[0].zmax"),
        ({"count": (3, 6)}, "[1].y[1]"),
        ({"text": ("a", "c")}, "[1].text[1]"),
        ({"name": None}, "[0]"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_anything_else_is(change, place):
    found = differences(drawing(**change), drawing())
    assert [where.partition(":")[0] for where in found] == [place], found


def test_a_trace_more_or_less_is_a_difference():
    assert differences(drawing()[:1], drawing()) == [": 1 values, not 2"]
