"""Claims on tables with a planted answer: the paper is right, the paper is wrong, nobody can know."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from lab.figures import claims, matrix
from lab.figures.claims import FAILS, HOLDS, UNDECIDED, Claim, Verdict, all_of, any_of, mean, per_seed, ratio, speed_up
from lab.figures.counted import PRINTED, counts
from lab.figures.registry import entries, entry
from lab.figures.shortcut_claims import steering
from lab.figures.style import TASK_TITLES
from lab.tasks.sraven import RULES
from tests.figures.tables import METHODS

TASKS = ("memorize", "addmod", "add", "mano")
RNG = 11


def curves(right: bool, tasks=TASKS):
    """Accuracy rises in a line. The paper is right: ours two and a half times as fast, and seeds differ less."""
    rng, rows = np.random.default_rng(RNG), []
    length = dict(zip(METHODS, (1.0, 0.4, 0.5) if right else (1.0, 2.5, 2.5), strict=True))
    spread = dict(zip(METHODS, (0.1, 0.01, 0.01) if right else (0.01, 0.1, 0.1), strict=True))
    for task in tasks:
        for method in METHODS:
            for seed in range(6):
                full = 300 * length[method] * (1 + spread[method] * rng.normal())
                rows += [(task, method, seed, step, min(step / full, 1), False) for step in range(25, 1001, 25)]
    return pd.DataFrame(rows, columns=["task", "method", "seed", "step", "accuracy", "diverged"])


def lengths(right):
    """Copied up to here, exactly: beyond 10 the methods are in the order of the paper, or in the other."""
    reach = (10, 13, 17) if right else (17, 14, 12)
    rows = [
        (method, seed, length, float(length + seed % 2 <= far), False)
        for method, far in zip(("absolute positions", "ALiBi", "ALiBi + ours MLP"), reach, strict=True)
        for seed in range(6)
        for length in range(2, 21)
    ]
    return pd.DataFrame(rows, columns=["method", "seed", "length", "accuracy", "diverged"])


def widths(right):
    rng, rows = np.random.default_rng(RNG), []
    for task in TASKS:
        for width in (8, 16, 32):
            for method in METHODS[:2]:
                gain = (0.2 if right and task == "add" else -0.2) * (method == "ours MLP") * (width < 32)
                rows += [(task, method, width, s, 0.5 + gain + 0.01 * rng.normal(), False) for s in range(6)]
    return pd.DataFrame(rows, columns=["task", "method", "width", "seed", "accuracy", "diverged"])


def matrices(right):
    """Gains: 20 points on the diagonal and 5 beside it, or less than nothing; the attention's are worse, or better."""
    rng, rows, tasks = np.random.default_rng(RNG), [], list(TASK_TITLES)
    worse = {"MLP": 0.0, "attention": -0.3, "both": -0.1} if right else {"MLP": 0.0, "attention": 0.3, "both": 0.3}
    for part, shift in worse.items():
        for task in tasks:
            for architecture in ("baseline", *tasks):
                gain = 0.05 if right else -0.05
                if architecture == task:
                    gain = 0.2 if right else -0.2
                value = 0.5 if architecture == "baseline" else 0.5 + gain + shift
                rows += [(part, task, architecture, s, 100, value + 0.001 * rng.normal(), False) for s in range(6)]
    return pd.DataFrame(rows, columns=["part", "task", "architecture", "seed", "step", "accuracy", "diverged"])


def variants(right):
    rng, rows, sign = np.random.default_rng(RNG), [], 1 if right else -1
    kinds = {("baseline", 0): 0, ("ours MLP", 0): 0.1, ("symmetrized", 0): 0.1 - 0.05 * sign,
             ("polynomial", 6): 0.02, ("polynomial", 18): 0.02 + 0.05 * sign, ("polynomial", 24): 0.0}  # fmt: skip
    for task in TASKS:
        for (method, degree), gain in kinds.items():
            rows += [(task, method, degree, s, 0.5 + gain + 0.005 * rng.normal(), False) for s in range(6)]
    return pd.DataFrame(rows, columns=["task", "method", "degree", "seed", "accuracy", "diverged"])


