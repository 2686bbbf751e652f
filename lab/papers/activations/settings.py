"""Hyper-parameters of the activations paper's language models at each scale.

`paper` has the sizes that the names of the paper's models say ("2L-4H-512C-1024I"); what it was trained on, and how,
is not in the text. `laptop` has a text that is shipped and models that train in half a minute of one core; `overnight`
has the laptop's models and three times the steps, of twice the batch, on stories in modern English with an encoding of
their own; `smoke` only runs the machinery.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from lab.data import datasets
from lab.models.small_language import SmallLanguageModel
from lab.papers.entry import SILENT, Field, Origin, shipped
from lab.plots.style import method_title
from lab.scale import check_scale
from lab.spec import AdamTrapezoid, RunSpec, replace
from lab.tasks import Text
from lab.training.text import MaskedText

FAMILIES = {"gpt_neo": "GPT-Neo", "roberta": "RoBERTa"}
# In the order of the paper; each learnable one with what it is before training.
FIXED = {"prelu": "relu", "swish": "silu", "learnable_gelu": "gelu", "learnable_geglu": "geglu"}
_NAMES = ("relu", "prelu", "silu", "swish", "gelu", "learnable_gelu", "geglu", "learnable_geglu", "kan", "kan_3_5")
TITLES = {name: method_title(name) for name in _NAMES}
KANS = {"kan": (5, 3), "kan_3_5": (3, 5)}  # intervals of the grid, and order
METHODS = {
    "smoke": tuple(TITLES),
    "laptop": tuple(name for name in TITLES if name != "kan_3_5"),
    "overnight": tuple(TITLES),
    "paper": tuple(TITLES),
}
SEEDS = {"smoke": 2, "laptop": 3, "overnight": 5, "paper": 5}
TEXTS = {
    "smoke": Text("moby_dick", context=160),
    "laptop": Text("shakespeare", context=160),  # no sentence of BLiMP is longer
    "overnight": Text("tinystories_train_2mb", "bpe", context=64, least=1),  # nor here; all words can be spelled
    "paper": Text("babylm_strict_small", "gpt2", context=128, least=100),
}
EACH = {
    "smoke": 1,
    "laptop": 10,
    "overnight": 200,
    "paper": 1_000,
}  # pairs of each of BLiMP's paradigms that models read
LEFT_OUT = {"overnight": ("roberta",)}  # it hardly learns (docs/log.md)
YEAR = "2023"  # of the conventions of `lab.probes.language`
SIZES: dict[str, dict[str, Any]] = {
    "smoke": {"layers": 1, "heads": 2, "width": 8, "inner": 16},
    "laptop": {"layers": 2, "heads": 4, "width": 64, "inner": 128},
    "overnight": {"layers": 2, "heads": 4, "width": 64, "inner": 128},
    "paper": {"layers": 2, "heads": 4, "width": 512, "inner": 1024},
}
_KAN_INNER = {"gpt_neo": 256, "roberta": 384}  # the paper's
RECIPES = {
    "smoke": AdamTrapezoid(steps=4, rate=0.004, batch=2, every=4),
    "laptop": AdamTrapezoid(steps=800, rate=0.004, batch=8, every=400),
    "overnight": AdamTrapezoid(steps=2_400, rate=0.004, batch=16, every=800),
    "paper": AdamTrapezoid(steps=17_000, rate=0.001, batch=64, every=1_000),
}


def families(scale: str) -> list[str]:
    """Of FAMILIES, those that are trained.

    >>> families("laptop"), families("overnight")
    (['gpt_neo', 'roberta'], ['gpt_neo'])
    """
    return [family for family in FAMILIES if family not in LEFT_OUT.get(scale, ())]


def task(scale: str, family: str) -> Text | MaskedText:
    """What a family is trained on: the next token of a text, or its masked ones.

    >>> task("laptop", "gpt_neo").name, task("laptop", "roberta").name
    ('shakespeare char', 'shakespeare char masked')
    """
    text = TEXTS[check_scale(scale, TEXTS)]
    return MaskedText(text) if family == "roberta" else text


def scale_of(task: Text | MaskedText) -> str:
    """The scale that has this task."""
    text = task.text if isinstance(task, MaskedText) else task
    return next(scale for scale, one in TEXTS.items() if one == text)


def model(scale: str, family: str, method: str) -> SmallLanguageModel:
    """The model of a family with an activation of TITLES.

    >>> model("paper", "roberta", "kan").hidden, model("laptop", "roberta", "kan_3_5").order
    (384, 5)
    """
    base = SmallLanguageModel(family, **SIZES[scale], activation="kan" if method in KANS else method)
    if method not in KANS:
        return base
    grid, order = KANS[method]
    return replace(base, grid=grid, order=order, kan_inner=_KAN_INNER[family] if scale == "paper" else None)


def runs(scale: str, family: str, method: str, seeds: int) -> list[RunSpec]:
    """One run a seed."""
    network = model(scale, family, method)
    return [RunSpec(task(scale, family), network, RECIPES[scale], seed, ("test",)) for seed in range(seeds)]


NAMES = tuple(dict.fromkeys(task(scale, family).name for scale in TEXTS for family in families(scale)))


def plan(scale: str, seeds: int, methods: Sequence[str]) -> list[tuple[dict, RunSpec]]:
    """Runs of the families with these activations."""
    return [
        ({"task": task(scale, family).name, "family": family, "method": method}, spec)
        for family in families(scale)
        for method in methods
        for spec in runs(scale, family, method, seeds)
    ]


# Where the paper is silent, at every scale.
GUESSES = (
    "the text that models are trained on, its tokens and the context: BabyLM's ten million words, whose evaluation the"
    " paper uses; GPT-2's tokens that occur 100 times or more",
    "steps, batch and learning rate, one rate for all activations; Adam without weight decay; no dropout",
    "RoBERTa's masks: 15 % of the tokens, as it is published",
    "Swish is x σ(β x), as in the paper that it cites; the formula that is printed has one x more",
    "gated layers have two thirds of the width, so that they have as many weights",
    "the grid and the order of a KAN: 5 and 3, as its authors have them; the paper says 3 and 5, respectively",
    "BLiMP by the conventions of BabyLM's evaluation in 2023, on all pairs; equal scores count as wrong",
)


RATES = {
    "overnight": "the one of scale laptop",
    "laptop": "with GELU: .004 of .002, .004, .008 has the lowest loss on val in GPT-Neo (in RoBERTa .002 is .02 nats"
    " lower)",
}


def origin(scored: bool = False) -> Origin:
    """Where these settings come from. scored: models read BLiMP, too.

    >>> origin().departures("laptop")[1].partition(",")[0]
    'width 64 (paper 512)'
    """
    return Origin(lambda scale: shipped([TEXTS[scale].corpus]), lambda scale: _facts(scale, scored), GUESSES)


_SAID = {
    "smoke": "a novel, by characters",
    "laptop": "Shakespeare's plays, by characters",
    "overnight": "the beginning of TinyStories, by tokens of an encoding of its own",
}


def _facts(scale: str, scored: bool) -> Iterator[Field | str]:
    if scale != "paper":
        yield f"{_SAID[scale]}: {datasets.entry(TEXTS[scale].corpus).shape}"
    printed = _sizes("paper")
    for name, value in _sizes(scale).items():
        yield Field(name, value, printed[name], "paper, the names of its models")
    recipe, guess = RECIPES[scale], "guess, the paper does not say"
    for name, value in (("context", TEXTS[scale].context), ("steps", recipe.steps), ("batch", recipe.batch)):
        yield Field(name, value, SILENT, guess)
    yield Field("peak rate", recipe.rate, SILENT, RATES.get(scale, guess))
    if scored:
        yield Field("pairs of each paradigm of BLiMP", EACH[scale], EACH["paper"], "all there are")


def _sizes(scale: str) -> dict[str, object]:
    sizes = SIZES[scale]
    of_kans = tuple(model(scale, family, "kan").hidden for family in FAMILIES)
    numbers = {name: sizes[name] for name in ("width", "layers", "heads")}
    return numbers | {"inner width": sizes["inner"], "KAN's inner widths": of_kans}
