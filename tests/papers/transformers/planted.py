"""Tables with a planted answer for figures of the transformers paper: `PLANTED[name](right)`, right or wrong."""

import numpy as np
import pandas as pd

from lab.catalogue.registry import entry
from lab.papers.transformers.settings import FROM_GELU, PAPER_TEXTS, printed
from lab.task_names import TASK_TITLES
from tests.papers.tables import METHODS

NAMES = [f"transformers/fig{number}" for number in (2, 3, 4, 5, 6, 10, 11, 12)]
NAMES.append("transformers/rates")
LANGUAGE = [f"transformers/{name}" for name in ("fig7", "fig8", "fig9", "fig13", "fig14", "fig15", "table3", "table5")]
LANGUAGE += [f"transformers/{name}" for name in ("fig12_language", "table6", "table7")]
NAMES = sorted({*NAMES, *LANGUAGE}, key=lambda name: entry(name).order)

TASKS = ("memorize", "addmod", "add", "mano")
RNG = 11


def curves(right: bool, tasks=TASKS):
    """Accuracy rises in a line, the baseline's to half of it at the step where the paper's matrix is read. The paper is
    right: ours two and a half times as fast, to a higher end, and seeds differ less."""
    rng, rows = np.random.default_rng(RNG), []
    length = dict(zip(METHODS, (1.0, 0.4, 0.5) if right else (1.0, 2.5, 2.5), strict=True))
    spread = dict(zip(METHODS, (0.1, 0.01, 0.01) if right else (0.01, 0.1, 0.1), strict=True))
    end = dict(zip(METHODS, (0.95, 0.999, 0.999) if right else (0.96, 0.92, 0.92), strict=True))
    for task in tasks:
        read = printed(task).read
        steps = [round(read * number / 6) for number in range(1, 41)]
        for method in METHODS:
            for seed in range(6):
                full = 2 * read * length[method] * (1 + spread[method] * rng.normal())
                top = end[method] + 0.0005 * rng.normal()
                rows += [(task, method, seed, step, min(step / full, top), False) for step in steps]
    return pd.DataFrame(rows, columns=["task", "method", "seed", "step", "accuracy", "diverged"])


def attention_gains(right):
    """Where the claim is wrong, the MLP's function gains nothing, and learning the attention, too, does."""
    table = with_sums(True)
    if right:
        return table
    baseline = table[table["method"] == METHODS[0]].drop(columns="method")
    return pd.concat([table[table["method"] != METHODS[1]], baseline.assign(method=METHODS[1])], ignore_index=True)


def with_sums(right):
    """The same, with both orders of the sum."""
    return curves(right, (*TASKS, "addreversed"))


def lengths(right):
    """Copied up to here, exactly: beyond 10 the methods are in the order of the paper, or in the other."""
    reach = (10, 13, 17) if right else (17, 14, 12)
    rows = [
        (method, seed, length, float(length + seed % 2 <= far), False)
        for method, far in zip(("absolute positions", "ALiBi", "ALiBi + learned MLP"), reach, strict=True)
        for seed in range(6)
        for length in range(2, 21)
    ]
    return pd.DataFrame(rows, columns=["method", "seed", "length", "accuracy", "diverged"])


def widths(right):
    rng, rows = np.random.default_rng(RNG), []
    for task in TASKS:
        for width in (8, 16, 32):
            for method in METHODS[:2]:
                gain = (0.2 if right and task == "add" else -0.2) * (method == "learned MLP") * (width < 32)
                rows += [(task, method, width, s, 0.5 + gain + 0.01 * rng.normal(), False) for s in range(6)]
    return pd.DataFrame(rows, columns=["task", "method", "width", "seed", "accuracy", "diverged"])