def logic(right):
    rng, rows = np.random.default_rng(RNG), []
    lost = {"softmax": 0.3, "linear": 0.35, "hyla": 0.1 if right else 0.5}
    for method, drop in lost.items():
        for length in (16, 32):
            for held_out in (0.3, 0.5, 0.7):
                for seed in range(3):
                    score = 0.9 - drop * (held_out - 0.3) / 0.4 + 0.005 * rng.normal()
                    unseen = (0.1 if right else 0.8) + 0.005 * rng.normal()
                    rows.append((method, length, held_out, seed, score, 0.9, unseen, False, True))
    names = ["method", "length", "held_out", "seed", "r2_paper_ood", "r2_paper_test", "r2_paper_unseen_terms"]
    return pd.DataFrame(rows, columns=[*names, "diverged", "chosen"])


def problems(right):
    rng, rows = np.random.default_rng(RNG), []
    least = {"softmax": 0.5, "linear": 0.4, "hyla": 0.6 if right else 0.2}
    for method, score in least.items():
        for number, value in ((256_000, score), (768_000, 0.9 if right else 0.7)):
            for seed in range(3):
                rows.append((method, number, seed, value + 0.005 * rng.normal(), False, True))
        rows.append((method, 768_000, 0, float("nan"), False, False))  # of a grid, a point that was not chosen
    return pd.DataFrame(rows, columns=["method", "problems", "seed", "accuracy_ood", "diverged", "chosen"])


def along(by, right, sign=1):
    """Accuracy by `by`: rises as the paper says, or falls; HYLA leads where it is small, or is last."""
    rng, rows = np.random.default_rng(RNG), []
    lead = {"softmax": 0.0, "linear": -0.05, "hyla": 0.05 if right else -0.1}
    for method, more in lead.items():
        for value in (2, 4, 8):
            for seed in range(3):
                slope = (0.02 if right else -0.02) * sign * value
                rows.append((method, 256_000, value, seed, 0.5 + more + slope + 0.005 * rng.normal(), False, True))
    names = ["method", "problems", by, "seed", "accuracy_ood", "diverged", "chosen"]
    return pd.DataFrame(rows, columns=names)


def ablations(right):
    """The parts of HYLA, and experts, add ten points each; or take them."""
    rng, rows, gain = np.random.default_rng(RNG), [], 0.1 if right else -0.1
    parts = {"softmax": 0, "linear": 0, "linear_rms_head": 1, "hyla_linear": 1, "hyla": 2, "hyla_softmax": 0,
             "softmax_experts": 1, "linear_experts": 1, "hyla_experts": 3}  # fmt: skip
    for task in ("logic", "sraven"):
        for method, number in parts.items():
            rows += [(task, method, s, 0.5 + gain * number + 0.005 * rng.normal(), False, True) for s in range(3)]
    return pd.DataFrame(rows, columns=["task", "method", "seed", "value", "diverged", "chosen"])


def decoders(right):
    rng, rows = np.random.default_rng(RNG), []
    for method in ("softmax", "linear", "hyla"):
        for seed in range(3):
            for layer in range(4):
                value = 0.4 + 0.1 * layer if right else 0.4 - 0.1 * layer
                rows.append((method, seed, layer, "+-++", value + 0.005 * rng.normal(), 0.3, 0.35))
    return pd.DataFrame(rows, columns=["method", "seed", "layer", "label", "value", "chance", "shuffled"])


def similarities(right):
    rng, rows, pair = np.random.default_rng(RNG), [], {"addition", "subtraction"}
    for method in ("softmax", "hyla"):
        for seed in range(3):
            for a in RULES:
                for b in RULES:
                    high = 1.0 if a == b else 0.9 if ({a, b} == pair) == right else 0.2
                    rows.append((method, seed, a, b, high + 0.01 * rng.normal()))
    return pd.DataFrame(rows, columns=["method", "seed", "a", "b", "similarity"])


def counted(right):
    table = counts()
    return table if right else table.assign(tasks="7", problems="1000")


def fractions(right):
    """Of a million problems, as printed, or with more ambiguous ones the more values there are."""
    rows = [(4, values, "reference code's count", paper if right else 0.1 * values, 1e-6, 10**6, paper, 1e-6)
            for values, (paper, _) in PRINTED.items()]  # fmt: skip
    rows.append((4, 8, "paper's words", 0.2, 1e-6, 10**6, np.nan, np.nan))
    names = ["features", "values", "counting", "fraction", "standard_error", "problems", "paper", "paper_error"]
    return pd.DataFrame(rows, columns=names)


