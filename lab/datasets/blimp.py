"""BLiMP: pairs of sentences of which one is grammatical (Warstadt et al. 2020): 67 paradigms of 1,000, 12 phenomena.

Kept as one text, a pair a line: paradigm, phenomenon, the good sentence, the bad one, with tabs between.
The files say "s-selection" of two paradigms; the paper counts them to argument structure, and so does this. In two
paradigms there are pairs of one sentence twice, which no model can tell apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lab.datasets.dataset import Dataset
from lab.datasets.shape import Arrays, TextShape
from lab.datasets.sources import Web
from lab.datasets.unpack import Files

PHENOMENA: Mapping[str, tuple[str, ...]] = {
    "anaphor_agreement": ("anaphor_gender_agreement", "anaphor_number_agreement"),
    "argument_structure": (
        *("animate_subject_passive", "animate_subject_trans", "causative", "drop_argument", "inchoative"),
        *("intransitive", "passive_1", "passive_2", "transitive"),
    ),
    "binding": (
        *("principle_A_c_command", "principle_A_case_1", "principle_A_case_2", "principle_A_domain_1"),
        *("principle_A_domain_2", "principle_A_domain_3", "principle_A_reconstruction"),
    ),
    "control_raising": (
        *("existential_there_object_raising", "existential_there_subject_raising", "expletive_it_object_raising"),
        *("tough_vs_raising_1", "tough_vs_raising_2"),
    ),
    "determiner_noun_agreement": (
        *("determiner_noun_agreement_1", "determiner_noun_agreement_2", "determiner_noun_agreement_irregular_1"),
        *("determiner_noun_agreement_irregular_2", "determiner_noun_agreement_with_adj_2"),
        *("determiner_noun_agreement_with_adj_irregular_1", "determiner_noun_agreement_with_adj_irregular_2"),
        "determiner_noun_agreement_with_adjective_1",
    ),
    "ellipsis": ("ellipsis_n_bar_1", "ellipsis_n_bar_2"),
    "filler_gap_dependency": (
        *("wh_questions_object_gap", "wh_questions_subject_gap", "wh_questions_subject_gap_long_distance"),
        *("wh_vs_that_no_gap", "wh_vs_that_no_gap_long_distance", "wh_vs_that_with_gap"),
        "wh_vs_that_with_gap_long_distance",
    ),
    "irregular_forms": ("irregular_past_participle_adjectives", "irregular_past_participle_verbs"),
    "island_effects": (
        *("adjunct_island", "complex_NP_island", "coordinate_structure_constraint_complex_left_branch"),
        *("coordinate_structure_constraint_object_extraction", "left_branch_island_echo_question"),
        *("left_branch_island_simple_question", "sentential_subject_island", "wh_island"),
    ),
    "npi_licensing": (
        *("matrix_question_npi_licensor_present", "npi_present_1", "npi_present_2", "only_npi_licensor_present"),
        *("only_npi_scope", "sentential_negation_npi_licensor_present", "sentential_negation_npi_scope"),
    ),
    "quantifiers": (
        *("existential_there_quantifiers_1", "existential_there_quantifiers_2", "superlative_quantifiers_1"),
        "superlative_quantifiers_2",
    ),
    "subject_verb_agreement": (
        *("distractor_agreement_relational_noun", "distractor_agreement_relative_clause"),
        *("irregular_plural_subject_verb_agreement_1", "irregular_plural_subject_verb_agreement_2"),
        *("regular_plural_subject_verb_agreement_1", "regular_plural_subject_verb_agreement_2"),
    ),
}
PARADIGMS = tuple(sorted(paradigm for paradigms in PHENOMENA.values() for paradigm in paradigms))
FILES = tuple(f"{paradigm}.jsonl" for paradigm in PARADIGMS)
PAIRS = 1_000  # of each paradigm


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


def read(files: Files) -> Arrays:
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
    (Web("https://raw.githubusercontent.com/alexwarstadt/blimp/master/data/", FILES, read),),
)
