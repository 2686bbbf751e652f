"""ModelExplorer: a user's model is looked at with examples in every form that `lab.Data` reads."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import lab
from lab.models.mlp import MLP
from lab.widgets.model import FEW, TARGETS, examples_of
from tests.training import own

X, LABELS = own.NUMBERS[:60], np.arange(60) % 2
NAMES = np.array(["cat", "dog"])[LABELS]


def surface(inputs, targets=None):
    """The losses around the weights of one model, as the explorer draws them."""
    explorer = lab.explore(own.seeded(own.mlp, 0), inputs=inputs, targets=targets)
    explorer.view.value = "landscape"
    assert explorer.error.value == "", explorer.error.value
    return np.asarray(explorer._place.children[0].data[0].z)


FRAME = pd.DataFrame(X, columns=list("abcdef"))


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [
        (FRAME, LABELS),
        (FRAME.astype("Float64"), pd.Series(LABELS, index=np.arange(60)[::-1])),
        (X.tolist(), LABELS.tolist()),
        (X, NAMES),
        (X, pd.Series(NAMES)),
        (X, pd.Series(NAMES, dtype="category")),
        (torch.from_numpy(X), LABELS == 1),
        (X, LABELS.astype(np.uint8)),
        (lab.Data.from_arrays(X, NAMES), None),
        (lab.Data.from_arrays(FRAME, LABELS), None),
    ],
)
def test_examples_are_what_they_are_in_every_form(inputs, targets):
    assert np.allclose(surface(inputs, targets), surface(X, LABELS), rtol=1e-5)


def test_bytes_are_numbers_from_0_to_1():
    raw = (40 * np.abs(X)).astype(np.uint8)
    assert np.allclose(surface(raw, LABELS), surface(raw / 255.0, LABELS), rtol=1e-5)
    explorer = lab.explore(own.seeded(own.mlp, 0), inputs=raw)
    assert "bytes were divided by 255" in explorer.status.value and "slice" in explorer.view.options


def test_a_data_set_is_measured_by_its_loss():
    data = lab.Data.from_arrays(X, X[:, :2], loss="mae")
    model = own.seeded(own.mlp, 0)
    with torch.no_grad():
        expected = float((model(data.inputs) - data.targets).abs().mean())
    middle = surface(data)
    assert np.isclose(middle[7, 7], expected, rtol=1e-4)


class Masked(nn.Module):
    """Reads several inputs, one of which is a mask that it indexes with."""

    def __init__(self):
        super().__init__()
        self.act, self.out = nn.ReLU(), nn.Linear(6, 2)

    def forward(self, x, mask):
        return self.out(self.act(x.masked_fill(mask, 0.0)))


def test_several_inputs_keep_their_masks():
    explorer = lab.explore(Masked(), inputs={"x": FRAME, "mask": X > 1}, targets=NAMES)
    assert explorer.view.options == ("landscape", "inputs of activations") and explorer.error.value == ""


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (X, np.resize(["cat", "dog", "emu"], 60), "3 different words.*2 outputs.*from 0 to 1"),
        (X, LABELS[:50], "60 inputs and 50 targets"),
        (FRAME.assign(town="Oslo"), LABELS, "inputs holds words.*lab.Data.read"),
        (np.where(X > 1, np.nan, X), LABELS, "inputs has .* NaN .*drop these rows"),
        (X[:, 0], LABELS, r"shape \(60,\)"),
        ({"x": X, "mask": X[:3]}, LABELS, "3, 60 examples"),
        (lab.Data.from_arrays(X, LABELS, name="mine"), LABELS, "'mine' have targets"),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_of_the_call(inputs, targets, message):
    with pytest.raises(lab.ArgumentError, match=message):
        lab.explore(own.seeded(own.mlp, 0), inputs=inputs, targets=targets)


def test_examples_without_their_name_are_no_scale():
    with pytest.raises(lab.ArgumentError, match="by name.*inputs=X"):
        lab.explore(own.seeded(own.mlp, 0), X)


def test_the_path_between_two_models_is_walked(tmp_path):
    ends = [[MLP((2, 4, 1), [pair + 2 * end], nn.GELU()) for pair in (0, 1)] for end in (0, 1)]
    x = torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    measures = {"loss": lab.probes.Loss(x, x[:, 0]), "<size>": lambda m: sum(p.square().sum() for p in m.parameters())}
    path = lab.probes.connectivity(*ends, measures, points=5)
    explorer = lab.explore(path)
    for number, (name, share) in enumerate(explorer.along.options):
        explorer.along.value = share
        said = explorer.status.value
        assert f"{name} of the way from a to b, mean over 2 pairs" in said and not explorer.error.value
        for values in (path.values, path.matched):
            loss, size = (each[:, number].mean() for each in values.values())
            assert f"loss {loss:.4g}, &lt;size&gt; {size:.4g}" in said
        (figure,) = explorer._place.children
        assert {line.x0 for line in figure.layout.shapes} == {share}
    state = explorer.content().state
    assert state["controls"][0]["kind"] == "range" and len(state["frames"]) == 5 and state["frame"] == 4
    assert "&lt;size&gt;" in state["frames"][2][1]["html"] and "0.5 of the way" in state["frames"][2][1]["html"]
    assert type(lab.explore({"one": path, "two": path})).__name__ == "PairExplorer"


def test_examples_are_of_all_classes_where_data_are_sorted_by_them():
    rows, labels = torch.randn(1200, 4, generator=torch.Generator().manual_seed(0)), torch.arange(1200) // 600
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    assert lab.explore(model, inputs=rows, targets=labels).view.value == "total variation"
    assert lab.explore(model, inputs=rows[:9], targets=labels[:9]).view.value == "total variation", "one class"
    assert lab.explore(model, inputs=rows[:1], targets=[1]).view.options == ("landscape", "inputs of activations")
    spread = examples_of(lab.Data.from_arrays(rows.numpy(), labels.numpy()))
    assert len(spread) == FEW and spread.targets.float().mean() == 0.5


def test_a_column_may_have_the_name_of_the_targets():
    frame = pd.DataFrame({TARGETS: np.arange(90.0), "y": np.arange(90) % 3})
    explorer = lab.explore(lab.Data.read(frame, target="y"))
    explorer.column.index = 1
    assert min(explorer._place.children[0].data[0].x) < -1, "standardized"


def test_a_run_that_diverged_is_no_model_to_look_at():
    data = lab.Data.from_arrays(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2, name="two")
    kept, died = (lab.train(data, steps=9, seeds=1, width=8, rate=r, keep=3, progress=False) for r in (0.01, 1e30))
    with pytest.raises(lab.ArgumentError, match="died diverged at step 1; leave it out"):
        lab.explore({"kept": kept, "died": died})
