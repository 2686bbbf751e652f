"""Hyper-parameters of the hypernetwork paper's language models at each scale, and where each comes from.

`paper` is Table A3, with fewer tokens than its 130 billion, which take 16 TPUs three days. `laptop` has a text that is
shipped and models that train in a few minutes of one core; `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.models.hyper import method
from lab.models.rotary_hyper import RotaryHyperModel
from lab.papers.origin import SILENT, Field, Origin, shipped
from lab.scale import check_scale
from lab.spec import AdamWCosine, RunSpec
from lab.tasks import Text

SEEDS = {"smoke": 2, "laptop": 3, "paper": 1}  # the paper shows one
TEXTS = {
    "smoke": Text("moby_dick", context=16),
    "laptop": Text("shakespeare", context=64),
    "paper": Text("c4_shard", "gpt2", context=512),
}
NAMES = tuple(dict.fromkeys(text.name for text in TEXTS.values()))
_MODELS = {
    "smoke": RotaryHyperModel(layers=1, heads=2, width=8, head_width=4, mlp_width=16),
    "laptop": RotaryHyperModel(layers=2, heads=4, width=64, head_width=16, mlp_width=256),
    "paper": RotaryHyperModel(),
}
# Loss on `val` at the end of the laptop's training, one seed that no figure uses, at rates of .001, .003 and .01:
# softmax 2.00, 1.84, 1.80; linear attention 2.37, 2.19, 2.10; HYLA at the last two 2.07, 1.86. Higher ones were not
# tried.
_RECIPES = {
    "smoke": AdamWCosine(steps=4, rate=0.003, batch=2, warmup=1, every=2),
    "laptop": AdamWCosine(steps=1_500, rate=0.01, batch=16, decay=0.1, warmup=100, every=100),
    "paper": AdamWCosine(steps=100_000, rate=0.001, batch=256, decay=0.1, warmup=1_000, every=1_000),
}


def runs(scale: str, name: str, seeds: int) -> list[RunSpec]:
    """One run a seed of a model with the method `name` of `lab.models.hyper`.

    >>> runs("paper", "hyla", seeds=1)[0].model.layers, runs("laptop", "linear", seeds=2)[1].task.name
    (6, 'shakespeare char')
    """
    model = method(name, _MODELS[check_scale(scale)])
    return [RunSpec(TEXTS[scale], model, _RECIPES[scale], seed, ("test",)) for seed in range(seeds)]


GUESSES = (
    "tokens: GPT-2's, and 512 of them a context; the paper prints neither",
    "the kqv_dim of Table A3 is the width of each head, as in NanoDO",
    "one learning rate and weight decay for all methods, the paper picks them from a grid for each",
)


def origin() -> Origin:
    """Where these settings come from."""
    return Origin(
        data=lambda scale: shipped([TEXTS[scale].corpus]),
        facts=_facts,
        guesses=GUESSES,
    )


def _facts(scale: str) -> Iterator[Field | str]:
    if scale != "paper":
        text = "Shakespeare's plays" if scale == "laptop" else "a novel"
        yield f"{text}, by characters, in the place of C4"
    printed = _numbers("paper")
    for name, value in _numbers(scale).items():
        theirs = SILENT if name == "context" else printed[name]
        sweep = "sweep on val at laptop scale" if name == "peak rate" and scale == "laptop" else ""
        yield Field(name, value, theirs, _SOURCES.get(name, "paper, Table A3"), sweep)


_SOURCES = {"context": "guess, the paper does not say", "steps": "guess: 13 of the paper's 130 billion tokens"}


def _numbers(scale: str) -> dict[str, object]:
    model, recipe = _MODELS[scale], _RECIPES[scale]
    return {
        "layers": model.layers,
        "heads": model.heads,
        "width": model.width,
        "head width": model.head_width,
        "MLP width": model.mlp_width,
        "context": TEXTS[scale].context,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "peak rate": recipe.rate,
        "weight decay": recipe.decay,
        "warm-up steps": recipe.warmup,
    }