def matrices(right):
    """Gains: 20 points on the diagonal, 10 between two related tasks, 5 of half of the other functions and -5 of the
    rest; or less than nothing, least between the related ones. The attention's are worse, or better."""
    rng, rows, tasks = np.random.default_rng(RNG), [], list(TASK_TITLES)
    worse = {"MLP": 0.0, "attention": -0.3, "both": -0.1} if right else {"MLP": 0.0, "attention": 0.3, "both": 0.3}
    for part, shift in worse.items():
        for task in tasks:
            for architecture in ("baseline", *tasks):
                gain = -0.05
                if right and architecture != "baseline" and (tasks.index(task) + tasks.index(architecture)) % 2:
                    gain = 0.05
                if {architecture, task} == {"add", "addreversed"}:
                    gain = 0.1 if right else -0.15
                if architecture == task:
                    gain = 0.2 if right else -0.2
                value = 0.5 if architecture == "baseline" else 0.5 + gain + shift
                rows += [(part, task, architecture, s, 100, value + 0.001 * rng.normal(), False) for s in range(6)]
    return pd.DataFrame(rows, columns=["part", "task", "architecture", "seed", "step", "accuracy", "diverged"])


def better(right):
    """All functions of other tasks gain: where the claim is that many don't."""
    table = matrices(True)
    if not right:
        table.loc[table["architecture"] != "baseline", "accuracy"] += 0.2
    return table


def rates(right):
    """Both methods are best at .01 on val; .005 is printed. Ours gains everywhere, or loses."""
    rng, rows = np.random.default_rng(RNG), []
    for task in TASKS:
        for rate, level in ((0.001, 0.3), (0.005, 0.5), (0.01, 0.7)):
            for method in METHODS[:2]:
                mean = level + (0.1 if right else -0.1) * (method == "learned MLP")
                for split, seeds in (("test", range(6)), ("val", (100, 101))):
                    for seed in seeds:
                        value = mean + 0.005 * rng.normal()
                        rows.append((task, method, rate, split, seed, value, value, 0.9, False, rate == 0.005))
    columns = ["task", "method", "rate", "split", "seed", "accuracy", "early", "last", "diverged", "printed"]
    return pd.DataFrame(rows, columns=columns)


def designs(right):
    """Ours two points above GELU, and GLU/learned one above GLU/Swish; or both as much below. Others lie in between."""
    rng, rows, sign = np.random.default_rng(RNG), [], 1 if right else -1
    gains = {"Linear": -0.04, "GELU": 0.0, "learned MLP": 0.02 * sign, "ReLU": -0.003, "TanH": -0.02}
    gains |= {"GLU/Swish": 0.0, "GLU/learned": 0.01 * sign}
    for design, gain in gains.items():
        for seed in range(6):
            accuracy = 0.6 + gain + 0.001 * rng.normal()
            perplexity = 1.6 * (1 - gain) + 0.002 * rng.normal()
            rows.append(("tinystories gpt2", design, seed, 3000, perplexity, 0.5, 0.7, accuracy, False))
    columns = ["task", "method", "seed", "step", "perplexity", "loss", "bits", "accuracy", "diverged"]
    return pd.DataFrame(rows, columns=columns)


def texts(right):
    """On each text of the paper: ours lower than GELU, most on code and by characters, and half as much lower where it
    was learned from GELU; or higher."""
    rng, rows = np.random.default_rng(RNG), []
    for task in PAPER_TEXTS:
        gain = 0.02 * (1 + 3 * task.startswith("code") + 2 * task.endswith("char"))
        logs = {"linear MLP": 0.2, "baseline": 0.0}
        logs |= {"learned MLP": -gain if right else gain - 0.14, "learned attention": 0.03}
        if not right:
            logs["learned MLP"] = 0.01 * (1 + 3 * task.startswith("code") + 2 * task.endswith("char"))
        logs[FROM_GELU] = logs["learned MLP"] / 2
        for method, log in logs.items():
            for seed in range(6):
                perplexity = 4 * np.exp(log + 0.001 * rng.normal())
                rows.append((task, method, seed, 3000, perplexity, 1.4, 2.0, 0.5, False))
    columns = ["task", "method", "seed", "step", "perplexity", "loss", "bits", "accuracy", "diverged"]
    return pd.DataFrame(rows, columns=columns)


