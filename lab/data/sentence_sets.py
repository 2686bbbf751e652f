"""Sets of sentences: BLiMP, and four tasks of GLUE. Each is kept as one text, an example a line, with tabs between.

BLiMP (Warstadt et al. 2020) has pairs of sentences of which one is grammatical: 67 paradigms of 1,000, 12 phenomena. A
line has paradigm, phenomenon, the good sentence, the bad one. The files say "s-selection" of two paradigms; the paper
counts them to argument structure, and so does this. In two paradigms there are pairs of one sentence twice, which no
model can tell apart.

GLUE (Wang et al. 2019) has sentences, or pairs of them, of two classes. A line has part (train or val), class, first
sentence, second sentence (empty where there is one). `val` is the publisher's development set; its test set has no
labels.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lab.data.dataset import CLOSED, Dataset, OwnFiles, Source, Web
from lab.data.download import Files
from lab.data.shape import Arrays, TextShape

PHENOMENA: Mapping[str, tuple[str, ...]] = {
    name: tuple(paradigms.split())
    for name, paradigms in {
        "anaphor_agreement": "anaphor_gender_agreement anaphor_number_agreement",
        "argument_structure": "animate_subject_passive animate_subject_trans causative drop_argument inchoative "
        "intransitive passive_1 passive_2 transitive",
        "binding": "principle_A_c_command principle_A_case_1 principle_A_case_2 principle_A_domain_1 "
        "principle_A_domain_2 principle_A_domain_3 principle_A_reconstruction",
        "control_raising": "existential_there_object_raising existential_there_subject_raising "
        "expletive_it_object_raising tough_vs_raising_1 tough_vs_raising_2",
        "determiner_noun_agreement": "determiner_noun_agreement_1 determiner_noun_agreement_2 "
        "determiner_noun_agreement_irregular_1 determiner_noun_agreement_irregular_2 "
        "determiner_noun_agreement_with_adj_2 determiner_noun_agreement_with_adj_irregular_1 "
        "determiner_noun_agreement_with_adj_irregular_2 determiner_noun_agreement_with_adjective_1",
        "ellipsis": "ellipsis_n_bar_1 ellipsis_n_bar_2",
        "filler_gap_dependency": "wh_questions_object_gap wh_questions_subject_gap "
        "wh_questions_subject_gap_long_distance wh_vs_that_no_gap wh_vs_that_no_gap_long_distance wh_vs_that_with_gap "
        "wh_vs_that_with_gap_long_distance",
        "irregular_forms": "irregular_past_participle_adjectives irregular_past_participle_verbs",
        "island_effects": "adjunct_island complex_NP_island coordinate_structure_constraint_complex_left_branch "
        "coordinate_structure_constraint_object_extraction left_branch_island_echo_question "
        "left_branch_island_simple_question sentential_subject_island wh_island",
        "npi_licensing": "matrix_question_npi_licensor_present npi_present_1 npi_present_2 only_npi_licensor_present "
        "only_npi_scope sentential_negation_npi_licensor_present sentential_negation_npi_scope",
        "quantifiers": "existential_there_quantifiers_1 existential_there_quantifiers_2 superlative_quantifiers_1 "
        "superlative_quantifiers_2",
        "subject_verb_agreement": "distractor_agreement_relational_noun distractor_agreement_relative_clause "
        "irregular_plural_subject_verb_agreement_1 irregular_plural_subject_verb_agreement_2 "
        "regular_plural_subject_verb_agreement_1 regular_plural_subject_verb_agreement_2",
    }.items()
}
PARADIGMS = tuple(sorted(paradigm for paradigms in PHENOMENA.values() for paradigm in paradigms))
FILES = tuple(f"{paradigm}.jsonl" for paradigm in PARADIGMS)
PAIRS = 1_000  # of each paradigm
HUB = "https://huggingface.co/datasets/nyu-mll/glue/resolve/main/"
PARQUET = {"train": "train-00000-of-00001.parquet", "val": "validation-00000-of-00001.parquet"}


@dataclass(frozen=True)
class PairsShape(TextShape):
    """Pairs of sentences, by paradigm."""

    kind: ClassVar[str] = "pairs"

    def __str__(self) -> str:
        return f"{len(PARADIGMS)} paradigms × {PAIRS:,} pairs of sentences"

    def misfit(self, arrays: Arrays) -> str:
        """As of `TextShape`, and whether every paradigm has its pairs."""
        if wrong := super().misfit(arrays):
            return wrong
        counts = dict.fromkeys(PARADIGMS, 0)
        for number, line in enumerate(arrays["text"].tobytes().decode().splitlines()):
            fields = line.split("\t")
            if len(fields) != 4 or fields[0] not in counts:
                return f"line {number + 1:,} is no pair of a known paradigm"
            counts[fields[0]] += 1
        wrong_ones = [f"{count:,} pairs of {name}" for name, count in counts.items() if count != PAIRS]
        return f"{'; '.join(wrong_ones[:3])}, not {PAIRS:,}" if wrong_ones else ""


def blimp_pairs(files: Files) -> Arrays:
    """The publisher's files, one a paradigm, each line a JSON object."""
    phenomenon = {paradigm: name for name, paradigms in PHENOMENA.items() for paradigm in paradigms}
    lines = []
    for paradigm, file in zip(PARADIGMS, FILES, strict=True):
        for number, line in enumerate(files[file].decode().splitlines()):
            try:
                said = json.loads(line)
                good, bad, uid = said["sentence_good"], said["sentence_bad"], said["UID"]
            except (ValueError, LookupError, TypeError) as error:
                raise ValueError(f"{file}, line {number + 1:,}: no pair of sentences") from error
            if uid != paradigm or "\t" in good + bad:
                raise ValueError(f"{file}, line {number + 1:,}: a pair of {uid!r}, or one with a tab")
            lines.append(f"{paradigm}\t{phenomenon[paradigm]}\t{good}\t{bad}\n")
    return {"text": np.frombuffer("".join(lines).encode(), np.uint8)}


