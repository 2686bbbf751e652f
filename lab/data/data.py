"""A data set of one's own: arrays with disjoint splits, what is predicted and how it is measured."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from lab.data import arrays, files, measures, sources, tables, targets
from lab.data.measures import IGNORED
from lab.data.splits import DEFAULT_SPLITS, divide, of_labelled, repeats, unseen
from lab.errors import ArgumentError, check_choice, check_type, shown

Inputs = Tensor | Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Data:
    """Examples with disjoint splits; make it with `from_arrays`, `read`, `from_dataset` or `from_text`.

    name     of the data set
    inputs   (N, …), float32 or int64; or several of these by the names of the model's arguments, masks as bool
    targets  (N,) or (N, …): int64 classes, or float32 values. A class of -100 counts nowhere, neither in losses nor in
             metrics; functions of your own get it as it is
    rows     by split the indices of its examples: "train", "search" (what a learned function follows), "val" (which
             settings), "test" (what is reported)
    classes  labels in the order of their ids; none where values are predicted
    loss     "cross_entropy", "mse", "mae" or a function (outputs, targets) → a number, the mean over examples; outputs
             come in the shape of targets, if only axes of length 1 are in the way. Classes are on the last axis of the
             outputs, or behind the batch as in torch: (B, classes, H, W). Sequences with as many positions as classes
             are refused, for either axis may be it
    metrics  what is followed, the first of which counts: names ("accuracy", "r2" and the losses), or functions by name
             (outputs, targets) → a number, of which more is better, unless they are torch's losses or scikit-learn's
             errors. Scikit-learn's metrics get the targets first, as they want them. R² of targets (N, K) is the mean
             over the K columns, as scikit-learn's r2_score; of targets with more axes of all values together. A name
             is there once, and is none of "loss", "function", "search", "seed", "rate", "step", "diverged"
    notes    what was done to the data, a line each
    columns  of a table that was read, the names of its inputs
    is_causal  whether targets are the inputs' next tokens, which a model must not see
    unit     of values to predict, where they were scaled: errors are in it
    """

    name: str
    inputs: Inputs
    targets: Tensor
    rows: Mapping[str, Tensor]
    classes: tuple[str, ...] = ()
    loss: str | measures.Function = "cross_entropy"
    metrics: Mapping[str, str | measures.Function] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    is_causal: bool = False
    unit: str = ""

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        name: str = "data",
        splits: Mapping[str, Any] | None = None,
        seed: int = 0,
        kind: str | None = None,
        groups: Any = None,
        loss: str | measures.Function | None = None,
        metrics: Sequence[str] | Mapping[str, str | measures.Function] | None = None,
        ignore_index: int = IGNORED,
    ) -> Self:
        """Arrays, tensors, lists or data frames as they are, in memory.

        X: (N, …) numbers, or a dict of such by the names of the model's arguments. Floating-point numbers become
            float32, bytes (images) float32 from 0 to 1, whole numbers int64, as tokens are; True and False float32, but
            in a dict bool, as masks are. Bytes of 0 and 1 are not divided.
        y: (N,) or (N, …); (N, 1) is read as (N,). Words, booleans and whole numbers are classes, other numbers values;
            ordered categories of pandas are classes in their order.
        splits: by name a share of the rows, a number of rows, or the rows themselves (indices or a mask); what is left
            is "train". Default: search .2, val .1, test .1. Disjoint; with the same shares of classes in each.
        groups: (N,), whatever tells which rows belong together (patients, documents): no group is in two splits, and
            shares are of groups, drawn so that "train" has every class.
        kind: "classification" or "regression", where y does not say it.
        loss, metrics: see `Data`; default: cross-entropy and accuracy, or mean squared error and R².
        ignore_index: the class number that stands for no class, as in torch: padding, pixels without a label (255 in
            some masks), rows without one (-1 in some data sets). Rows of y (N,) that have it are left out; of values
            and words only where it is not -100.

        Raises ArgumentError for values that are not finite, one class, other lengths, splits that have too few rows.

        >>> import numpy as np
        >>> X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 4
        >>> data = Data.from_arrays(X, y, name="blobs")
        >>> data
        Data 'blobs': 200 examples of (5,), 4 classes; search 40, val 20, test 20, train 120
        >>> data.split("val")[0].shape
        torch.Size([20, 5])
        """
        check_type("name", name, str, "a name, such as 'digits'")
        inputs, notes = arrays.inputs(X)
        arrays.check_finite(inputs, "X")
        order, y = targets.order_of(y), targets.column(y)
        count = len(inputs if isinstance(inputs, Tensor) else next(iter(inputs.values())))
        if len(y) != count:
            raise ArgumentError(f"X has {count} rows and y {len(y)}; give one target a row")
        labelled = targets.labelled(y, kind, ignore_index)
        if not labelled.all():
            inputs, y = take(inputs, torch.from_numpy(labelled)), y[labelled]
            groups = None if groups is None else arrays.array(groups, "groups")[labelled]
            notes = (*notes, f"{int((~labelled).sum())} rows without a target ({ignore_index}) were left out")
        answers = targets.targets(y, kind, ignore_index, order)
        rows, said = _divide(splits, labelled, answers, groups, seed)
        values = answers.values if answers.is_classes else targets.as_float32(answers.values)
        measured = measures.chosen(answers.is_classes, loss, metrics)
        notes = (*notes, *answers.notes, *said, *repeats(inputs, rows), *measures.doubts(measured[1]))
        return cls(name, inputs, values, rows, answers.classes, *measured, notes)

    @classmethod
    def read(
        cls,
        source: str | Path | pd.DataFrame,
        target: str,
        drop: str | Sequence[str] = (),
        name: str | None = None,
        splits: Mapping[str, Any] | None = None,
        seed: int = 0,
        kind: str | None = None,
        groups: str | None = None,
        loss: str | measures.Function | None = None,
        metrics: Sequence[str] | Mapping[str, str | measures.Function] | None = None,
        ignore_index: int = IGNORED,
        keep: str | Sequence[str] = (),
        dates: str = "drop",
    ) -> Self:
        """A table in a file: CSV, TSV, Parquet (also packed), or arrays in an .npz; or a data frame of pandas.

        Numbers are shifted and scaled to mean 0 and standard deviation 1; so is the target of a regression (R² stays
        what it is; errors are in standard deviations, and where they are shown, that is said). Missing numbers get the
        median, and a column that says so; so do words in a column of numbers (less than a tenth of it). Numbers may
        have decimal commas, separators of thousands, signs of currency or percent. Words become a column for each
        category; a missing one is a category. None, NA and null in a file are words among words, and missing among
        numbers; an empty cell is missing. All by the rows of `train` alone; what was done is in `notes`, which are
        printed. Rows without a target are left out, and so are columns with one value, with more than 50 different
        words, that number the rows ("id", "Unnamed: 0", 0 to N - 1), or with dates.

        target: the column to predict. drop: columns that must not be seen. keep: columns that are read though they
            number the rows or have many words. dates: "drop", "ordinal" (days since 1970) or "parts" (year, month, day,
            weekday, hour: a column each). groups: a column, see `from_arrays`; it is not among the inputs. splits: rows
            are those of the table, with those that have no target. Of an .npz the names are those of arrays. Others: as
            there.

        >>> import pandas, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> rooms = [number / 2 for number in range(60)]
        >>> table = pandas.DataFrame({"rooms": rooms, "town": ["Rome", "Oslo"] * 30, "price": [1.5 * r for r in rooms]})
        >>> table.to_csv(f"{folder}/prices.csv", index=False)
        >>> Data.read(f"{folder}/prices.csv", target="price")
        Data 'prices': 60 examples of (3,), values to predict; search 12, val 6, test 6, train 36
          price was shifted by 23.8125 and divided by 12.7372, its standard deviation
          1 column of numbers, each to mean 0 and standard deviation 1 on the training rows
          1 column of words, a column for each category (missing is one): town 2
        """
        is_file = isinstance(source, (str, Path))
        name = name or (Path(source).stem if is_file else "data")
        drop, keep = ([names] if isinstance(names, (str, Real)) else list(names) for names in (drop, keep))
        drop, keep = (list(map(files.word_of, names)) for names in (drop, keep))
        target, groups = files.word_of(target), files.word_of(groups)
        check_choice("dates", dates, tables.DATES)
        if is_file and str(source).lower().endswith(".npz"):
            if keep or dates != "drop":
                raise ArgumentError("keep= and dates= are of tables; leave them out, for arrays are read as they are")
            X, y, owners = files.arrays(source, target, drop, groups)
            return cls.from_arrays(X, y, name, splits, seed, kind, owners, loss, metrics, ignore_index)
        table, read, commas, _ = files.table(source)
        hidden = [*drop, groups] if groups else drop
        inputs, y, notes, known = tables.divided(table, target, hidden, keep, dates, commas)
        order = targets.order_of(table[target])
        labelled = targets.labelled(y, kind, ignore_index)
        if not labelled.all():
            inputs, y = inputs[labelled].reset_index(drop=True), y[labelled]
            notes.append(f"{int((~labelled).sum())} rows without a target ({ignore_index}) were left out")
            known[known] = labelled
        answers = targets.targets(y, kind, ignore_index, order)
        if words := sorted(set(files.GAPS) & set(answers.classes)):
            notes.append(f"{target} has the class {', '.join(words)}; drop these rows where it stands for no label")
        owners = None if groups is None else table[groups][known]
        if owners is not None and is_file:
            owners = owners.mask(owners.isin(files.GAPS))
        rows, said = _divide(splits, known, answers, owners, seed)
        if "train" not in rows:
            raise ArgumentError(f"splits={shown(splits)} leave no rows to train on; give smaller ones")
        training = rows["train"].numpy()
        matrix, columns, done = tables.numbers(inputs, training)
        X = torch.from_numpy(matrix)
        values, unit = answers.values, ""
        if not answers.is_classes:
            tables.check_size(target, values.numpy())
            mean = float(values[training].mean())
            scale = float(values[training].std()) if len(training) > 1 else 0.0
            if not scale:
                raise ArgumentError(f"{target} has one value, {mean:g}, in all rows of train: nothing to learn")
            values, unit = ((values - mean) / scale).float(), f"standard deviations of {target} ({scale:g})"
            done.insert(0, f"{target} was shifted by {mean:g} and divided by {scale:g}, its standard deviation")
        measured = measures.chosen(answers.is_classes, loss, metrics)
        arrays.check_finite(X, "the table")
        every = (*read, *notes, *done, *answers.notes, *said, *repeats(X, rows), *measures.doubts(measured[1]))
        return cls(name, X, values, rows, answers.classes, *measured, every, tuple(columns), unit=unit)

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        name: str = "data",
        inputs: str | Sequence[str] | None = None,
        target: str | None = None,
        splits: Mapping[str, Any] | None = None,
        seed: int = 0,
        **given: Any,
    ) -> Self:
        """A map-style data set of torch or Hugging Face, all of it in memory.

        dataset: gives pairs (input, target), or dictionaries; or a dict of such by split, with "train", maybe
            "validation", "test" and "search": those stay what they are, and shares are of the rest. One without labels
            (all -1, -100 or none), or of another name, is left out, and a note says so.
        inputs: of dictionaries, what the model reads: names of its arguments, or one name. Default: all but words and
            what numbers the examples, such as "idx".
        target: of dictionaries, what is predicted ("label" or "labels", where it is not said).
        given: others, as for `from_arrays`.

        >>> pairs = torch.utils.data.TensorDataset(torch.randn(50, 3), torch.arange(50) % 2)
        >>> Data.from_dataset(pairs, name="pairs")
        Data 'pairs': 50 examples of (3,), 2 classes; search 10, val 5, test 5, train 30
        """
        parts, notes = sources.parts_of(dataset)
        if sources.names_classes(parts.get("train", dataset), target):
            given = {"ignore_index": -1, **given}
        if parts:
            read, indices = sources.joined(parts, inputs, target)
            if twice := [key for key in splits or () if key in indices]:
                raise ArgumentError(f"the data set has a split {twice[0]!r}, and splits= gives one; drop one of them")
            shares = DEFAULT_SPLITS if splits is None else splits
            splits = indices | {key: share for key, share in shares.items() if key not in indices}
        else:
            read = sources.examples(dataset, inputs, target)
        data = cls.from_arrays(read.X, read.y, name, splits, seed, **given)
        return replace(data, notes=(*notes, *read.notes, *data.notes))

    @classmethod
    def from_text(
        cls,
        source: str | Path,
        tokens: str = "char",
        context: int = 256,
        name: str | None = None,
        splits: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Self:
        """A text in a file as windows of tokens, each of which is to be predicted from those before it.

        tokens: "char" (of a text in UTF-8) or "byte" (of any file), as they are: ends of lines, too.
        context: tokens of a window; windows do not overlap, and the model reads ids (B, context) and gives logits (B,
            context, vocabulary). It must be causal. (`lab.tasks.Text` is for the lab's own models of language.)

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "song.txt"
        >>> _ = path.write_text("la la li " * 80)
        >>> Data.from_text(path, context=16)
        Data 'song': 44 examples of (16,), 4 classes; search 9, val 4, test 4, train 27
        """
        text, stem = sources.text_of(source, tokens)
        inputs, following, vocabulary = sources.windows(text, context)
        rows = divide(DEFAULT_SPLITS if splits is None else splits, len(inputs), seed=seed)
        parts = {split: torch.from_numpy(index) for split, index in rows.items()}
        X, y = torch.from_numpy(inputs.copy()), torch.from_numpy(following.copy())
        measured = measures.chosen(True, None, ("cross_entropy", "accuracy"))
        return cls(name or stem, X, y, parts, vocabulary, *measured, is_causal=True)

    def __len__(self) -> int:
        return len(self.targets)

    def split(self, name: str) -> tuple[Inputs, Tensor]:
        """Inputs and targets of a split, copies."""
        if not isinstance(name, str) or name not in self.rows:
            raise ArgumentError(f"{self.name} has no split {shown(name)}; it has {', '.join(self.rows)}")
        return take(self.inputs, self.rows[name]), self.targets[self.rows[name]]

    @property
    def is_classification(self) -> bool:
        return not self.targets.is_floating_point()

    def unit_of(self, metric: str) -> str:
        """The unit of an error, where values were scaled. metric: one of `metrics`, or "loss"."""
        measure = self.loss if metric == "loss" else self.metrics[metric]
        if not self.unit or not isinstance(measure, str) or measure not in ("mse", "mae"):
            return ""
        return self.unit if measure == "mae" else f"squared {self.unit}"

    def titled(self, metric: str) -> str:
        """A metric, or "loss", in words, with its unit."""
        unit = self.unit_of(metric)
        if self.unit and metric != "loss" and not isinstance(self.metrics[metric], str):
            return f"{metric} of values in {self.unit}"
        return measures.NAMES.get(metric, metric) + (f" in {unit}" if unit else "")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of inputs, targets, splits and measures: what the data set is, whatever it is called."""
        hasher = hashlib.sha256()
        parts = {"inputs": self.inputs} if isinstance(self.inputs, Tensor) else dict(self.inputs)
        others = {"targets": self.targets, **{f"split {name}": rows for name, rows in self.rows.items()}}
        alike = {name: part for name, part in parts.items() if name in others}  # inputs of these names come last
        for name, tensor in [*sorted({**parts, **others}.items()), *sorted(alike.items())]:
            hasher.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            hasher.update(tensor.contiguous().numpy().tobytes())
        said = [measures.identity(self.loss), *(f"{name} {measures.identity(m)}" for name, m in self.metrics.items())]
        hasher.update("\n".join([*said, *self.classes]).encode())
        return hasher.hexdigest()

    def __repr__(self) -> str:
        parts = {"": self.inputs} if isinstance(self.inputs, Tensor) else self.inputs
        shapes = ", ".join(f"{name} {tuple(part.shape[1:])}".strip() for name, part in parts.items())
        what = f"{len(self.classes)} classes" if self.classes else "values to predict"
        sizes = ", ".join(f"{name} {len(rows):,}" for name, rows in self.rows.items())
        first = f"Data {self.name!r}: {len(self):,} examples of {shapes}, {what}; {sizes}"
        return "\n".join([first, *(f"  {note}" for note in self.notes)])


def take(inputs: Inputs, index: Tensor) -> Inputs:
    """The examples at an index of any shape."""
    return inputs[index] if isinstance(inputs, Tensor) else {name: part[index] for name, part in inputs.items()}


def _divide(
    splits: Mapping[str, Any] | None, labelled: np.ndarray, answers: targets.Targets, groups: Any, seed: int
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The rows of splits, and what one should know of them. splits: of all rows, of which some are labelled."""
    given = DEFAULT_SPLITS if splits is None else splits
    given = given if labelled.all() else of_labelled(given, labelled)
    labels = answers.values.numpy() if answers.is_classes and answers.values.ndim == 1 else None
    parts = divide(given, len(answers.values), labels, groups, seed, answers.classes)
    rows = {name: torch.from_numpy(part) for name, part in parts.items()}
    if not answers.is_classes:
        return rows, ()
    for name, part in rows.items():
        if not bool((answers.values[part] != IGNORED).any()):
            raise ArgumentError(f"split {name!r} has no target that counts; leave it out, and it is drawn anew")
    return rows, unseen(answers.values, rows, answers.classes)