def language_curves(right):
    """The gain falls from .1 to .02 nats; or it rises."""
    rng, rows = np.random.default_rng(RNG), []
    steps = np.arange(100, 1001, 100)
    gains = np.linspace(0.1, 0.02, len(steps)) if right else np.linspace(0.02, 0.1, len(steps))
    for task in ("shakespeare char", "shakespeare gpt2"):
        for method in ("baseline", "learned MLP"):
            for seed in range(6):
                losses = 3 / np.log10(steps) - gains * (method == "learned MLP") + 0.002 * rng.normal(size=len(steps))
                rows += [
                    (task, method, seed, s, np.exp(x), x, 2.0, 0.5, False) for s, x in zip(steps, losses, strict=True)
                ]
    columns = ["task", "method", "seed", "step", "perplexity", "loss", "bits", "accuracy", "diverged"]
    return pd.DataFrame(rows, columns=columns)


def model_sizes(right, task="tinystories gpt2"):
    """By size: the MLP's function gains most, or loses most; with attention learned, models are worse, or better."""
    rng, rows, sign = np.random.default_rng(RNG), [], 1 if right else -1
    gains = {"baseline": 0.0, "learned MLP": 0.01, "learned MLP from GELU": 0.005, "learned attention": -0.01}
    for layers, width in ((2, 256), (4, 256)):
        for method, gain in (gains | {"learned MLP + attention": -0.005}).items():
            for seed in range(6):
                value = sign * gain + 0.0005 * rng.normal()
                rows.append((task, method, layers, width, seed, 3000, 1.6 * (1 - value), 0.5, 0.7, 0.6 + value, False))
    columns = [
        "task",
        "method",
        "layers",
        "width",
        "seed",
        "step",
        "perplexity",
        "loss",
        "bits",
        "accuracy",
        "diverged",
    ]
    return pd.DataFrame(rows, columns=columns)


def plays_sizes(right):
    return model_sizes(right, "shakespeare char")


def parallel_models(right):
    """M = 6 half a point better than M = 1, or worse."""
    rng, rows, sign = np.random.default_rng(RNG), [], 1 if right else -1
    gains = {"Linear": -0.04, "GELU": 0.0, "learned (M = 1)": 0.001, "learned (M = 6)": 0.001 + 0.005 * sign}
    for layers in (2, 4):
        for method, gain in gains.items():
            for seed in range(6):
                value = gain + 0.0005 * rng.normal()
                row = ("tinystories gpt2", method, layers, seed, 3000, 1.6 * (1 - value), 0.5, 0.7, 0.6 + value, False)
                rows.append(row)
    columns = ["task", "method", "layers", "seed", "step", "perplexity", "loss", "bits", "accuracy", "diverged"]
    return pd.DataFrame(rows, columns=columns)


def text_matrix(right):
    """Functions of other texts within half a percent of a text's own; or one of them five percent off."""
    rng, rows = np.random.default_rng(RNG), []
    for task in (*PAPER_TEXTS, "mano"):
        for number, architecture in enumerate(("baseline", *PAPER_TEXTS, "mano")):
            change = 0.005 * (number % 2) if right or number != 2 or task == PAPER_TEXTS[1] else 0.05
            for seed in range(6):
                perplexity = 4 * np.exp(change + 0.001 * rng.normal())
                rows.append((task, architecture, seed, perplexity, 0.5, False))
    return pd.DataFrame(rows, columns=["task", "architecture", "seed", "perplexity", "accuracy", "diverged"])


