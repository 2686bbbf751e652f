"""What an explorer reads from the codes of one run: maps and decoders, each computed once."""

from __future__ import annotations

import numpy as np

from lab.errors import ArgumentError, LabError
from lab.papers.hypernetwork.codes import SEED, SHUFFLES, embedding, same
from lab.probes import codes_by_layer, contrast, decode
from lab.probes.contrast import Contrast
from lab.probes.decoding import Decoding
from lab.run import Run
from lab.tasks import Logic, Sraven
from lab.widgets.logic_problems import LogicProblems
from lab.widgets.problems import Problems
from lab.widgets.sraven_problems import SravenProblems

Place = tuple[int, int, int]  # layer, query, key, from 0
Map = tuple[np.ndarray, float]  # points (N, 2), trustworthiness


class Reading:
    """Codes of a run on `count` problems of unseen combinations, and on as many of seen ones.

    Arguments are those of the probes; a result is kept, so that asking again costs nothing (`has_…`).
    """

    def __init__(self, run: Run, count: int):
        if run.diverged:
            raise ArgumentError(f"the run diverged at step {run.diverged[0]}: its codes are no numbers; give another")
        self.problems, self.layers = problems_of(run, count), run.spec.model.layers
        self._model = run.model()
        self._codes: dict[tuple[int, int], list[list[np.ndarray]]] = {}
        self._maps: dict[tuple[Place, str, float | None], Map] = {}
        self._decodings: dict[tuple[Place, str], Decoding | str] = {}

    def codes(self, place: Place, training: bool = False) -> np.ndarray:
        """(N, heads)."""
        layer, query, key = place
        if (query, key) not in self._codes:  # of both kinds and all layers at once: passes cost more than codes
            parts = (self.problems.unseen, self.problems.seen)
            both = [codes_by_layer(self._model, part, query, key) for part in parts]
            self._codes[query, key] = [[codes.codes for codes in part] for part in both]
        return self._codes[query, key][training][layer]

    def has_map(self, place: Place, method: str, perplexity: float | None) -> bool:
        """Whether it is known."""
        return (place, method, perplexity) in self._maps

    def map(self, place: Place, method: str, perplexity: float | None) -> Map:
        """Points, and how far to trust them; all in one place where codes are the same."""
        asked = place, method, perplexity
        if asked not in self._maps:
            self._maps[asked] = embedding(self.codes(place), method, perplexity)
        return self._maps[asked]

    def has_decoding(self, place: Place, colouring: str) -> bool:
        """Whether it is known."""
        return (place, self.problems.decoded(colouring)) in self._decodings

    def decoding(self, place: Place, colouring: str) -> Decoding | str:
        """What a decoder reads, trained on seen combinations and tested on unseen ones; or why there is none."""
        asked = place, self.problems.decoded(colouring)
        if asked not in self._decodings:
            try:
                self._decodings[asked] = self._decode(place, colouring)
            except LabError as error:  # all problems solved, say: one class
                self._decodings[asked] = str(error)
        return self._decodings[asked]

    def contrast(self, place: Place, a: np.ndarray, b: np.ndarray, points: np.ndarray) -> Contrast:
        """What tells two groups of the unseen problems apart; points: the map on which they were chosen."""
        part = self.problems.unseen
        traits = self.problems.traits(part, place[1])[1]
        return contrast(self.codes(place), a, b, traits, self.problems.groups(part), SEED, SHUFFLES, points)

    def _decode(self, place: Place, colouring: str) -> Decoding | str:
        parts = self.problems.seen, self.problems.unseen
        codes = np.concatenate([self.codes(place, training) for training in (True, False)])
        if same(codes):
            return "Here all problems have one code: nothing can be read from it."
        labels = np.concatenate([self.problems.labels(part, place[1], colouring) for part in parts])
        groups = np.concatenate([self.problems.groups(part) for part in parts])
        train = np.arange(len(codes)) < len(parts[0])
        # as in the figures: of several classes each counts alike (5F), of terms each is a question of its own (2B)
        return decode(codes, labels, groups, SEED, train=train, shuffles=SHUFFLES, balanced=labels.ndim == 1)


def problems_of(run: Run, count: int) -> Problems:
    """The problems of a run on one of these tasks."""
    kinds: dict[type, type[Problems]] = {Sraven: SravenProblems, Logic: LogicProblems}
    if type(run.spec.task) not in kinds:
        raise ArgumentError(
            f"{run.spec.task_name} has no latent codes to explore; give a run on sraven or logic, as"
            " lab.trained('sraven', 'hyla')"
        )
    return kinds[type(run.spec.task)](run, count)
