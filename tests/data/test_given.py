"""What is asked of data is done, or refused in one line; nothing is taken and then left aside."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import metrics
from torch import nn
from torch.nn import functional as F

import lab
from lab.data import Data, measures
from lab.errors import ArgumentError
from tests.data.test_meaning import OWNERS, ROWS, X, Y, Z, examples, said

OUT = np.arange(ROWS) % 5 == 0
IGNORED = {
    "values": (np.where(OUT, -999, Z), -999, {}),
    "class numbers": (np.where(OUT, -1, Y), -1, {}),
    "words": (np.where(OUT, -1, Y).astype(str), -1, {}),
    "objects": (np.where(OUT, -1, Y).astype(object), -1, {}),
    "words that are values": (np.where(OUT, -999, Z).astype(str), -999, {}),
    "whole numbers as values": (np.where(OUT, -1, np.arange(ROWS)), -1, {"kind": "regression"}),
    "words among labels": (np.where(OUT, "-1", np.array(["a", "b", "c"])[Y]), -1, {}),
}


@pytest.mark.parametrize("kind", IGNORED)
def test_rows_that_are_ignored_are_left_out_of_targets_of_any_type(kind):
    y, ignored, given = IGNORED[kind]
    given = {**given, "ignore_index": ignored}
    read = Data.read(pd.DataFrame({"a": Z, "b": Z**2, "y": y}), "y", **given)
    for data in (Data.from_arrays(X, y, **given), read):
        assert len(data) == (~OUT).sum() and str(ignored) not in data.classes
        assert f"{OUT.sum()} rows without a target ({ignored}) were left out" in "".join(data.notes)


def test_values_of_minus_100_are_values_and_several_a_row_are_not_ignored():
    cold = np.where(OUT, -100.0, Z)
    assert len(Data.from_arrays(X, cold)) == ROWS
    both = np.stack([np.where(OUT, -1.0, Z), Z], 1)
    assert "24 values that are -1, and only classes are" in said(lambda: Data.from_arrays(X, both, ignore_index=-1))
    tags = np.where(np.arange(ROWS * 3).reshape(ROWS, 3) % 4 == 0, "-1", "a")
    tags[:, 1] = "b"
    data = Data.from_arrays(X, tags, ignore_index=-1)
    assert data.classes == ("a", "b") and (data.targets == -100).any()


def test_given_rows_part_no_group():
    for test, parted in ((np.arange(0, ROWS, 4), 30), ([0], 1)):
        call = lambda test=test: Data.from_arrays(X, Y, groups=OWNERS, splits={"test": test})  # noqa: E731
        assert f"part {parted} of the groups between 'test' and 'train'" in said(call)
    whole = Data.from_arrays(X, Y, groups=OWNERS, splits={"test": np.arange(8), "val": 0.2})
    assert whole.rows["test"].tolist() == list(range(8))
    parts = {"train": examples(90, lambda n: n % 2), "test": examples(20, lambda n: n % 2)}
    owners = np.arange(110) % 60
    assert "of the groups between 'test' and" in said(lambda: Data.from_dataset(parts, groups=owners))


def test_what_is_given_is_used_or_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    pairs = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    rows = examples(50, lambda n: n % 2)
    wrong = {
        "keep= and dates= are of tables": [
            lambda: Data.read(tmp_path / "a.npz", "y", keep="zz"),
            lambda: Data.read(tmp_path / "a.npz", "y", dates="parts"),
        ],
        "examples are pairs; leave them out": [
            lambda: Data.from_dataset(pairs, inputs="a"),
            lambda: Data.from_dataset({"train": pairs, "test": pairs}, target="b"),
        ],
        "the data set has a split 'val', and splits= gives one": [
            lambda: Data.from_dataset({"train": rows, "validation": rows}, splits={"val": 0.4}),
        ],
    }
    for words, calls in wrong.items():
        for call in calls:
            assert words in said(call)


@pytest.mark.parametrize("bits", [np.uint16(0x7C01), np.uint32(0x7F800001), np.uint64(0x7FF0000000000001)])
def test_a_signaling_nan_of_a_damaged_file_is_missing_as_any_other(bits):
    dtype = np.dtype(f"f{bits.itemsize}")
    holed, z = X.astype(dtype), Z.astype(dtype)
    for values in (holed, z):
        values.view(bits.dtype).flat[5] = bits
    table = {"a": X[:, 1], "b": X[:, 2], "y": Z}
    for column, whole in (("a", X[:, 1]), ("y", Z)):
        signaling, quiet = whole.astype(dtype), whole.astype(dtype)
        signaling.view(bits.dtype)[5], quiet[5] = bits, np.nan
        one, other = (Data.read(pd.DataFrame(table | {column: values}), "y") for values in (signaling, quiet))
        assert one.notes == other.notes and torch.equal(one.inputs, other.inputs)
    runs, as_numpys = pd.DataFrame({"phi": ["a", "b"] * (ROWS // 2), "seed": np.arange(ROWS) // 2}), z.copy()
    as_numpys[5] = np.nan
    how = {"group": "phi", "seed": "seed", "metric": "score"}
    one, other = (lab.Comparison.from_table(runs.assign(score=values), **how) for values in (z, as_numpys))
    assert one.report() == other.report()
    for given in ((holed, Z), (X, z), (torch.from_numpy(holed), Z)):
        with pytest.raises(ArgumentError, match="1 values that are NaN or infinite"):
            Data.from_arrays(*given)


def test_masks_that_are_added_are_inputs():
    mask = torch.zeros(ROWS, 4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    assert torch.equal(Data.from_arrays({"x": X, "mask": mask}, Y).inputs["mask"], mask)
    for other in (mask + 1, -mask, mask.where(mask == 0, torch.nan)):
        assert "NaN or infinite" in said(lambda other=other: Data.from_arrays({"x": X, "mask": other}, Y))


TIMES = 1.6e9 + np.random.default_rng(0).random((ROWS, 5, 1))
FINE = {
    "sequences": TIMES,
    "one clock": np.broadcast_to(1.6e9 + np.arange(5.0)[:, None], (ROWS, 5, 1)),
    "named": {"t": TIMES[:, 0, 0], "x": X},
    "named sequences": {"t": TIMES},
    "named table": {"t": TIMES[..., 0]},
}


@pytest.mark.parametrize("how", FINE)
def test_what_float32_loses_is_said_of_inputs_of_any_shape(how):
    assert "float32 cannot tell apart" in said(lambda: Data.from_arrays(FINE[how], Y))
    assert not Data.from_arrays({"t": TIMES - 1.6e9, "images": np.ones((ROWS, 3, 4)) / 3}, Y).notes


def test_a_first_name_longer_than_a_list_of_names_is_cut():
    table = pd.DataFrame({"long " * 60: range(60), "y": range(60)})
    with pytest.raises(ArgumentError, match=r"there is no column 'x'; there are long .*, … \(2 in all\)"):
        Data.read(table, target="x")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_lists_and_data_sets_of_narrow_tensors_are_read_as_one_tensor_is(dtype):
    rows = torch.randn(60, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    y = [number % 2 for number in range(60)]
    whole = Data.from_arrays(rows, y)
    assert Data.from_arrays(list(rows), y).digest == whole.digest
    assert Data.from_dataset(list(zip(rows, y, strict=True))).digest == whole.digest


@pytest.mark.parametrize(
    "metric",
    [
        metrics.r2_score,
        metrics.explained_variance_score,
        metrics.mean_absolute_percentage_error,
        partial(metrics.d2_pinball_score, alpha=0.3),
    ],
)
def test_a_metric_of_scikit_learn_gets_the_targets_first(metric):
    """Most of its metrics are not the same the other way round, and all are numbers then, too."""
    outputs, targets = torch.rand(2, 30, generator=torch.Generator().manual_seed(0)).double()
    right = metric(targets.numpy(), outputs.numpy())
    assert measures.scores(metric, outputs[None, :, None], targets).item() == pytest.approx(right, abs=1e-12)
    assert abs(metric(outputs.numpy(), targets.numpy()) - right) > 0.01
    assert measures.sign(metric) == (-1 if "error" in str(metric) else 1)


@pytest.mark.parametrize("loss", [F.cross_entropy, F.mse_loss, nn.L1Loss()])
def test_of_a_loss_of_torch_with_some_of_its_arguments_less_is_better(loss):
    assert measures.sign(partial(loss, reduction="mean")) == measures.sign(loss) == -1
