"""Tables with a planted answer for figures of the simplicity paper: `PLANTED[name](right)`, right or wrong."""

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import norm

from lab.data.datasets import BENCHMARK

NAMES = [f"simplicity/fig{number}" for number in range(2, 31)]
NAMES.insert(10, "simplicity/sizes")  # after Figure 11
NAMES += [f"simplicity/table{number}" for number in (1, 2, 3, 4)]

RNG = 11


def complexities(right):
    """Twelve models a seed: both measures rank them alike, or the other way round."""
    tv = np.geomspace(0.01, 10, 12)
    rows = [
        (seed, number, 2, output, one, one**0.5 if right else 1 / one, False)
        for output in ("probability", "before the softmax")
        for seed in range(3)
        for number, one in enumerate(tv)
    ]
    return pd.DataFrame(rows, columns=["seed", "prefactor", "layers", "output", "tv", "fourier", "diverged"])


def grokked(right, tasks=("a+b mod 27",)):
    """Training accuracy rises at once; test accuracy later: with the learned function a tenth as late, or never."""
    rng, rows = np.random.default_rng(RNG), []
    for task in tasks:
        for method, late in (("ReLU", 2000), ("learned", 200 if right else np.inf)):
            for seed in range(6):
                at = late * (1 + 0.02 * rng.normal())
                rows += [
                    (task, method, seed, step, float(step >= at), float(step >= 100), False)
                    for step in range(20, 4001, 20)
                ]
    names = ["task", "method", "seed", "step", "accuracy", "accuracy_train", "diverged"]
    return pd.DataFrame(rows, columns=names)


def sized(right):
    """The same with initial weights of torch's size and of a quarter."""
    return pd.concat([grokked(right).assign(size=size, width=256) for size in (1.0, 0.25)], ignore_index=True)


def sines(right):
    """Functions of two versions, three searches each: sines of different frequencies, or none."""
    rng, rows = np.random.default_rng(RNG), []
    for task, frequency in (("a+b mod 13", 2.0), ("a+b mod 41", 5.0)):
        for search in range(3):
            near = frequency + 0.05 * rng.normal()
            for chosen in (False, True):
                explained = (0.9 + 0.01 * rng.normal() if right else 0.1 + 0.01 * rng.normal()) if chosen else np.nan
                rows += [(task, search, int(chosen), chosen, x, near, explained, 0.4) for x in (-1.0, 0.0, 1.0)]
    return pd.DataFrame(rows, columns=["task", "search", "restart", "chosen", "x", "frequency", "explained", "noise"])


def same_sines(right):
    """Sines all of them; of one frequency, where the claim is that it varies."""
    return sines(True) if right else sines(True).assign(frequency=3.0)


def arrivals(right):
    """Steps to 95 % of test accuracy, by fraction and width. Of some runs with the learned function the
    accuracy falls again; or of some with ReLU."""
    rng, rows = np.random.default_rng(RNG), []
    for fraction, width in ((0.4, 256), (0.8, 64), (0.8, 256)):
        for method, step in (("ReLU", 2000), ("learned", 200 if right or width > 64 else np.nan)):
            falls = width == 64 and method == ("learned" if right else "ReLU")
            end = 0.6 if falls else 1.0
            rows += [
                ("a+b mod 27", fraction, width, method, seed, step + 20 * rng.normal(), end, 4000, False)
                for seed in range(6)
            ]
    names = ["task", "fraction", "width", "method", "seed", "step", "accuracy", "last", "diverged"]
    return pd.DataFrame(rows, columns=names)


def operations(right):
    return pd.concat([grokked(right, (f"operation {i}",)) for i in range(4)], ignore_index=True)


MODES = ("classification", "regression")
METHODS_OF_IMAGES = ("ReLU", "learned from ReLU", "learned from zero", "layer-specific")


def image_runs(right):
    """Two sets, 1 and 4 hidden layers. In classification all methods are alike, or ReLU is far behind; in regression
    they get better in their order, or worse."""
    rng, rows = np.random.default_rng(RNG), []
    for name in ("mnist", "fashion_mnist"):
        for mode in MODES:
            for number, method in enumerate(METHODS_OF_IMAGES):
                level = 0.9 if right or number else 0.3
                if mode == "regression":
                    level = 0.7 + (0.05 if right else -0.05) * number
                rows += [
                    (
                        name,
                        mode,
                        method,
                        layers,
                        seed,
                        level - 0.01 * layers + 0.001 * rng.normal(),
                        level - 0.01 * layers,
                        False,
                    )
                    for layers in (1, 4)
                    for seed in range(3)
                ]
    names = ["set", "mode", "method", "layers", "seed", "accuracy", "accuracy_val", "diverged"]
    return pd.DataFrame(rows, columns=names)


