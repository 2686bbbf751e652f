"""Where what an entry trains with comes from: numbers, data, departures from the paper. Papers say it as fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from lab.data import datasets

SILENT = object()  # the paper's value where it has none


@dataclass(frozen=True)
class Field:
    """A number here and in the paper.

    source: where it is from. other: the same where it is not the paper's, if it is not just smaller. in_caption:
    whether captions say that it differs. task: of an entry that has numbers for each of its tasks.
    """

    name: str
    value: object
    paper: object
    source: str
    other: str = ""
    in_caption: bool = True
    task: str = ""

    @property
    def differs(self) -> bool:
        """Whether the paper has another value."""
        return self.paper is not SILENT and self.value != self.paper


def beside_paper(field: Field) -> str:
    """How a field differs from what the paper prints.

    >>> beside_paper(Field("width", 64, 256, "App. E.4"))
    'width 64 (paper 256)'
    """
    return f"{field.name} {field.value} (paper {field.paper})"


def beside_scale(field: Field) -> str:
    """How a field differs from scale paper, which has guesses, too."""
    return f"{field.name} {field.value} (paper scale {field.paper})"


@dataclass(frozen=True)
class Origin:
    """What captions and provenance tell of an entry's settings, each at a scale.

    data: sources, each with a name, where it is from, and a digest where it is a file or could be one. facts: numbers,
    and sentences where no number shows a departure, in the order in which captions have them. guesses: what was chosen
    where the paper is silent. for_tasks: the origin of a figure of some of its tasks, where it can tell of them alone.
    words: how a field differs. merged: tasks that differ in the same way have one sentence.

    >>> origin = Origin(lambda scale: [], lambda scale: ["no test set", Field("width", 64, 256, "App. E", task="add")])
    >>> origin.departures("laptop"), origin.hyperparameters("laptop")
    (['no test set', 'add: width 64 (paper 256)'], {'add: width': {'value': 64, 'from': 'reduced for scale laptop'}})
    """

    data: Callable[[str], list[dict]]
    facts: Callable[[str], Iterable[Field | str]] = lambda scale: ()
    guesses: Sequence[str] = ()
    for_tasks: Callable[[Sequence[str]], Origin] | None = None
    words: Callable[[Field], str] = beside_paper
    merged: bool = False

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """Every number, and where it comes from."""
        return {
            f"{fact.task}: {fact.name}" if fact.task else fact.name: {
                "value": fact.value,
                "from": (fact.other or f"reduced for scale {scale}") if fact.differs else fact.source,
            }
            for fact in self.facts(scale)
            if isinstance(fact, Field)
        }

    def departures(self, scale: str) -> list[str]:
        """How the scale differs from the paper, in words."""
        notes: dict[str, list[str]] = {}  # what is said, and the tasks of which it is said
        for task, facts in groupby(self.facts(scale), lambda fact: fact.task if isinstance(fact, Field) else None):
            sentences = [fact if isinstance(fact, str) else self.words(fact) for fact in facts if _in_caption(fact)]
            if task is None:
                notes |= {note: [] for note in sentences}
            elif sentences:
                words = ", ".join(sentences)
                key = words if self.merged or not task else f"{task}: {words}"
                notes.setdefault(key, []).extend([task] if self.merged else [])
        return [f"{', '.join(tasks)}: {words}" if tasks else words for words, tasks in notes.items()]


def _in_caption(fact: Field | str) -> bool:
    return isinstance(fact, str) or (fact.in_caption and fact.differs)


def compared(numbers: Callable[[str], Mapping[str, tuple[object, str]]], scale: str) -> list[Field]:
    """Numbers of a scale, by name a value and its source, next to those of scale paper."""
    paper = numbers("paper")
    return [Field(name, value, paper[name][0], source) for name, (value, source) in numbers(scale).items()]


def shipped(names: Iterable[str]) -> list[dict]:
    """Data sets as sources, with the digests of their content: where the catalogue states none, of what is here."""
    sources = []
    for known in map(datasets.entry, names):
        digest = known.digest or (datasets.digest(known.name) if datasets.find(known.name) else None)
        place = known.installed.describe() if known.installed else known.name
        sources.append({"name": known.name, "from": f"{place} ({known.licence})", "sha256": digest})
    return sources


def counted(data_from: str, fields: Sequence[Field] = (), name: str = "sraven") -> Origin:
    """Of what is counted or estimated, and not trained. name: of the task."""
    return Origin(lambda scale: [{"name": name, "from": data_from}], lambda scale: fields)
