"""Hyper-parameters of language models at each scale, and where each comes from.

`paper` is the last column of Table 4. `laptop` has texts that are shipped, or on every machine, and models that train
in a minute of one core. `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from lab.papers.origin import SILENT, Field, Origin, shipped
from lab.papers.transformers.settings import Setting
from lab.scale import check_scale
from lab.spec import AdamTrapezoid, ModelSpec, replace
from lab.tasks import Text
from lab.tasks.text import text_named

SEEDS = {"smoke": 2, "laptop": 3, "paper": 3}
FROM_GELU = "GELU + ours MLP"  # a search for the function of the MLP that starts with GELU instead of zero
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
STORIES = {
    "smoke": "moby_dick char",
    "laptop": "shakespeare char",
    "paper": "tinystories gpt2",
}  # of what is on stories
NAMES = tuple(dict.fromkeys(name for scale in ("laptop", "paper", "smoke") for name in TEXTS[scale]))
PAPER = TEXTS["paper"]
CODE = ("code_search_net_java", "code_search_net_python", "python_stdlib")
# Layers and width of Figures 7, 13 and 14; the paper does not print its own.
SIZES = {
    "smoke": ((1, 8), (1, 16)),
    "laptop": ((1, 32), (1, 64), (2, 32), (2, 64)),
    "paper": ((2, 256), (2, 512), (4, 256), (4, 512)),
}
_MODELS: dict[str, dict[str, Any]] = {
    "smoke": {"layers": 1, "width": 8},
    "laptop": {"layers": 2, "width": 64},
    "paper": {},
}
_CONTEXTS = {"smoke": 16, "laptop": 64, "paper": 256}
# Peak rates at laptop scale: the baseline's best on `val`, in the table of `benchmarks/language_rates.py`.
_RECIPES = {
    "smoke": AdamTrapezoid(steps=4, rate=0.004, batch=2, every=2),
    "laptop": AdamTrapezoid(steps=600, rate=0.002, batch=16, every=50),
    "paper": AdamTrapezoid(steps=3000, rate=0.001, batch=64, every=100),
}
# Where another rate is better, in the same table.
_RATES = {"shakespeare gpt2": {"laptop": 0.0015}}
_DEEP_RATES = {"laptop": 0.001}


def language(text: str | Text, scale: str) -> Setting:
    """The hyper-parameters of a text at a scale.

    text: a name ("shakespeare char"), which gets the context of the scale; or a `Text` with a context of its own.

    >>> language("shakespeare char", "paper").model.width
    512
    """
    check_scale(scale)
    task = text if isinstance(text, Text) else replace(_named(text), context=_CONTEXTS[scale])
    model = ModelSpec(layers=4, heads=4, width=512, canon=True, tied=True)
    recipe = _RECIPES[scale]
    recipe = replace(recipe, rate=_RATES.get(f"{task.corpus} {task.tokens}", {}).get(scale, recipe.rate))
    return Setting(
        task,
        replace(model, **_MODELS[scale]),
        recipe,
        read=recipe.steps,
        models=2 if scale == "smoke" else 3,
        knots=121,
    )


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


def _named(name: str) -> Text:
    text = text_named(name)
    assert text is not None, f"{name} is no text"
    return text


# Where the paper is silent or cannot be read, at every scale.
GUESSES = (
    "context: 256 tokens; the paper does not print it",
    "layers and width of the models in Figures 7, 13 and 14, which the text that was available does not have",
    "peak rate of the knots: 0.005, as for the algorithmic tasks",
    "tokens that occur fewer than 200 times in training are left out of the text, and none takes their place",
    "a text without parts of its own is cut into 100 pieces: 80 train weights, 10 the function in stage I (and weights"
    " in stage II), 5 are for choosing settings, 5 are measured",
    "Canon layers at A, B, C and D, with residual",
)
_TABLE_4 = "paper, Table 4"
_TUNED = "the baseline's best on val: benchmarks/language_rates.py"
_STORIES = {"layers": "paper, Table 3", "width": "paper, Table 3", "M": "paper, Table 5"}


def origin(names: Sequence[str]) -> Origin:
    """Of entries about texts, by name.

    >>> origin(["shakespeare char"]).departures("laptop")[1][:20]
    'width 64 (paper 512)'
    """

    def at(scale: str) -> list[str]:
        return [name for name in names if name in TEXTS[scale]]

    return Origin(
        data=lambda scale: shipped(dict.fromkeys(name.split()[0] for name in at(scale))),
        facts=lambda scale: [
            *_texts(scale),
            *_fields(lambda one: language(at(scale)[0], one), scale),
            *(
                _rate(f"peak rate on {name}", language(name, scale), scale)
                for name in at(scale)[1:]
                if scale in _RATES.get(name, {})
            ),
        ],
        guesses=GUESSES,
        for_tasks=origin,
    )


def stories_origin(deep: bool = False) -> Origin:
    """Of what the paper has for TinyStories. deep: there are models of twice as many layers, too.

    >>> stories_origin().departures("laptop")[0]
    "Shakespeare's plays, by characters, in the place of TinyStories"
    """
    return Origin(
        data=lambda scale: shipped([STORIES[scale].split()[0]]),
        facts=lambda scale: [
            *_stand_in(scale),
            *_fields(on_stories, scale),
            *([_rate("peak rate with twice as many layers", deeper(scale), scale)] if deep else []),
        ],
        guesses=GUESSES,
    )


def _texts(scale: str) -> Iterator[str]:
    if scale != "paper":
        yield "texts that need no download: Shakespeare's plays, a novel, Python's standard library"


def _stand_in(scale: str) -> Iterator[str]:
    if scale != "paper":
        corpus = "Shakespeare's plays" if scale == "laptop" else "a novel"
        yield f"{corpus}, by characters, in the place of TinyStories"


def _fields(setting: Callable[[str], Setting], scale: str) -> Iterator[Field]:
    printed, stories = _numbers(setting("paper")), setting is on_stories
    for what, value in _numbers(setting(scale)).items():
        if what == "context":
            yield Field(what, value, SILENT, "guess: the paper does not print it")
        elif what == "peak rate":
            yield _rate(what, setting(scale), scale)
        else:
            yield Field(what, value, printed[what], _STORIES.get(what, _TABLE_4) if stories else _TABLE_4)
    yield Field("peak rate of the knots", setting(scale).spline_rate, SILENT, "not printed: a guess")


def _rate(what: str, setting: Setting, scale: str) -> Field:
    source = _TUNED if scale == "laptop" else _TABLE_4
    return Field(what, setting.recipe.rate, _RECIPES["paper"].rate, source, source if scale == "laptop" else "")


def _numbers(setting: Setting) -> dict[str, object]:
    model, recipe = setting.model, setting.recipe
    return {
        "width": model.width,
        "layers": model.layers,
        "heads": model.heads,
        "context": cast(Text, setting.task).context,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "peak rate": recipe.rate,
        "M": setting.models,
        "knots": setting.knots,
    }