def depths(right):
    """On `val` ReLU is best with four layers, all others with one; on `test`, too, or the other way round."""
    table = image_runs(True)
    relu = table["method"] == "ReLU"
    table["accuracy_val"] = 0.5 + 0.01 * table["layers"].where(relu, -table["layers"])
    noise = 0.001 * np.random.default_rng(RNG).normal(size=len(table))
    return table.assign(accuracy=(table["accuracy_val"] if right else 1 - table["accuracy_val"]) + noise)


def image_models(right):
    """Complexity goes with accuracy in regression and against it in classification, or the other way round."""
    table = image_runs(True)
    along = (table["mode"] == "regression") == right
    return table.assign(tv=table["accuracy"].where(along, 1 / table["accuracy"]))


def one_mode_correlated(right):
    """Complexity goes with accuracy in regression and with nothing in classification, or the other way round."""
    table = image_runs(True)
    along = (table["mode"] == "regression") == right
    numbers = table.groupby(["set", "mode", "method", "layers"], sort=False).ngroup()
    return table.assign(tv=table["accuracy"].where(along, np.cos(2.4 * numbers)))


def image_functions(right):
    """Functions for regression go up and down more often than those for classification, which are wavelets, or GELU
    where they were learned from a ReLU; or it is regression that has smooth functions, and nothing is like GELU."""
    rng, x, parts = np.random.default_rng(RNG), np.linspace(-5, 5, 51), []
    relu, wave = x.clip(0), np.sin(3 * x)
    far = np.where(x < -3, wave, 0)  # where GELU is as ReLU is
    shapes = {
        ("classification", "learned from zero"): ((1 - x**2) * np.exp(-(x**2) / 2), np.tanh(x) + 0.2 * far),
        ("regression", "learned from zero"): (wave, np.tanh(x)),
        ("classification", "learned from ReLU"): (x * ndtr(x), relu + far),
        ("regression", "learned from ReLU"): (relu + 2 * wave, np.tanh(x)),
    }
    for name in ("mnist", "fashion_mnist"):
        for (mode, method), pair in shapes.items():
            for restart in range(4):
                value = 0.5 * pair[not right] + 0.0005 * rng.normal(size=len(x))
                columns = {"set": name, "mode": mode, "method": method, "restart": restart, "layer": 1, "x": x}
                columns |= {"chosen": restart == 1, "value": value, "density": norm.pdf(x) / norm.pdf(x).sum()}
                parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def tabular(right):
    """Five tables, which want networks of different complexity; learned functions are better than ReLU, input
    functions best; or nothing but trees is better."""
    rng, rows = np.random.default_rng(RNG), []
    better = (
        {"ReLU": 0.0, "TanH": 0.02, "learned": 0.05, "IAFs": 0.07}
        if right
        else {"ReLU": 0.06, "TanH": 0.04, "learned": 0.02, "IAFs": 0.0}
    )
    for number, name in enumerate(("covertype", "MagicTelescope", "bank-marketing", "pol", "heloc")):
        trees = 0.85 if right else 0.84
        rows.append((name, "boosted trees", "", 0, 1.0, 0, trees, trees, 5.0, True, False))
        for method, gain in better.items():
            complex = 1 + 10 * gain
            for layers in (1, 2):
                for seed in range(6):
                    noise = 1 + 0.01 * rng.normal()
                    tv = complex ** (1 + number) * noise if right else 1.0
                    accuracy = 0.78 + gain + 0.01 * layers + 0.001 * rng.normal()
                    rows.append((name, method, "", layers, 1.0, seed, accuracy, accuracy, tv, layers == 2, False))
    names = ["table", "method", "start", "layers", "prefactor", "seed", "accuracy", "accuracy_val", "tv", "chosen"]
    return pd.DataFrame(rows, columns=[*names, "diverged"])


def closed(right):
    """Learned functions close the gap of three to seven points between ReLU and trees, or a quarter of it."""
    rows = [
        (name, method, "", 1, 1.0, seed, accuracy, accuracy, 1.0, True, False)
        for number, name in enumerate(("covertype", "MagicTelescope", "bank-marketing", "pol", "heloc"))
        for gap in (0.03 + 0.01 * number,)
        for method, level in (
            ("ReLU", 0.85 - gap),
            ("learned", 0.85 - 0.001 * number if right else 0.85 - 0.75 * gap),
            ("boosted trees", 0.85),
        )
        for seed in range(3)
        for accuracy in (level + 0.0001 * seed,)
    ]
    names = ["table", "method", "start", "layers", "prefactor", "seed", "accuracy", "accuracy_val", "tv", "chosen"]
    return pd.DataFrame(rows, columns=[*names, "diverged"])


