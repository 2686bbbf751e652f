"""Four tasks of GLUE (Wang et al. 2019): sentences, or pairs of them, of two classes.

Kept as one text, an example a line: part (train or val), class, first sentence, second sentence (empty where there is
one), with tabs between. `val` is the publisher's development set; its test set has no labels.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from lab.datasets.dataset import CLOSED, Dataset
from lab.datasets.download import SourceError
from lab.datasets.shape import Arrays, TextShape
from lab.datasets.sources import Source, Web
from lab.datasets.unpack import Files

HUB = "https://huggingface.co/datasets/nyu-mll/glue/resolve/main/"
PARQUET = {"train": "train-00000-of-00001.parquet", "val": "validation-00000-of-00001.parquet"}


@dataclass(frozen=True)
class GlueTask:
    """One task. folder: of the publisher's archive. score: that counts, "accuracy", "f1", or "mcc", the correlation of
    Matthews. columns: of the sentences in tables with a header; None: there is none, and labels are in the second."""

    name: str
    about: str
    counts: tuple[int, int]  # examples of train and val
    folder: str
    columns: tuple[str, ...]
    score: str = "accuracy"
    header: bool = True
    label: str = "label"
    one: str = "1"  # what the publisher calls class 1; Hugging Face has numbers, of which `hub` is class 1
    hub: int = 1


TASKS = {
    task.name: task
    for task in (
        GlueTask("cola", "is a sentence acceptable", (8_551, 1_043), "CoLA", ("sentence",), "mcc", header=False),
        GlueTask("sst2", "is a review of a film positive", (67_349, 872), "SST-2", ("sentence",)),
        GlueTask("mrpc", "do two sentences say the same", (3_668, 408), "MRPC", ("sentence1", "sentence2"), "f1"),
        GlueTask(
            "rte",
            "does a sentence follow from another",
            (2_490, 277),
            "RTE",
            ("sentence1", "sentence2"),
            one="entailment",
            hub=0,
        ),
    )
}
MRPC = {"label": "Quality", "sentence1": "#1 String", "sentence2": "#2 String"}  # its own names of columns


@dataclass(frozen=True)
class SentencesShape(TextShape):
    """Labelled sentences. counts: of train and val."""

    counts: tuple[int, int] = (0, 0)
    kind: ClassVar[str] = "sentences"

    def __str__(self) -> str:
        return f"{self.counts[0]:,} + {self.counts[1]:,} examples"

    def misfit(self, arrays: Arrays) -> str:
        """As of `TextShape`, and whether all examples are there."""
        if wrong := super().misfit(arrays):
            return wrong
        lines = [line.split("\t") for line in arrays["text"].tobytes().decode().splitlines()]
        bad = next((i for i, line in enumerate(lines) if len(line) != 4 or line[1] not in "01"), None)
        if bad is not None:
            return f"line {bad + 1:,} is no labelled sentence"
        counts = tuple(sum(line[0] == part for line in lines) for part in PARQUET)
        return "" if counts == self.counts else f"{counts[0]:,} + {counts[1]:,} examples, not {self}"


def of_hub(files: Files, task: GlueTask) -> Arrays:
    """Parquet tables, as Hugging Face has them."""
    import pandas as pd

    lines: list[str] = []
    for part, file in PARQUET.items():
        frame = pd.read_parquet(io.BytesIO(files[file]))
        sentences = zip(*(frame[column] for column in task.columns), strict=True)
        lines += _lines(part, (int(label == task.hub) for label in frame["label"]), sentences)
    return _text(lines)


def of_tables(files: Files, task: GlueTask) -> Arrays:
    """The publisher's tables, <folder>_train.tsv and <folder>_dev.tsv."""
    lines: list[str] = []
    names = MRPC if task.name == "mrpc" else {}
    for part, file in zip(PARQUET, _tables(task), strict=True):
        text = io.StringIO(files[file].decode("utf-8-sig"))
        rows = list(csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE))
        if task.header:
            head, rows = rows[0], rows[1:]
            places = [head.index(names.get(column, column)) for column in task.columns]
            label = head.index(names.get(task.label, task.label))
        else:  # source, label, mark, sentence
            places, label = [3], 1
        sentences = (tuple(row[place] for place in places) for row in rows)
        lines += _lines(part, (int(row[label] == task.one) for row in rows), sentences)
    return _text(lines)


def _tables(task: GlueTask) -> tuple[str, str]:
    return f"{task.folder}_train.tsv", f"{task.folder}_dev.tsv"


def _lines(part: str, labels: Iterable[int], sentences: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for label, texts in zip(labels, sentences, strict=True):
        first, second = (" ".join(text.split()) for text in (*texts, "")[:2])
        yield f"{part}\t{label}\t{first}\t{second}\n"


def _text(lines: list[str]) -> Arrays:
    return {"text": np.frombuffer("".join(lines).encode(), np.uint8)}


@dataclass(frozen=True)
class OwnTables:
    """The publisher's tables where a user has them: they are fetched as Parquet."""

    members: tuple[str, ...]
    read: Callable[[Files], Arrays]

    def describe(self) -> str:
        """Their names."""
        return " + ".join(self.members)

    def files(self, folder: Path, most: int) -> Files:
        """Nothing comes from afar."""
        raise SourceError(f"{self.describe()}: only from the folder LAB_DATA")


def _dataset(task: GlueTask, megabytes: float) -> Dataset:
    web = Web(f"{HUB}{task.name}/", tuple(PARQUET.values()), partial(of_hub, task=task))
    sources: tuple[Source, ...] = (web, OwnTables(_tables(task), partial(of_tables, task=task)))
    return Dataset(task.name, task.about, SentencesShape(megabytes, counts=task.counts), CLOSED, megabytes, sources)


MEGABYTES = {"cola": 0.5, "sst2": 5, "mrpc": 1, "rte": 1}
GLUE = tuple(_dataset(TASKS[name], size) for name, size in MEGABYTES.items())