def complexities(right):
    """Twelve models a seed: both measures rank them alike, or the other way round."""
    tv = np.geomspace(0.01, 10, 12)
    rows = [(seed, output, one, one**0.5 if right else 1 / one, False) for output in ("probability", "logit")
            for seed in range(3) for one in tv]  # fmt: skip
    return pd.DataFrame(rows, columns=["seed", "output", "tv", "fourier", "diverged"])


def grokked(right, tasks=("a+b mod 27",)):
    """Training accuracy rises at once; test accuracy later: with the learned function a tenth as late, or never."""
    rng, rows = np.random.default_rng(RNG), []
    for task in tasks:
        for method, late in (("ReLU", 2000), ("learned", 200 if right else np.inf)):
            for seed in range(6):
                at = late * (1 + 0.02 * rng.normal())
                rows += [(task, method, seed, step, float(step >= at), float(step >= 100), False)
                         for step in range(20, 4001, 20)]  # fmt: skip
    names = ["task", "method", "seed", "step", "accuracy", "accuracy_train", "diverged"]
    return pd.DataFrame(rows, columns=names)


def versions(right):
    """One version is enough to be wrong."""
    easy, hard = "a+b mod 13", "a+b mod 41"
    return pd.concat([grokked(True, (easy,)), grokked(right, (hard,))], ignore_index=True)


def arrivals(right):
    """Steps to 95 % of test accuracy, by fraction and width."""
    rng, rows = np.random.default_rng(RNG), []
    for fraction, width in ((0.4, 256), (0.8, 64), (0.8, 256)):
        for method, step in (("ReLU", 2000), ("learned", 200 if right or width > 64 else np.nan)):
            rows += [("a+b mod 27", fraction, width, method, seed, step + 20 * rng.normal(), 1.0, 4000, False)
                     for seed in range(6)]  # fmt: skip
    names = ["task", "fraction", "width", "method", "seed", "step", "accuracy", "last", "diverged"]
    return pd.DataFrame(rows, columns=names)


def operations(right):
    return pd.concat([grokked(right, (f"operation {i}",)) for i in range(4)], ignore_index=True)


MODES = ("classification", "regression")
METHODS_OF_IMAGES = ("ReLU", "learned from ReLU", "learned from zero", "layer-specific")


def image_runs(right):
    """Two sets, 1 and 2 hidden layers. In classification all methods are alike, or ReLU is far behind; in regression
    they get better in their order, or worse."""
    rng, rows = np.random.default_rng(RNG), []
    for name in ("mnist", "fashion_mnist"):
        for mode in MODES:
            for number, method in enumerate(METHODS_OF_IMAGES):
                level = 0.9 if right or number else 0.3
                if mode == "regression":
                    level = 0.5 + (0.05 if right else -0.05) * number
                rows += [(name, mode, method, layers, seed, level - 0.01 * layers + 0.001 * rng.normal(),
                          level - 0.01 * layers, False) for layers in (1, 2) for seed in range(3)]  # fmt: skip
    names = ["set", "mode", "method", "layers", "seed", "accuracy", "accuracy_val", "diverged"]
    return pd.DataFrame(rows, columns=names)


def image_models(right):
    """Complexity goes with accuracy in regression and against it in classification, or the other way round."""
    table = image_runs(True)
    along = (table["mode"] == "regression") == right
    return table.assign(tv=table["accuracy"].where(along, 1 / table["accuracy"]))


