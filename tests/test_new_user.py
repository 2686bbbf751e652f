"""A new user's four data sets: from a file or a data set to a function in the zoo, in at most 15 lines each.

Each function below is what such a user writes, with what `help` says and nothing else; models and data sets are theirs.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import lab

SHORT = {"steps": 6, "progress": False}
LINES = 15


def customers(folder):
    """A table with words and gaps."""
    chance = np.random.default_rng(0)
    table = pd.DataFrame({"age": chance.normal(40, 10, 120), "town": chance.choice(["Bern", "Oslo", "Rome"], 120)})
    table["bought"] = np.where((table.age > 40) ^ (table.town == "Oslo"), "yes", "no")
    table.loc[::17, "age"], table.loc[::23, "town"] = None, None
    table.to_csv(folder / "customers.csv", index=False)


class Bars(torch.utils.data.Dataset):
    """Images with a bar that lies or stands."""

    def __len__(self):
        return 80

    def __getitem__(self, number):
        image = torch.rand(3, 6, 6, generator=torch.Generator().manual_seed(number)) / 2
        (image if number % 2 else image.mT)[:, 3] += 1
        return image, number % 2


class Small(nn.Module):
    """Convolution and statistics of batches; its activation works in place."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.head = nn.Linear(4, 2)

    def forward(self, images):
        return self.head(self.layers(images).mean((2, 3)))


class Writer(nn.Module):
    """A causal transformer of torch's own parts, whose activation is a function."""

    def __init__(self, letters, context):
        super().__init__()
        self.read = nn.Embedding(letters, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
        self.write = nn.Linear(8, letters)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(context))

    def forward(self, ids):
        return self.write(self.layer(self.read(ids), src_mask=self.mask, is_causal=True))


def a_table_with_categories_and_gaps(folder):
    data = lab.Data.read(folder / "customers.csv", target="bought")
    print(data.notes)

    def make(seed):
        return nn.Sequential(nn.Linear(len(data.columns), 8), nn.ReLU(), nn.Linear(8, 2))

    found = lab.search(data, model=make, replace=nn.ReLU, models=2, **SHORT)
    functions = {"ReLU": None, "learned": found}
    result = lab.compare(data, make, nn.ReLU, functions, seeds=2, searches=2, rates=[1e-3, 1e-2], **SHORT)
    print(result.table, result.difference("learned", "ReLU"))
    figures = [result.plot(), lab.plot(found)]
    X, y = data.split("test")
    explorers = [lab.explore(result), lab.explore(found), lab.explore(result.model("learned"), inputs=X, targets=y)]
    found.publish("customers", result)
    return result, figures, explorers, lab.zoo("mine/customers")


def images(folder):
    data = lab.Data.from_dataset(Bars(), name="bars")

    def make(seed):
        return Small()

    found = lab.search(data, model=make, replace=nn.ReLU, models=2, **SHORT)
    result = lab.compare(data, make, nn.ReLU, {"ReLU": nn.ReLU(), "learned": found.spline}, seeds=2, **SHORT)
    print(result.table, result.difference("learned", "ReLU", "loss"))
    figures = [result.plot("loss"), lab.plot(found.spline)]
    X, y = data.split("test")
    explorers = [lab.explore(result), lab.explore(found), lab.explore(result.model("learned"), inputs=X, targets=y)]
    found.publish("bars", result)
    return result, figures, explorers, lab.zoo("mine/bars")


def a_file_of_characters(folder):
    data = lab.Data.from_text(folder / "corpus.txt", tokens="char", context=12)

    def make(seed):
        return Writer(len(data.classes), 12)

    gelu = nn.functional.gelu
    found = lab.search(data, model=make, replace=gelu, models=2, **SHORT)
    result = lab.compare(data, make, gelu, {"GELU": None, "learned": found}, seeds=2, **SHORT)
    print(result.table, result.difference("learned", "GELU"))
    figures = [result.plot("accuracy"), lab.plot(found)]
    X, y = data.split("test")
    explorers = [lab.explore(result), lab.explore(found), lab.explore(result.model("learned"), inputs=X, targets=y)]
    found.publish("corpus", result)
    return result, figures, explorers, lab.zoo("mine/corpus")