def rewarded(right):
    """Ten tables; the more complex input functions make networks, the more they gain, or the less."""
    rows = []
    for number, name in enumerate(BENCHMARK[:10]):
        for method, gain, tv in (("ReLU", 0.0, 1.0), ("IAFs", 0.01 * number, 1.0 + (number if right else 10 - number))):
            accuracy = 0.7 + gain
            rows += [(name, method, "", 1, 1.0, seed, accuracy, accuracy, tv, True, False) for seed in range(2)]
    names = ["table", "method", "start", "layers", "prefactor", "seed", "accuracy", "accuracy_val", "tv", "chosen"]
    return pd.DataFrame(rows, columns=[*names, "diverged"])


def reused(right):
    """Widths and depths help; so does the learned function, or not."""
    rng = np.random.default_rng(RNG)
    rows = [
        (
            name,
            method,
            layers,
            width,
            seed,
            0.7
            + 0.02 * layers
            + 0.0002 * width
            + 0.001 * rng.normal()
            + (0.05 if right else -0.05) * (method == "learned"),
            False,
        )
        for name in ("covertype", "pol")
        for method in ("ReLU", "learned")
        for layers in (1, 2, 3)
        for width in (16, 64, 256)
        for seed in range(6)
    ]
    return pd.DataFrame(rows, columns=["table", "method", "layers", "width", "seed", "accuracy", "diverged"])


def in_width(right):
    """Networks get better with width; with the learned function, too, or worse."""
    table = reused(True)
    turned = (table["method"] == "learned") & (not right)
    return table.assign(accuracy=table["accuracy"] - 0.0004 * table["width"] * turned)


def looked_at(right):
    """Networks with input functions are the best. They are most complex, keep to the axes, and have more complex ones
    around them, at two radii; or all of it the other way round."""
    rng, sign, rows = np.random.default_rng(RNG), 1 if right else -1, []
    for name in ("covertype", "MagicTelescope"):
        for rank, method in enumerate(("ReLU", "TanH", "learned", "IAFs")):
            for seed in range(6):
                tv = 5 + sign * (rank + 0.1 * rng.normal())
                numbers = {"solution": tv, "alignment": 0.6 + sign * 0.1 * rank, "accuracy": 0.7 + 0.05 * rank}
                rows += [(name, method, seed, part, np.nan, 0, value) for part, value in numbers.items()]
                rows += [(name, method, seed, "ambient", radius, 0, tv * (1 + radius) ** sign) for radius in (0.2, 0.5)]
                rows += [(name, method, seed, "course", np.nan, x, tv * 1.5 ** (sign * x / 300)) for x in (0, 300, 600)]
        rows += [(name, "IAFs", 0, "function", np.nan, x, np.sign(x)) for x in np.linspace(-1, 1, 21)]
    return pd.DataFrame(rows, columns=["table", "method", "seed", "part", "radius", "x", "value"])


def methods(*means, seeds=6, spread=0.001):
    """Accuracies by method, each method with its mean."""

    def planted(right):
        rng = np.random.default_rng(RNG)
        rows = [
            (method, seed, mean[not right] + spread * rng.normal(), False)
            for method, mean in means
            for seed in range(seeds)
        ]
        return pd.DataFrame(rows, columns=["method", "seed", "accuracy", "diverged"])

    return planted


def restarts(right):
    """ReLU and three restarts, the second of which was chosen. Their noise is that of ReLU, or ten times as much."""
    parts = []
    for number, level in enumerate((0.45, 0.47, 0.46)):
        kind = ("learned", (level, (0.35, 0.33, 0.34)[number]))
        part = methods(kind, seeds=40, spread=0.001 if right else 0.01)(right)
        parts.append(part.assign(restart=number, start="zero", rate=0.1, chosen=number == 1))
    base = methods(("ReLU", (0.4, 0.4)), seeds=40)(right).assign(restart=-1, start="", rate=np.nan, chosen=False)
    return pd.concat([base, *parts], ignore_index=True)