def image_functions(right):
    """Functions for regression go up and down more often than those for classification, or less."""
    rng, rows = np.random.default_rng(RNG), []
    for name in ("mnist", "fashion_mnist"):
        for mode in MODES:
            for method in METHODS_OF_IMAGES[1:]:
                turns = {"classification": 3.0, "regression": 5.0} if right else dict.fromkeys(MODES, 1.5)
                turns = turns[mode] - (0 if right or mode == "classification" else 0.3)
                like = (0.99, 0.95) if right else (0.95, 0.99)
                rows += [(name, mode, method, restart, 1, 0.8, restart == 0, turns + 0.1 * rng.random(), *like)
                         for restart in range(3)]  # fmt: skip
    names = ["set", "mode", "method", "restart", "layer", "accuracy", "chosen", "turns", "gelu", "relu"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(gelu=table["gelu"] + 0.001 * rng.random(len(table)))


def tabular(right):
    """Three tables, which want networks of different complexity; learned functions are better than ReLU, input
    functions best; or nothing but trees is better."""
    rng, rows = np.random.default_rng(RNG), []
    better = {"ReLU": 0.0, "TanH": 0.02, "learned": 0.05, "IAFs": 0.07} if right else {
        "ReLU": 0.06, "TanH": 0.04, "learned": 0.02, "IAFs": 0.0}  # fmt: skip
    for number, name in enumerate(("covertype", "MagicTelescope", "bank-marketing")):
        rows.append((name, "boosted trees", "", 0, 1.0, 0, 0.85 if right else 0.84, 5.0, True, False))
        for method, gain in better.items():
            complex = 1 + 10 * gain
            for layers in (1, 2):
                for seed in range(6):
                    noise = 1 + 0.01 * rng.normal()
                    tv = complex * (2.0**number * noise if right else 1)
                    accuracy = 0.78 + gain + 0.01 * layers + 0.001 * rng.normal()
                    rows.append((name, method, "", layers, 1.0, seed, accuracy, tv, layers == 2, False))
    names = ["table", "method", "start", "layers", "prefactor", "seed", "accuracy", "tv", "chosen", "diverged"]
    return pd.DataFrame(rows, columns=names)


def reused(right):
    """Widths and depths help; so does the learned function, or not."""
    rng = np.random.default_rng(RNG)
    rows = [(name, method, layers, width, seed, 0.7 + 0.02 * layers + 0.0002 * width + 0.001 * rng.normal()
             + (0.05 if right else -0.05) * (method == "learned"), False)
            for name in ("covertype", "pol") for method in ("ReLU", "learned") for layers in (1, 2, 3)
            for width in (16, 64) for seed in range(6)]  # fmt: skip
    return pd.DataFrame(rows, columns=["table", "method", "layers", "width", "seed", "accuracy", "diverged"])


def looked_at(right):
    """Complexity rises, most with input functions, which keep to the axes; or all of it the other way round."""
    rng, sign, rows = np.random.default_rng(RNG), 1 if right else -1, []
    for name in ("covertype", "MagicTelescope"):
        for rank, method in enumerate(("ReLU", "TanH", "learned", "IAFs")):
            for seed in range(6):
                tv = 5 + sign * (rank + 0.1 * rng.normal())
                numbers = {"solution": tv, "ambient": tv * 1.5**sign, "alignment": 0.6 + sign * 0.1 * rank}
                rows += [(name, method, seed, part, 0, value) for part, value in numbers.items()]
                rows += [(name, method, seed, "course", step, tv + sign * step / 100) for step in (200, 0, 100)]
    return pd.DataFrame(rows, columns=["table", "method", "seed", "part", "x", "value"])


def methods(*means):
    """Accuracies by method, each method with its mean."""

    def planted(right):
        rng = np.random.default_rng(RNG)
        rows = [(method, seed, mean[not right] + 0.001 * rng.normal(), False) for method, mean in means
                for seed in range(6)]  # fmt: skip
        return pd.DataFrame(rows, columns=["method", "seed", "accuracy", "diverged"])

    return planted


def restarts(right):
    """ReLU and three restarts, the second of which was chosen."""
    parts = []
    for number, level in enumerate((0.42, 0.47, 0.44)):
        part = methods(("learned", (level, (0.38, 0.33, 0.36)[number])))(right)
        parts.append(part.assign(restart=number, start="zero", rate=0.1, chosen=number == 1))
    base = methods(("ReLU", (0.4, 0.4)))(right).assign(restart=-1, start="", rate=np.nan, chosen=False)
    return pd.concat([base, *parts], ignore_index=True)


interpolations = methods(("ReLU", (0.4, 0.4)), ("nearest", (0.42, 0.47)), ("linear", (0.45, 0.38)),
                         ("cubic", (0.452, 0.35)))  # fmt: skip
objectives = methods(("ReLU", (0.4, 0.4)), ("train", (0.42, 0.43)), ("val", (0.45, 0.38)), ("test", (0.451, 0.45)))


def interpolated(right):
    """Functions of four restarts: the cubic one is the linear one with noise, or another one."""
    rng, parts = np.random.default_rng(RNG), []
    for restart in range(4):
        for method, knots in (("linear", 21), ("cubic", 181)):
            x = np.linspace(-5, 5, knots)
            value = np.sin(x) if right or method == "linear" else np.cos(x)
            value = value + 0.01 * rng.normal(size=knots)
            parts.append(pd.DataFrame({"method": method, "restart": restart, "x": x, "value": value}))
    return pd.concat(parts, ignore_index=True)


def transferred(right):
    """Three functions on two sets at two depths, better than ReLU on both, or worse."""
    rng, rows = np.random.default_rng(RNG), []
    gains = {"ReLU": 0.0, "mnist": 0.05, "fashion_mnist": 0.03, "all": 0.01}
    for source, gain in gains.items():
        for target in ("mnist", "fashion_mnist"):
            for layers in (2, 4):
                level = 0.5 + (gain if right else -gain) + 0.001 * layers
                rows += [(source, target, layers, seed, level + 0.001 * rng.normal(), False) for seed in range(6)]
    return pd.DataFrame(rows, columns=["source", "target", "layers", "seed", "accuracy", "diverged"])


def opposed(right):
    """What is good for one set is bad for the other, where the claim is wrong."""
    table = transferred(True)
    if not right:
        other = table["target"] == "mnist"
        table.loc[other, "accuracy"] = 1 - table.loc[other, "accuracy"]
    return table


def collages(right):
    """ReLU goes by the easy tile alone, or by the hard one; learned functions go by their tile, or by the other one,
    and more so with spectral normalization, or less."""
    rng, rows = np.random.default_rng(RNG), []
    ends = {"ReLU": (0.6, 0.1), "learned for easy": (0.7, 0.1), "learned for hard": (0.4, 0.3)}
    for spectral in (False, True):
        for method, (easy, hard) in ends.items():
            pair = (easy + 0.1 * (spectral and method == "learned for easy"), hard) if right else (hard, easy)
            if not right and spectral and method == "learned for easy":
                pair = hard, easy + 0.1
            for seed in range(3):
                for step in (0, 10, 20):
                    now = [0.1 + (value - 0.1) * step / 20 + 0.002 * rng.normal() for value in pair]
                    rows.append((spectral, method, seed, step, 0.9, *now, *[step / 20] * 3, False))
    names = ["spectral", "method", "seed", "step", "accuracy", "easy", "hard", "val", "val_easy", "val_hard"]
    return pd.DataFrame(rows, columns=[*names, "diverged"])


def transfers(right):
    """Own functions solve an operation, others nearly, the one for all always; or all of them are worse than ReLU."""
    rng, rows, tasks = np.random.default_rng(RNG), [], [f"operation {i}" for i in range(5)]
    for task in tasks:
        for function in (*tasks, "ReLU", "all operations"):
            level = {"ReLU": 0.3, "all operations": 1.0, task: 0.9}.get(function, 0.7)
            level += 0.01 * rng.normal()
            level = level if right else 1.1 - level - 0.3 * (function == "all operations")
            rows += [(task, function, seed, np.nan, level, 4000, False) for seed in range(2)]
    return pd.DataFrame(rows, columns=["task", "function", "seed", "step", "accuracy", "last", "diverged"])


PLANTED = {
    "transformers/fig2": curves, "transformers/fig3": lengths, "transformers/fig4": widths,
    "transformers/fig5": matrices, "transformers/fig10": curves, "transformers/fig11": matrices,
    "transformers/fig12": variants, "hypernetwork/fig2b": decoders, "hypernetwork/fig2c": logic,
    "hypernetwork/figA3": logic, "hypernetwork/fig4a": problems, "hypernetwork/fig5e": similarities,
    "hypernetwork/fig5f": decoders, "hypernetwork/figA9": counted, "hypernetwork/tableA2": fractions,
    "hypernetwork/fig4b": partial(along, "layers"), "hypernetwork/fig5c": partial(along, "heads"),
    "hypernetwork/fig5d": partial(along, "features", sign=-1),
    "hypernetwork/figA5": partial(along, "held_out", sign=-1), "hypernetwork/tableA1": ablations,
    "simplicity/fig2": image_runs, "simplicity/fig3": image_functions, "simplicity/fig4": image_models,
    "simplicity/fig16": image_functions, "simplicity/fig18": image_models,
    "simplicity/fig9": collages, "simplicity/fig25": collages, "simplicity/fig26": collages,
    "simplicity/fig14": transfers,
    "simplicity/fig29": complexities,
    "simplicity/table1": restarts, "simplicity/table2": interpolations, "simplicity/table3": objectives,
    "simplicity/fig15": interpolated, "simplicity/table4": transferred, "simplicity/fig19": opposed,
    "simplicity/fig11": grokked, "simplicity/fig12": versions,
    "simplicity/fig13": arrivals, "simplicity/fig28": operations,
    "simplicity/fig5": tabular, "simplicity/fig20": tabular, "simplicity/fig6": tabular, "simplicity/fig22": tabular,
    "simplicity/fig23": tabular, "simplicity/fig8": reused, "simplicity/fig21": reused,
    "simplicity/fig7": looked_at, "simplicity/fig24": looked_at,
}  # fmt: skip
CASES = [pytest.param(name, claim, id=f"{name}: {claim.says}") for name in PLANTED for claim in entry(name).claims]
COUNTED = ("hypernetwork/figA9", "hypernetwork/tableA2")


def test_every_claim_of_the_catalogue_has_planted_tables():
    assert {name for name, found in entries().items() if found.claims} == set(PLANTED)
    says = [claim.says for found in entries().values() for claim in found.claims]
    assert all(text[0].isupper() and not text.endswith(".") and len(text) < 90 for text in says)


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_a_claim_holds_where_the_paper_is_right_and_fails_where_it_is_wrong(name, claim):
    before = PLANTED[name](True)
    table = before.copy()
    found = claim.measure(table)
    assert found.word == HOLDS, found
    assert table.equals(before), "measuring changes nothing"
    found = claim.measure(PLANTED[name](False))
    if "by chance" in claim.says:  # of 8 tasks, a third of all draws by chance has none on the diagonal
        assert found.word == UNDECIDED and found.effect == 0, found
    else:
        assert found.word == FAILS, found


@pytest.mark.parametrize(("name", "claim"), [case for case in CASES if case.values[0] not in COUNTED])
def test_nothing_is_decided_where_no_run_has_a_number(name, claim):
    table = PLANTED[name](True)
    for column in ("accuracy", "value", "similarity", "accuracy_ood"):
        if column in table:
            table[column] = np.nan
    table[[column for column in table if column.startswith("r2")]] = np.nan
    if "diverged" in table:
        table["diverged"] = True
    if name == "transformers/fig5" and "chance" in claim.says:
        assert claim.measure(table).word != HOLDS  # no column has a best
    else:
        assert claim.measure(table).word == UNDECIDED


OVER_SEEDS = ("transformers/fig3", "hypernetwork/fig2c", "hypernetwork/fig5f")


@pytest.mark.parametrize(("name", "claim"), [case for case in CASES if case.values[0] in OVER_SEEDS])
def test_one_seed_decides_nothing(name, claim):
    table = PLANTED[name](True)
    found = claim.measure(table[table["seed"] == 0])
    assert (found.word, found.n) == (UNDECIDED, 1) and np.isnan(found.low)


# The statistics.


def test_an_effect_that_is_not_there_holds_once_in_forty():
    """Student's t is exact for normal values: of 2,000 samples of three, 2.5 % lie wholly above the truth."""
    samples = np.random.default_rng(0).normal(size=(2000, 3))
    words = [mean(sample, above=0.0).word for sample in samples]
    assert abs(words.count(HOLDS) / 2000 - 0.025) < 0.012  # 3.4 standard errors
    assert abs(words.count(FAILS) / 2000 - 0.025) < 0.012


def test_of_many_cases_without_effect_hardly_one_is_found():
    """Bonferroni: at most 2.5 % of 500 times, where one case alone at 95 % would be found in a fifth of them."""
    rng = np.random.default_rng(1)
    found = [any_of({str(i): rng.normal(size=4) for i in range(8)}, above=0.0).word for _ in range(500)]
    assert found.count(HOLDS) / 500 < 0.025 + 0.02


def test_the_verdict_is_where_the_interval_lies():
    def word(low, high, **claimed):
        return Verdict((low + high) / 2, low, high, 5, "seeds", **claimed).word

    assert word(0.1, 2, above=0.0) == HOLDS and word(-2, -0.1, above=0.0) == FAILS
    assert word(-0.1, 2, above=0.0) == UNDECIDED
    assert word(0, 0, above=0.0) == FAILS, "no effect at all is not above nothing"
    assert word(-2, -0.1, below=0.0) == HOLDS and word(0.1, 2, below=0.0) == FAILS
    assert word(0.6, 1.9, above=0.5, below=2.0) == HOLDS and word(0.6, 2.1, above=0.5, below=2.0) == UNDECIDED
    assert word(2.0, 9.0, above=0.5, below=2.0) == FAILS
    assert word(np.nan, np.nan, above=0.0) == UNDECIDED


def test_several_cases():
    yes, no, open_ = ([5.0, 5.1, 5.2], [-5.0, -5.1, -5.2], [-9.0, 0.0, 10.0])

    def both(*cases):
        return all_of(mean(case, above=0.0) for case in cases).word

    assert (both(yes, yes), both(yes, open_), both(open_, no), both(no, yes)) == (HOLDS, UNDECIDED, FAILS, FAILS)

    def some(*cases):
        return any_of({str(i): case for i, case in enumerate(cases)}, above=0.0).word

    assert (some(yes, no), some(no, open_), some(no, no)) == (HOLDS, UNDECIDED, FAILS)
    assert both() == some() == UNDECIDED


def test_a_ratio_is_the_same_both_ways():
    values = np.log([1.5, 2.0, 2.5])
    there, back = ratio(values), ratio(-values)
    np.testing.assert_allclose([there.effect, there.low, there.high], [1 / back.effect, 1 / back.high, 1 / back.low])


def test_a_speed_up_is_the_ratio_of_slopes():
    def line(full, seeds=3):
        return pd.DataFrame([(s, step, min(step / (full * (1 + s)), 1)) for s in range(seeds)
                             for step in range(10, 1001, 10)], columns=["seed", "step", "accuracy"])  # fmt: skip

    found = speed_up(line(300), line(97))
    assert found.effect == pytest.approx(300 / 97) and found.n == 3
    never = line(300).assign(accuracy=0.1)
    assert speed_up(never, line(100, 1)).effect == pytest.approx(20), "step 1000 at least, against 50"
    assert speed_up(never, never).word == UNDECIDED and "none reaches 50 %" in speed_up(never, never).case
    lost = line(300).assign(diverged=True, accuracy=0.1)
    assert speed_up(line(300), lost).n == 0, "a run that diverged first says nothing"


def test_a_diverged_run_is_left_out_whole():
    table = pd.DataFrame({"seed": [0, 0, 1, 1], "method": "a", "accuracy": [0.5, np.nan, 0.2, 0.4],
                          "diverged": [True, True, False, False]})  # fmt: skip
    assert per_seed(table, "method")["a"].round(9).tolist()[-1] == 30.0
    assert mean(per_seed(table, "method")["a"]).n == 1


def test_stopping_early_for_a_tile_is_not_steering():
    """Three runs alike, whose easy tile is best halfway, and the hard one at the end."""
    course = {0: (0.1, 0.1), 10: (0.5, 0.2), 20: (0.4, 0.4)}
    methods = ("ReLU", "learned for easy", "learned for hard")
    rows = [(True, method, seed, step, *pair, *pair, False) for method in methods for seed in range(3)
            for step, pair in course.items()]  # fmt: skip
    names = ["spectral", "method", "seed", "step", "easy", "hard", "val_easy", "val_hard", "diverged"]
    assert steering(pd.DataFrame(rows, columns=names)).tolist() == [0.0, 0.0, 0.0]


def test_the_claims_of_an_entry_are_values():
    claim = Claim("x", lambda table: claims.exact(1.0, 1, above=0.0))
    assert claim.measure(pd.DataFrame()).word == HOLDS
    with pytest.raises(AttributeError):
        claim.says = "y"


def test_the_papers_own_matrix_agrees_with_its_claims():
    """The gains that the paper prints, taken as runs without noise, put half of the best on the diagonal."""
    rows = [("MLP", t, a, s, 100, 0.5 + (matrix.PAPER.loc[a, t] / 100 if a != "baseline" else 0))
            for t in matrix.PAPER for a in ("baseline", *matrix.PAPER.index) for s in range(3)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["part", "task", "architecture", "seed", "step", "accuracy"])
    chance, own, transfer = (claim.measure(table) for claim in entry("transformers/fig5").claims)
    assert chance.effect == 50.0 and chance.word == HOLDS
    assert own.effect > 0 and transfer.word == HOLDS