def contrast(right):
    """Figure 9 above Figure 5. Functions matter on the tasks, and not on the texts; or the other way round."""
    texts, tasks = text_matrix(True), matrices(True).query("part == 'MLP'")
    if not right:
        number = texts["architecture"].map({name: i for i, name in enumerate(texts["architecture"].unique())})
        texts["accuracy"] = 0.5 + 0.1 * (number % 2)
        tasks = tasks.assign(accuracy=0.5 + 0.001 * np.random.default_rng(RNG).normal(size=len(tasks)))
    both = {"transformers/fig9": texts, "transformers/fig5": tasks}
    return pd.concat([rows.assign(entry=name) for name, rows in both.items()], ignore_index=True)


def symmetries(right):
    """Symmetrized functions a point worse than learned ones, or a point better."""
    rng, rows = np.random.default_rng(RNG), []
    gains = {"baseline": 0.0, "learned MLP": 0.01, "symmetrized": 0.0 if right else 0.02}
    for layers, width in ((2, 256), (4, 512)):
        for method, gain in gains.items():
            for seed in range(6):
                value = 0.6 + gain + 0.0005 * rng.normal()
                row = ("tinystories gpt2", method, layers, width, seed, 3000, 1.6, 0.5, 0.7, value, False)
                rows.append(row)
    columns = ["task", "method", "layers", "width", "seed", "step", "perplexity", "loss", "bits", "accuracy"]
    return pd.DataFrame(rows, columns=[*columns, "diverged"])


def deep_models(right):
    """The spline .05 nats below ReLU and 2.4 times as slow as GELU, its polynomial as good, and fast; or the other way
    round."""
    rng, rows = np.random.default_rng(RNG), []
    losses = {"linear MLP": 4.1, "ReLU": 3.8, "GELU": 3.8}
    losses |= {"learned MLP": 3.75, "polynomial": 3.75} if right else {"learned MLP": 3.85, "polynomial": 4.05}
    for layers in (2, 4, 8):
        for method, loss in losses.items():
            slow = "learned MLP" if right else "polynomial"
            ratio = 2.4 if method == slow else 1.0
            for seed in range(3):
                value = loss + 0.002 * rng.normal()
                row = ("fineweb_shard gpt2", method, layers, seed, value, 1.1, 100.0, False)
                rows.append((*row, 0.1, ratio, 0.01, "cuda some GPU", 1))
    columns = ["task", "method", "layers", "seed", "loss", "bits", "seconds", "diverged"]
    return pd.DataFrame(rows, columns=[*columns, "step_seconds", "ratio", "ratio_spread", "machine", "threads"])


def degrees(right):
    """ReLU, a better spline, and polynomials that come closer to it; or all the other way round."""
    rng, rows, sign = np.random.default_rng(RNG), [], 1 if right else -1
    kinds = [("ReLU", 0, 0.05), ("learned MLP", 0, 0.0), *(("polynomial", n, 0.3 - n / 60) for n in (4, 8, 12, 18))]
    for method, degree, change in kinds:
        for seed in range(3):
            value = 3.8 + sign * change + 0.002 * rng.normal()
            rows.append(("fineweb_shard gpt2", method, degree, seed, value, 1.1, 100.0, False))
    columns = ["task", "method", "degree", "seed", "loss", "bits", "seconds", "diverged"]
    return pd.DataFrame(rows, columns=columns)


PLANTED = {
    "transformers/fig12_language": symmetries,
    "transformers/table6": deep_models,
    "transformers/table7": degrees,
    "transformers/fig7": model_sizes,
    "transformers/fig8": texts,
    "transformers/fig9": text_matrix,
    "transformers/fig13": plays_sizes,
    "transformers/fig14": plays_sizes,
    "transformers/fig15": language_curves,
    "transformers/table5": parallel_models,
    "transformers/table3": designs,
    "transformers/rates": rates,
    "transformers/fig2": curves,
    "transformers/fig3": lengths,
    "transformers/fig4": widths,
    "transformers/fig5": matrices,
    "transformers/fig10": with_sums,
    "transformers/fig11": matrices,
}