BLIMP = Dataset(
    "blimp",
    "pairs of sentences, one of them grammatical",
    PairsShape(9.5),
    "CC BY 4.0",
    29.6,
    (Web("https://raw.githubusercontent.com/alexwarstadt/blimp/master/data/", FILES, blimp_pairs),),
)


@dataclass(frozen=True)
class GlueTask:
    """One task. folder: of the publisher's archive. score: that counts, "accuracy", "f1", or "mcc", the correlation of
    Matthews. columns: of the sentences in tables with a header; without one, labels are in the second."""

    name: str
    about: str
    counts: tuple[int, int]  # examples of train and val
    folder: str
    megabytes: float
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    score: str = "accuracy"
    header: bool = True
    one: str = "1"  # what the publisher calls class 1; Hugging Face has numbers, of which `hub` is class 1
    hub: int = 1

    @property
    def tables(self) -> tuple[str, str]:
        return f"{self.folder}_train.tsv", f"{self.folder}_dev.tsv"


TASKS = {
    task.name: task
    for task in (
        GlueTask("cola", "is a sentence acceptable", (8_551, 1_043), "CoLA", 0.5, ("sentence",), "mcc", header=False),
        GlueTask("sst2", "is a review of a film positive", (67_349, 872), "SST-2", 5, ("sentence",)),
        GlueTask("mrpc", "do two sentences say the same", (3_668, 408), "MRPC", 1, score="f1"),
        GlueTask("rte", "does a sentence follow from another", (2_490, 277), "RTE", 1, one="entailment", hub=0),
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
    """Hugging Face's tables."""
    import pandas as pd  # functions alone do without it

    frames = {part: pd.read_parquet(io.BytesIO(files[file])) for part, file in PARQUET.items()}
    return _as_text(frames, ["label", *task.columns], task.hub)


def of_tables(files: Files, task: GlueTask) -> Arrays:
    """The publisher's tables, <folder>_train.tsv and <folder>_dev.tsv, where a user has them."""
    import pandas as pd

    how: dict = {"sep": "\t", "quoting": csv.QUOTE_NONE, "dtype": str, "keep_default_na": False}
    how["header"] = 0 if task.header else None
    tables = zip(PARQUET, task.tables, strict=True)
    frames = {part: pd.read_csv(io.BytesIO(files[file]), encoding="utf-8-sig", **how) for part, file in tables}
    names = MRPC if task.name == "mrpc" else {}
    columns = [names.get(column, column) for column in ("label", *task.columns)] if task.header else [1, 3]
    return _as_text(frames, columns, task.one)


def _as_text(frames: Mapping[str, Any], columns: Sequence[str | int], one: str | int) -> Arrays:
    """The examples of tables by part. columns: of the label, and of one or two sentences. one: the label of class 1."""
    lines = []
    for part, frame in frames.items():
        for label, *sentences in frame[columns].itertuples(index=False):
            first, second = (" ".join(text.split()) for text in (*sentences, "")[:2])
            lines.append(f"{part}\t{int(label == one)}\t{first}\t{second}\n")
    return {"text": np.frombuffer("".join(lines).encode(), np.uint8)}


def _dataset(task: GlueTask) -> Dataset:
    web = Web(f"{HUB}{task.name}/", tuple(PARQUET.values()), partial(of_hub, task=task))
    shape = SentencesShape(task.megabytes, counts=task.counts)
    sources: tuple[Source, ...] = (web, OwnFiles(task.tables, partial(of_tables, task=task)))
    return Dataset(task.name, task.about, shape, CLOSED, task.megabytes, sources)


GLUE = tuple(map(_dataset, TASKS.values()))
