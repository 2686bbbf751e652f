"""Hyper-parameters of algorithmic tasks and of texts at each scale.

`paper` is Table 4 of the transformers paper, but for ADDMOD's rate. Several of its cells lost their borders in the text
that was available: see `GUESSES`. `laptop` is the same where a run takes less than a minute of one core (`CHEAP`);
other tasks are reduced until all figures train on two cores, with rates chosen on `val` by `lab sweep`
(data/results/transformers/sweep). Of texts, `paper` is the last column of Table 4; `laptop` has texts that are shipped,
or on every machine, and models that train in a minute of one core. `smoke` only runs the machinery.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from lab import tasks
from lab.papers.entry import SILENT, Field, Origin, shipped
from lab.scale import COMMON, check_scale
from lab.spec import AdamTrapezoid, Learned, ModelSpec, OwnTask, RunSpec, SearchSpec, own_task, replace
from lab.tasks import Task, Text
from lab.tasks.text import text_named

STAGE_ONE_SEED = 0
TRAINED_TO, SEARCHED_TO = 10, 15  # longest COPY sequences of `train` and of `search` (Section 3.1)
BASELINE, MLP, ATTENTION, BOTH = "baseline", "learned MLP", "learned attention", "learned MLP + attention"
CHEAP = ("memorize", "addmod")  # at the paper's settings a run takes less than a minute of one core
SEEDS = {"smoke": 2, "laptop": 6, "paper": 6}


@dataclass(frozen=True)
class Setting:
    """What one task is trained with: baseline model and recipe, and the search that replaces its non-linearities."""

    task: str | Text | OwnTask
    model: ModelSpec
    recipe: AdamTrapezoid
    read: int  # step at which the compatibility matrix is read (App. B)
    models: int = 8  # M of Algorithm 1
    knots: int = 361  # spacing 1/9 on [-20, 20]
    spline_rate: float = 0.005  # best on `val` in data/results/transformers/sweep/laptop/searches.csv
    evaluate: tuple[str, ...] = ("test",)  # the split(s) that accuracy is measured on during training
    searches: int = 1  # repetitions of the search, where a figure compares one task's methods

    @property
    def task_name(self) -> str:
        """As a run has it."""
        return self.task if isinstance(self.task, str) else self.task.name

    def search(self, learn: tuple[str, ...] = ("mlp",), seed: int = STAGE_ONE_SEED) -> SearchSpec:
        """The stage-I search of this task, with the recipe of its stage II."""
        knots: dict[str, Any] = {"knots": self.knots, "spline_rate": self.spline_rate}
        return SearchSpec(self.task, self.model, self.recipe, learn, self.models, **knots, seed=seed)

    def runs(self, seeds: int, search: SearchSpec | None = None, short: bool = False, **changes) -> list[RunSpec]:
        """Baseline runs, or runs with what `search` found; `changes` go to the model, `short` stops at `read`."""
        learned: dict[str, Any] = {part: Learned(search, part) for part in search.learn} if search else {}
        model = replace(self.model, **(learned | changes))
        recipe = replace(self.recipe, stop=self.read if short else None)
        return [RunSpec(self.task, model, recipe, seed, self.evaluate) for seed in range(seeds)]


def setting(task: str, scale: str) -> Setting:
    """The hyper-parameters of a task at a scale.

    >>> setting("mano", "paper").model.heads
    8
    """
    check_scale(scale)
    base = printed(task)
    paper = replace(base, recipe=replace(base.recipe, rate=_PAPER_RATES.get(task, base.recipe.rate)))
    if scale == "smoke":
        return _smaller(paper)
    if scale == "paper" or task in CHEAP:
        return paper
    changes, steps, rate, batch, read, models = _LAPTOP[task]
    recipe = replace(paper.recipe, steps=steps, rate=rate, batch=batch, every=25 if steps <= 1000 else 50)
    # COPY: every small model scores 0 on the test lengths 16-20; "lengths" is held out too, and has 2 to 20
    evaluate = ("lengths",) if task == "copy" else paper.evaluate
    model = replace(paper.model, **changes)
    return replace(paper, model=model, recipe=recipe, evaluate=evaluate, read=read, models=models)


def _smaller(paper: Setting) -> Setting:
    model = replace(paper.model, layers=1, heads=2, width=8)
    recipe = replace(paper.recipe, steps=6, rate=0.003, batch=8, every=2)
    return replace(paper, model=model, recipe=recipe, read=4, models=2, searches=min(paper.searches, 2))


# Best on `val` in data/results/transformers/sweep/paper/sweep.csv; from 0.005 on, a GELU baseline stays at chance.
_PAPER_RATES = {"addmod": 0.002}


def printed(task: str) -> Setting:
    """Table 4. Where its cells can be read in two ways, and nothing decides, this is the cheaper one; see `GUESSES`."""
    mano = task == "mano"
    model = ModelSpec(
        layers=4 if mano else 2,
        heads=8 if mano else 2,
        width=32 if task in ("memorize", "parentheses", "addmod") else 128,
        positions="alibi" if task == "copy" else "learned",
        canon=task in ("mano", "haystack"),
        tied=mano,
    )
    steps, rate, read = _TABLE_4[task]
    betas = (0.92, 0.98) if task in ("addreversed", "copy") else (0.9, 0.999)
    recipe = AdamTrapezoid(steps, rate, batch=512, betas=betas, every=50 if steps > 1000 else 25)
    models = 3 if task in ("addreversed", "copy", "mano") else 8
    return Setting(task, model, recipe, read, models, searches=3 if task in CHEAP else 1)


def printed_rate(task: str) -> float:
    """The peak rate that Table 4 prints.

    >>> printed_rate("addmod")
    0.02
    """
    return _TABLE_4[task][1]


_TABLE_4 = {  # steps, peak rate, step of the compatibility matrix
    "memorize": (500, 0.005, 150),
    "addmod": (1000, 0.02, 300),
    "add": (1000, 0.001, 700),
    "addreversed": (1000, 0.001, 350),
    "mano": (5000, 0.001, 3000),
    "haystack": (1000, 0.001, 400),
    "copy": (2000, 0.004, 2000),
    "parentheses": (500, 0.001, 300),
}


# What differs from the paper: model, steps, peak rate, batch, step of the matrix, M. Rates are best on `val` in
# data/results/transformers/sweep/laptop/sweep.csv (`lab sweep`); docs/log.md says what did not work.
_LAPTOP: dict[str, tuple[dict, int, float, int, int, int]] = {
    "add": ({"width": 64}, 1000, 0.004, 256, 700, 3),
    "addreversed": ({}, 1000, 0.001, 128, 700, 3),
    # Canon layers make no difference that two seeds could tell (canon.csv)
    "mano": ({"layers": 2, "heads": 4, "width": 32, "canon": False, "tied": False}, 1000, 0.004, 512, 1000, 3),
    "haystack": ({"width": 32}, 1000, 0.004, 128, 400, 3),
    # without Canon layers a small model copies hardly a sequence (canon.csv)
    "copy": ({"width": 32, "canon": True}, 600, 0.004, 64, 600, 3),
    # at the paper's settings GELU stays at chance: at the printed rate, and hardly leaves it at any other of the sweep
    "parentheses": ({"positions": "alibi"}, 400, 0.004, 64, 200, 3),
}


# Where the paper is silent or cannot be read, at every scale.
GUESSES = (
    "Table 4 has lost its cell borders. Read from positions: 2 layers, untied, no Canon layers for all tasks but MANO"
    " (4 layers, tied, Canon); Adam betas (0.92, 0.98) for ADDREVERSED and COPY. HAYSTACK has Canon layers, too, which"
    " the text has for many tasks: without them GELU answers with some value of the list. M = 3 for COPY,"
    " ADDREVERSED and MANO (or 8) is the cheaper of two readings. Batch 512; with 64, the other reading for COPY and"
    " MANO, ALiBi does not learn to copy, and MANO stays at a constant answer at rates of .001 and more; at .0005 it"
    " leaves it (docs/log.md)",
    "peak rate of the knots: 0.005, from a sweep at laptop scale (lab sweep --searches)",
    "size of the training data where it is not printed: 80,000 and 20,000 more for the search (COPY, PARENTHESES:"
    " 100,000 and 20,000)",
    "Canon layers at A, B, C and D, with residual",
    "ADDMOD: the 5 % of pairs that are not for training are 471, halved into val and test",
)
ATTENTION_GUESS = (
    "attention functions start at the constant 1 (at 0 their gradient is 0) and are cut at zero, so that the"
    " denominator of kernel attention stays positive"
)


TEXT_SEEDS = {"smoke": 2, "laptop": 3, "paper": 3}
FROM_GELU = "learned MLP from GELU"  # a search for the function of the MLP that starts with GELU instead of zero
# Texts by scale: the paper's; and those that need no download. The paper tokenizes code with CodeGPT's encoding, which
# is not to be had here: one that is trained on the text stands in for it.
TEXTS = {
    "smoke": ("moby_dick char", "moby_dick bpe"),
    "laptop": ("shakespeare char", "shakespeare gpt2", "python_stdlib bpe"),
    "paper": (
        "tinystories gpt2",
        "shakespeare char",
        "shakespeare gpt2",
        "enwik8_clean char",
        "enwik8_clean gpt2",
        "code_search_net_java bpe",
        "code_search_net_python bpe",
    ),
}
# of what is on stories
STORIES = {"smoke": "moby_dick char", "laptop": "shakespeare char", "paper": "tinystories gpt2"}
STORY_NAMES = tuple(dict.fromkeys(STORIES.values()))
TEXT_NAMES = tuple(dict.fromkeys(name for scale in ("laptop", "paper", "smoke") for name in TEXTS[scale]))
PAPER_TEXTS = TEXTS["paper"]
CODE = ("code_search_net_java", "code_search_net_python", "python_stdlib")
# Layers and width of Figures 7, 13 and 14; the paper does not print its own.
SIZES = {
    "smoke": ((1, 8), (1, 16)),
    "laptop": ((1, 32), (1, 64), (2, 32), (2, 64)),
    "paper": ((2, 256), (2, 512), (4, 256), (4, 512)),
}
_TEXT_MODELS: dict[str, dict] = {"smoke": {"layers": 1, "width": 8}, "laptop": {"layers": 2, "width": 64}, "paper": {}}
_CONTEXTS = {"smoke": 16, "laptop": 64, "paper": 256}
# Peak rates at laptop scale: the baseline's best on `val`, in the table of `benchmarks/language_rates.py`.
TEXT_RECIPES = {
    "smoke": AdamTrapezoid(steps=4, rate=0.004, batch=2, every=2),
    "laptop": AdamTrapezoid(steps=600, rate=0.002, batch=16, every=50),
    "paper": AdamTrapezoid(steps=3000, rate=0.001, batch=64, every=100),
}
# Where another rate is better, in the same table.
TEXT_RATES = {"shakespeare gpt2": {"laptop": 0.0015}}
_DEEP_RATES = {"laptop": 0.001}


def language(text: str | Text, scale: str) -> Setting:
    """The hyper-parameters of a text at a scale.

    text: a name ("shakespeare char"), which gets the context of the scale; or a `Text` with a context of its own.

    >>> language("shakespeare char", "paper").model.width
    512
    """
    check_scale(scale)
    if isinstance(text, Text):
        task = text
    else:
        known = text_named(text)
        assert known is not None, f"{text} is no text"
        task = replace(known, context=_CONTEXTS[scale])
    model = ModelSpec(layers=4, heads=4, width=512, canon=True, tied=True)
    recipe = TEXT_RECIPES[scale]
    recipe = replace(recipe, rate=TEXT_RATES.get(f"{task.corpus} {task.tokens}", {}).get(scale, recipe.rate))
    models = 2 if scale == "smoke" else 3
    return Setting(task, replace(model, **_TEXT_MODELS[scale]), recipe, read=recipe.steps, models=models, knots=121)


def on_stories(scale: str) -> Setting:
    """The hyper-parameters of Tables 3 and 5: small models of TinyStories.

    >>> on_stories("paper").model.layers, on_stories("paper").models
    (2, 6)
    """
    base = language(STORIES[scale], scale)
    if scale != "paper":
        return base
    return replace(base, model=replace(base.model, layers=2, width=256), models=6)


def deeper(scale: str) -> Setting:
    """Those of Table 5's models of twice as many layers.

    >>> deeper("laptop").model.layers, deeper("laptop").recipe.rate
    (4, 0.001)
    """
    base = on_stories(scale)
    rate = _DEEP_RATES.get(scale, base.recipe.rate)
    model = replace(base.model, layers=2 * base.model.layers)
    return replace(base, model=model, recipe=replace(base.recipe, rate=rate))


# Where the paper is silent, at every scale.
TEXT_GUESSES = (
    "context: 256 tokens; the paper does not print it",
    "layers and width of the models in Figures 7, 13 and 14, which the text that was available does not have",
    "peak rate of the knots: 0.005, as for the algorithmic tasks",
    "tokens that occur fewer than 200 times in training are left out of the text, and none takes their place",
    "a text without parts of its own is cut into 100 pieces: 80 train weights, 10 the function in stage I (and weights"
    " in stage II), 5 are for choosing settings, 5 are measured",
    "Canon layers at A, B, C and D, with residual",
)

OF_OTHERS = "add"  # whose settings a task of one's own has: nothing is tuned for it


def of_sequences(task: str | Text | Task | OwnTask, scale: str) -> Setting:
    """The hyper-parameters of a task at a scale. task: a name of `lab.tasks.NAMES`, a text, or a `lab.Task`, itself or
    as its runs name it.

    >>> of_sequences("mano", "paper").model.width, of_sequences(Text("moby_dick"), "paper").model.width
    (128, 512)
    """
    if isinstance(task, Task):
        task = own_task(task)
    if isinstance(task, OwnTask):
        return replace(setting(OF_OTHERS, scale), task=task)
    if isinstance(task, Text) or text_named(task) is not None:
        return language(task, scale)
    return setting(task, scale)


def scale_of(search: SearchSpec) -> str | None:
    """The scale whose settings a search has, whatever its seed; None where it has others.

    >>> scale_of(setting("copy", "paper").search(("attention",)))
    'paper'
    """
    if not isinstance(search.task, (str, Text)):  # one's own data
        return None
    for scale in COMMON:
        same = of_sequences(search.task, scale).search(search.learn)
        if replace(same, seed=search.seed, start=search.start) == search:
            return scale
    return None


def origin(names: Sequence[str], matrix: bool = False) -> Origin:
    """The transformers paper: tasks by name, with the settings of `lab.papers.transformers.settings`.

    matrix: departures also say at which step accuracy is read. Those of the models come first.

    >>> origin(["addmod", "haystack", "copy"]).departures("laptop")[:2]
    ['haystack, copy: width 32 (paper 128)', 'copy: Canon True (paper False)']
    """
    return Origin(
        data=lambda scale: [_source(task) for task in names],
        facts=lambda scale: sorted(
            (field for task in names for field in _fields(task, scale, matrix)),
            key=lambda field: _RANKS.get(field.name, 4),
        ),
        guesses=GUESSES,
        for_tasks=lambda some: origin(some, matrix),
        merged=True,
    )


@functools.cache
def _source(task: str) -> dict:
    digest = hashlib.sha256()
    for name, split in sorted(tasks.load(task).splits.items()):
        digest.update(name.encode() + split.tokens.numpy().tobytes())
    return {"name": task, "from": "generated by lab.tasks, seed 0", "sha256": digest.hexdigest()}


def _fields(task: str, scale: str, matrix: bool) -> Iterator[Field]:
    theirs = _numbers(printed(task))
    for name, value in _numbers(setting(task, scale)).items():
        source = _SOURCES.get((task, name), _BY_POSITION if name in _UNSURE else TABLE_4)
        other = "sweep on val (lab sweep)" if name == "peak rate" else _OTHERS.get((task, name), "")
        yield Field(name, value, theirs[name], source, other, matrix or name != _READ, task)
    rate = setting(task, scale).spline_rate
    source = "not printed; sweep on val at laptop scale (lab sweep --searches)"
    yield Field("peak rate of the knots", rate, SILENT, source, task=task)


_RANKS = {"width": 0, "positions": 1, "Canon": 2, "layers": 3, "heads": 3, "tied embeddings": 3}  # of departures
TABLE_4, _READ = "paper, Table 4", "matrix read at step"
_BY_POSITION = "paper, Table 4, whose cell borders are lost: read from positions"
_CANON = "sweep on val at laptop scale (lab sweep --canon)"
_SOURCES = {("haystack", "Canon"): f"paper, Appendix B (for many tasks; Table 4 by its positions has none); {_CANON}"}
_OTHERS = {("copy", "Canon"): _CANON}
_UNSURE = ("layers", "batch", "betas", "Canon", "tied embeddings", "M", "knots")


def _numbers(setting: Setting) -> dict[str, object]:
    model, recipe = setting.model, setting.recipe
    return {
        "width": model.width,
        "layers": model.layers,
        "heads": model.heads,
        "positions": model.positions,
        "Canon": model.canon,
        "tied embeddings": model.tied,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "peak rate": recipe.rate,
        "betas": list(recipe.betas),
        "accuracy on": setting.evaluate[0],
        _READ: setting.read,
        "M": setting.models,
        "knots": setting.knots,
    }


def texts_origin(names: Sequence[str], others: Sequence[str] = ()) -> Origin:
    """Of entries about texts, by name, and about other tasks, too.

    >>> texts_origin(["shakespeare char"]).departures("laptop")[1][:20]
    'width 64 (paper 512)'
    """

    def data(scale: str) -> list[dict]:
        corpora = dict.fromkeys(name.split()[0] for name in names if name in TEXTS[scale])
        return [*shipped(corpora), *map(_source, others)]

    def facts(scale: str) -> Iterator[Field | str]:
        if scale != "paper":
            yield "texts that need no download: Shakespeare's plays, a novel, Python's standard library"
        first, *rest = [name for name in names if name in TEXTS[scale]]
        yield from _text_fields(lambda one: language(first, one), scale, {})
        for name in rest:
            if scale in TEXT_RATES.get(name, {}):
                yield _rate(f"peak rate on {name}", language(name, scale), scale)
        yield from origin(others).facts(scale)

    if others:
        return Origin(data, facts, TEXT_GUESSES + GUESSES)
    return Origin(data, facts, TEXT_GUESSES, for_tasks=texts_origin)


def stories_origin(deep: bool = False) -> Origin:
    """Of what the paper has for TinyStories. deep: there are models of twice as many layers, too.

    >>> stories_origin().departures("laptop")[0]
    "Shakespeare's plays, by characters, in the place of TinyStories"
    """

    def facts(scale: str) -> Iterator[Field | str]:
        if scale != "paper":
            corpus = "Shakespeare's plays" if scale == "laptop" else "a novel"
            yield f"{corpus}, by characters, in the place of TinyStories"
        table_3 = "paper, Table 3"
        fields = _text_fields(on_stories, scale, {"layers": table_3, "width": table_3, "M": "paper, Table 5"})
        yield from (one for one in fields if not (deep and one.name == "M"))  # Table 5 has several numbers of them
        if deep:
            yield _rate("peak rate with twice as many layers", deeper(scale), scale)

    return Origin(lambda scale: shipped([STORIES[scale].split()[0]]), facts, TEXT_GUESSES)


def _text_fields(setting: Callable[[str], Setting], scale: str, sources: Mapping[str, str]) -> Iterator[Field]:
    printed = _text_numbers(setting("paper"))
    for what, value in _text_numbers(setting(scale)).items():
        if what == "context":
            yield Field(what, value, SILENT, "guess: the paper does not print it")
        elif what == "peak rate":
            yield _rate(what, setting(scale), scale)
        else:
            yield Field(what, value, printed[what], sources.get(what, TABLE_4))
    yield Field("peak rate of the knots", setting(scale).spline_rate, SILENT, "not printed: a guess")


def _rate(what: str, setting: Setting, scale: str) -> Field:
    tuned = "the baseline's best on val: benchmarks/language_rates.py" if scale == "laptop" else ""
    return Field(what, setting.recipe.rate, TEXT_RECIPES["paper"].rate, tuned or TABLE_4, tuned)


def _text_numbers(setting: Setting) -> dict[str, object]:
    numbers = _numbers(setting) | {"context": cast(Text, setting.task).context}
    names = ("width", "layers", "heads", "context", "steps", "batch", "peak rate", "M", "knots")
    return {name: numbers[name] for name in names}