def a_classifier_of_transformers(folder):
    from transformers import BertConfig, BertForSequenceClassification
    from transformers.activations import GELUActivation as GELU

    config = BertConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    data = lab.Data.from_dataset(tokenized(), name="low tokens")

    def make(seed):
        return BertForSequenceClassification(config)

    found = lab.search(data, model=make, replace=GELU, models=2, **SHORT)
    result = lab.compare(data, make, GELU, {"GELU": None, "learned": found}, seeds=2, **SHORT)
    print(result.table, result.difference("learned", "GELU"))
    figures = [result.plot(), lab.plot(found)]
    X, y = data.split("test")
    explorers = [lab.explore(result), lab.explore(found), lab.explore(result.model("learned"), inputs=X, targets=y)]
    found.publish("bert", result)
    return result, figures, explorers, lab.zoo("mine/bert")


def tokenized():
    """What a tokenizer and `datasets` make of sentences: dictionaries, padded."""
    ids = torch.randint(1, 30, (80, 6), generator=torch.Generator().manual_seed(0))
    lengths = 3 + torch.arange(80) % 4
    masks = (torch.arange(6) < lengths[:, None]).long()
    return [
        {"input_ids": row * mask, "attention_mask": mask, "labels": int((row * mask).max() > 26)}
        for row, mask in zip(ids, masks, strict=True)
    ]


@pytest.mark.parametrize(
    "trial", [a_table_with_categories_and_gaps, images, a_file_of_characters, a_classifier_of_transformers]
)
def test_a_new_user_gets_from_data_to_the_zoo_in_fifteen_lines(trial, tmp_path, store_folder, capsys):
    written = [line for line in inspect.getsource(trial).splitlines()[1:] if line.strip()]
    assert len(written) <= LINES
    customers(tmp_path)
    (tmp_path / "corpus.txt").write_text("the cat sat on the mat. a dog ran to the cat. " * 20)
    result, figures, explorers, published = trial(tmp_path)
    table, name = result.table, result.functions[-1]
    assert set(table["function"]) == set(result.functions) and not table["diverged"].any()
    assert np.isfinite(table[[*result.data.metrics, "loss"]]).all(axis=None)
    difference = result.difference(name, result.functions[0])
    metric = next(iter(result.data.metrics))
    means = table.groupby("function")[metric].mean()
    unit = 100 if metric == "accuracy" else 1  # percentage points
    assert difference.mean == pytest.approx(unit * (means[name] - means[result.functions[0]]), abs=1e-4)
    differ = table.groupby("function")[metric].nunique().max() > 1  # else seeds say nothing of how much they differ
    assert (difference.low <= difference.mean <= difference.high) == differ != np.isnan(difference.low)
    assert f"{name} minus {result.functions[0]}" in capsys.readouterr().out
    assert all(figure.data for figure in figures)
    for explorer in explorers:
        assert explorer.error.value == ""
    for view in explorers[-1].view.options:
        explorers[-1].view.value = view
        assert explorers[-1].error.value == "", explorers[-1].error.value
    assert torch.equal(published.values, result.model(name).get_submodule(_place(result, name)).values)
    row = lab.zoo().query("task == @result.data.name").iloc[0]
    sign = -1 if metric == "cross_entropy" else 1  # a lower loss is a gain
    assert row.gain_end == pytest.approx(sign * difference.mean, abs=1e-3)
    assert (row.low_end <= row.gain_end <= row.high_end) == differ


def _place(result, name):
    """Where the function stands in a model."""
    return next(place for place, part in result.model(name).named_modules() if isinstance(part, lab.Spline))