interpolations = methods(
    ("ReLU", (0.4, 0.4)), ("nearest", (0.42, 0.47)), ("linear", (0.45, 0.38)), ("cubic", (0.452, 0.35))
)
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
    gains = {"ReLU": 0.0, "mnist": 0.16, "fashion_mnist": 0.12, "all": 0.1}
    for source, gain in gains.items():
        for target in ("mnist", "fashion_mnist"):
            for layers in (2, 4):
                level = 0.6 + (gain if right else -gain) + 0.001 * layers
                rows += [(source, target, layers, seed, level + 0.001 * rng.normal(), False) for seed in range(6)]
    return pd.DataFrame(rows, columns=["source", "target", "layers", "seed", "accuracy", "diverged"])


def opposed(right):
    """Five functions; what is good for one set is bad for the other, where the claim is wrong."""
    table = transferred(True)
    more = [
        table[table["source"] == "all"].assign(source=name, accuracy=lambda rows, gain=gain: rows["accuracy"] + gain)
        for name, gain in (("all again", 0.02), ("all, longer", 0.04))
    ]
    table = pd.concat([table, *more], ignore_index=True)
    if not right:
        other = table["target"] == "mnist"
        table.loc[other, "accuracy"] = 1.3 - table.loc[other, "accuracy"]
    return table


def collages(right):
    """ReLU goes by the easy tile alone, or by the hard one; learned functions go by their tile, or by the other one,
    and more so with spectral normalization, or less. Trained on the hard tile alone, ReLU is better on it, or worse."""
    rng, rows = np.random.default_rng(RNG), []
    ends = {"ReLU": (0.6, 0.1), "learned for easy": (0.7, 0.1), "learned for hard": (0.4, 0.3)}
    for spectral in (False, True):
        for method, (easy, hard) in ends.items():
            more = [0.1 * (spectral and method == f"learned for {tile}") for tile in ("easy", "hard")]
            pair = (easy + more[0], hard + more[1]) if right else (hard, easy)
            if not right and spectral and method == "learned for easy":
                pair = hard, easy + 0.1
            rows += _trajectories(rng, spectral, method, pair)
    for spectral in (False, True):
        rows += _trajectories(rng, spectral, "ReLU, hard alone", (0.1, 0.6 if right else 0.2))
    names = ["spectral", "method", "seed", "step", "accuracy", "easy", "hard", "val", "val_easy", "val_hard"]
    return pd.DataFrame(rows, columns=[*names, "diverged"]).assign(task="mnist over cifar10")


def _trajectories(rng, spectral, method, pair):
    """Of three runs, from chance to these accuracies on the two tiles."""
    for seed in range(3):
        for step in (0, 10, 20):
            now = [0.1 + (value - 0.1) * step / 20 + 0.002 * rng.normal() for value in pair]
            yield (spectral, method, seed, step, 0.9, *now, *[step / 20] * 3, False)


def turned(right):
    """The function for the hard tile goes by it halfway, and by the easy one in the end; or the other way round."""
    rng, rows = np.random.default_rng(RNG), []
    halfway, end = ((0.5, 0.3), (0.8, 0.2)) if right else ((0.8, 0.2), (0.5, 0.3))
    for spectral in (False, True):
        for seed in range(6):
            for step, pair in ((0, (0.1, 0.1)), (10, halfway), (20, end)):
                now = [value + 0.01 * rng.normal() for value in pair]
                rows.append((spectral, "learned for hard", seed, step, 0.9, *now, 0.5, 0.5, step % 20 / 10, False))
    names = ["spectral", "method", "seed", "step", "accuracy", "easy", "hard", "val", "val_easy", "val_hard"]
    return pd.DataFrame(rows, columns=[*names, "diverged"]).assign(task="mnist over cifar10")


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
    "simplicity/fig2": image_runs,
    "simplicity/fig16": image_functions,
    "simplicity/fig17": depths,
    "simplicity/fig18": image_models,
    "simplicity/fig9": collages,
    "simplicity/fig25": collages,
    "simplicity/fig14": transfers,
    "simplicity/fig29": complexities,
    "simplicity/table1": restarts,
    "simplicity/table2": interpolations,
    "simplicity/table3": objectives,
    "simplicity/fig15": interpolated,
    "simplicity/table4": transferred,
    "simplicity/fig19": opposed,
    "simplicity/fig11": grokked,
    "simplicity/sizes": sized,
    "simplicity/fig12": sines,
    "simplicity/fig13": arrivals,
    "simplicity/fig28": operations,
    "simplicity/fig5": tabular,
    "simplicity/fig20": tabular,
    "simplicity/fig6": tabular,
    "simplicity/fig22": tabular,
    "simplicity/fig23": tabular,
    "simplicity/fig8": reused,
    "simplicity/fig21": reused,
    "simplicity/fig24": looked_at,
}
