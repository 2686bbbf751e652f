"""Settings that sections of the simplicity paper share: networks on binary operations (grokking), at each scale.

`paper` is App. E.6, with the ranges of App. C for the search; `laptop` is reduced until a figure trains on two CPU
cores in 20 minutes; `smoke` only runs the machinery.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.scale import SCALES, check_scale
from lab.spec import ConstantRate, EpisodeSpec, Learned, Perceptron, Restart, RunSpec, replace
from lab.tasks import Operation
from lab.tasks.operation import ALL

METHODS = RELU, LEARNED = "ReLU", "learned"
ADDITION = Operation("a+b", modulus=27)  # Figure 11
MODULI = (13, 27, 29, 41)  # Figure 12
# Figure 11; the paper does not say how many. Overnight is laptop with more of them.
SEEDS = {"smoke": 2, "laptop": 6, "overnight": 16, "paper": 6}
# Figure 13, with the ends of the paper's axes; what laptop has is what trains in 15 minutes
FRACTIONS = {"smoke": (0.4, 0.8), "laptop": (0.4, 0.6, 0.8, 0.95), "paper": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)}
WIDTHS = {"smoke": (8, 16), "laptop": (64, 256, 512), "paper": (64, 256, 512, 768)}
# Figure 28; at laptop scale those modulo 27, for the sake of time
OPERATIONS = {"smoke": (ALL[0], ALL[2]), "laptop": ALL[:8], "overnight": ALL[:8], "paper": ALL}
# Figure 12: searches for each version, which differ in their restarts, and episodes of each
SEARCHES = {"smoke": 1, "laptop": 1, "overnight": 3, "paper": 1}
LONG_SEARCH = 400
LEVEL = 0.95  # test accuracy that counts as solved (Figure 13)
FLOOR = 0.9  # test accuracy at the end, below which a run that solved its task counts as overfitted after all


@dataclass(frozen=True)
class Grokking:
    """One operation: the models that are trained on it, and the search for their function."""

    task: Operation  # `train` is nearly all that is not the test split
    model: Perceptron
    recipe: ConstantRate
    search: EpisodeSpec

    def runs(self, method: str, seeds: int) -> list[RunSpec]:
        """One run a seed, with ReLU or with the function that the search finds."""
        phi = Learned(self.search, "phi") if method == LEARNED else "relu"
        model = replace(self.model, phi=phi)
        return [RunSpec(self.task, model, self.recipe, seed, ("test", "train")) for seed in range(seeds)]


def grokking(scale: str = "laptop", task: Operation = ADDITION) -> Grokking:
    """An operation, its models and its search.

    The search holds out a part of what is not the test split, and decides between its restarts on it; models are then
    trained on all of it but `_SPARE`, so that ReLU and learned functions get the same data.

    >>> grokking("paper").recipe.rate, grokking("laptop").runs("ReLU", seeds=2)[1].seed
    (1.0, 1)
    """
    model = Perceptron(width=256, scale=TORCH_SIZE)
    recipe = ConstantRate(steps=60_000, rate=1.0, batch=4_096, keep="last", every=100)
    search = EpisodeSpec(
        task,
        replace(model, width=64),
        ConstantRate(4_500, 1.0, batch=4_096),
        replace(recipe, steps=10_000, keep="best"),
        _PAPER_RESTARTS,
        low=-2.0,
        high=2.0,
        episodes=225,
        growth=20.0,
        pool=("train", "val"),
        normalized=True,
        retrain_width=model.width,
    )
    if check_scale(scale, SCALES) != "paper":
        rate = LAPTOP_RATE * task.classes / ADDITION.classes
        recipe = ConstantRate(steps=5_000, rate=rate, keep="last", every=25)
        search = replace(
            search,
            inner=ConstantRate(450, rate),
            retrain=ConstantRate(500, rate, every=100),
            restarts=_LAPTOP_RESTARTS,
            growth=2.0,
        )
    if scale == "smoke":
        model, recipe = replace(model, width=8), replace(recipe, steps=12, every=4, average=4)
        search = replace(
            search,
            model=replace(model, width=4),
            inner=replace(search.inner, steps=2),
            retrain=replace(recipe, keep="best"),
            restarts=_SMOKE_RESTARTS,
            episodes=2,
            growth=1.0,
            retrain_width=8,
        )
    spare = max(_SPARE, 1 / round(task.fraction * task.classes**2))  # one pair at least
    return Grokking(replace(task, held_out=spare), model, recipe, search)


def prolonged(scale: str = "laptop", task: Operation = ADDITION) -> Grokking:
    """The same for Figure 13, which overnight trains for as long as the paper: with little data ReLU gets there late.

    >>> grokking("overnight").recipe.steps, prolonged("overnight").recipe.steps
    (5000, 60000)
    """
    base = grokking(scale, task)
    if scale != "overnight":
        return base
    return replace(base, recipe=replace(base.recipe, steps=grokking("paper").recipe.steps, every=50))


def repeated(scale: str, task: Operation, number: int = 0) -> Grokking:
    """The same for Figure 12, with the search of this number. Overnight there are several, and longer ones: after 225
    episodes functions are half noise still.

    >>> search = repeated("overnight", ADDITION, number=1).search
    >>> search.episodes, [restart.seed for restart in search.restarts]
    (400, [4, 5, 6, 7])
    """
    base = grokking(scale, task)
    count = len(base.search.restarts)
    restarts = tuple(replace(one, seed=one.seed + number * count) for one in base.search.restarts)
    episodes = LONG_SEARCH if scale == "overnight" else base.search.episodes
    return replace(base, search=replace(base.search, restarts=restarts, episodes=episodes))


# Of the initial weights: what torch gives a Linear, U(±1/√inputs), as a multiple of `lab.models.mlp.MLP`'s.
TORCH_SIZE = 6**-0.5
# For 27 classes; in proportion to their number, because the loss is a mean over outputs. Of 1, 3, 10, 30 and 100 the
# best for ReLU on the val of a+b mod 27 (3,000 steps, two seeds: .00, .02, .14; the last two diverge).
LAPTOP_RATE = 10.0
_SPARE = 0.01  # of what is not the test split: a task has a "val", and nothing is decided on this one
# App. C: "typically t = 5", 50 to 400 knots, rates of .01 to .2. On a+b mod 27, a search with inner loops of up
# to 100 steps (4 restarts, 400 episodes) found nothing that generalizes: .03 to .13 on val at step 500. With up to 450
# steps all four restarts did: .92 to 1.0.
_LAPTOP_RESTARTS = tuple(Restart(seed, rate=0.05, knots=101, window=5, start="noise") for seed in range(4))
_PAPER_RESTARTS = _LAPTOP_RESTARTS + tuple(
    Restart(seed, rate, knots, window=5, start=start)
    for seed, (start, rate, knots) in enumerate(
        ((start, rate, knots) for start in ("zero", "relu") for rate in (0.01, 0.05) for knots in (101, 400)), start=4
    )
)
_SMOKE_RESTARTS = tuple(Restart(seed, rate=0.05, knots=21, window=1, start="noise") for seed in range(2))

# Where the paper is silent, at every scale.
GUESSES = (
    "initial weights and biases as torch draws them, uniform within 1/√inputs",
    "the mean squared error is a mean over rows and outputs, the target is one-hot",
    "functions have knots on [-2, 2]; restarts begin with noise of standard deviation .1 (at paper scale also with zero"
    " and ReLU, App. C), and the gradient of the knots is divided by its length",
    "each episode trains on 80 % of what is not the test split, and measures its outer loss on the other 20 %",
    "what is evaluated is the mean of the weights over the last 50 steps, as App. E.1 has it for other data",
)
