"""Recipes, the cells tagged so in notebooks: what a figure does with each of its runs, done once, gives the figure's
number.

A recipe that reads what is shipped is held to the shipped table of the largest scale. One that trains does so at smoke
scale, and is held to what the entry measures of that very run. One that makes a number of the caption from the shipped
table is held to the words of the caption.
"""

import ast
import re

import numpy as np
import pytest

import lab
from lab.catalogue import registry
from lab.run import Run
from tests import notebooks

LINES = 12  # of a recipe, besides imports
SCORE, ROUNDED, NEAR = (
    0.01,
    1e-4,
    1e-5,
)  # on another processor some examples of thousands flip; as many digits as tables have

SAMPLED = 0.02  # three standard errors of a share of 4,096 problems, beside one of 250,000
FIRST = "method == 'hyla' and seed == 0"

SHAKESPEARE = "task == 'shakespeare char' and seed == 0"
ZERO = "set == 'mnist' and mode == 'classification' and method == 'learned from zero' and chosen"
SHAPED = "task == 'parentheses' and seed == 0"
# By notebook: figure; the recipe's number; which rows of the figure's table; of which column; to how much.
SHIPPED = {
    "activations/4_small_language_models.ipynb": [
        (
            "activations/table1",
            "held_out['GELU']",
            "family == 'gpt_neo' and method == 'gelu' and seed == 0",
            "loss",
            ROUNDED,
        ),
        (
            "activations/table1",
            "weights['learnable GELU']",
            "family == 'gpt_neo' and method == 'learnable_gelu'",
            "parameters",
            0,
        ),
        (
            "activations/fig_functions",
            "heights",
            "family == 'gpt_neo' and method == 'learnable_gelu' and seed == 0",
            "value",
            ROUNDED,
        ),
    ],
    "hypernetwork/3_fuzzy_logic.ipynb": [
        ("hypernetwork/fig2b", "decoded.f1.value", f"{FIRST} and layer == 1 and varied == 'context'", "value", SCORE),
        ("hypernetwork/fig2d", "points.trustworthiness", "method == 'hyla'", "trustworthiness", SCORE),
        ("hypernetwork/figA2", "points.trustworthiness", "method == 'hyla' and layer == 1", "trustworthiness", SCORE),
    ],
    "hypernetwork/4_sraven.ipynb": [
        ("hypernetwork/fig5a", "target", "method == 'hyla'", "value", 0),
        ("hypernetwork/fig5b", "rule", "method == 'hyla'", "label", 0),
        ("hypernetwork/fig5b", "points.trustworthiness", "method == 'hyla'", "trustworthiness", SCORE),
        ("hypernetwork/fig5f", "decoded.accuracy.value", f"{FIRST} and layer == 3", "value", SCORE),
        (
            "hypernetwork/fig5e",
            "alike.similarity[0, -1]",
            f"{FIRST} and a == 'addition' and b == 'subtraction'",
            "similarity",
            SCORE,
        ),
        (
            "hypernetwork/figA8",
            "alike.mean[0]",
            "method == 'hyla' and kind == 'mean' and label == 'addition'",
            "value",
            SCORE,
        ),
        ("hypernetwork/figA6", "second.trustworthiness", "method == 'hyla' and layer == 1", "trustworthiness", SCORE),
        ("hypernetwork/figA9", "lab.tasks.count_tasks(large)", "features == 4 and values == 8", "tasks", 0),
        ("hypernetwork/figA9", "lab.tasks.count_problems(large)", "features == 4 and values == 8", "problems", 0),
        (
            "hypernetwork/tableA2",
            "ambiguous.fraction",
            'values == 8 and counting == "paper\'s words"',
            "fraction",
            SAMPLED,
        ),
    ],
    "hypernetwork/5_language_modeling.ipynb": [
        ("hypernetwork/fig6", "held_out['HYLA']", f"{FIRST} and step == 1500", "loss", ROUNDED),
    ],
    "hypernetwork/latent_codes.ipynb": [
        ("hypernetwork/fig5f", "[score.value for score in scores[1:]]", f"{FIRST} and layer > 0", "value", SCORE),
        (
            "hypernetwork/fig5f",
            "[score.shuffled.mean() for score in scores[1:]]",
            f"{FIRST} and layer > 0",
            "shuffled",
            SCORE,
        ),
    ],
    "simplicity/3.1_image_classification.ipynb": [
        (f"simplicity/fig{figure}", number, rows, column, ROUNDED)
        for figure, rows in ((3, ZERO), (16, f"{ZERO} and search == 0"))
        for number, column in {"turns": "turns", "relu": "relu"}.items()
    ],
    "simplicity/3.5_grokking.ipynb": [
        (f"simplicity/fig{figure}", "results", "task == 'a+b mod 27'", "result", 0) for figure in (10, 27)
    ],
    "transformers/4.1_language_datasets.ipynb": [
        (
            "transformers/fig15",
            "perplexity['learned MLP']",
            f"{SHAKESPEARE} and method == 'learned MLP'",
            "perplexity",
            ROUNDED,
        ),
        (
            "transformers/fig8",
            "perplexity['baseline'][-1]",
            f"{SHAKESPEARE} and method == 'baseline'",
            "perplexity",
            ROUNDED,
        ),
        ("transformers/table3", "bits['learned MLP']", f"{SHAKESPEARE} and method == 'learned MLP'", "bits", ROUNDED),
        (
            "transformers/fig7",
            "accuracy['learned MLP']",
            f"{SHAKESPEARE} and method == 'learned MLP' and layers == 2 and width == 64",
            "accuracy",
            SCORE,  # the shipped run is of another processor than Figure 7's
        ),
    ],
    "transformers/4.2_compatibility.ipynb": [
        ("transformers/fig9", "perplexity[0]", f"{SHAKESPEARE} and architecture == 'baseline'", "perplexity", ROUNDED),
        ("transformers/fig9", "perplexity[1]", f"{SHAKESPEARE} and architecture == task", "perplexity", ROUNDED),
    ],
    "transformers/D_fine_details.ipynb": [
        (
            figure,
            "perplexity['baseline']",
            f"{SHAKESPEARE} and layers == 2 and method in ('baseline', 'GELU'){width}",
            "perplexity",
            ROUNDED,
        )
        for figure, width in {
            "transformers/fig13": " and width == 64",
            "transformers/fig12_language": " and width == 64",
            "transformers/table5": "",
        }.items()
    ],
    "transformers/D_symmetry.ipynb": [
        ("transformers/fig12", "symmetry.mirror", f"{SHAPED} and method == 'symmetrized'", "mirror", 0),
        ("transformers/fig12", "symmetry.correlation", f"{SHAPED} and method == 'symmetrized'", "correlation", ROUNDED),
        (
            "transformers/fig12",
            "[powers[degree] for degree in (6, 18)]",
            f"{SHAPED} and method == 'polynomial' and degree < 24",
            "rms_error",
            ROUNDED,
        ),
        (
            "transformers/fig12",
            "[series[degree] for degree in (18, 36, 72)]",
            f"{SHAPED} and method == 'Chebyshev'",
            "rms_error",
            ROUNDED,
        ),
    ],
}
# By notebook: figure; the recipe's run; the recipe's number; rows and column of what the entry measures of that run.
LOGITS = "output == 'before the softmax'"
TRAINED = {
    "hypernetwork/3_fuzzy_logic.ipynb": [
        (f"hypernetwork/{name}", "run", "answered['ood']", "", "r2_ood") for name in ("fig2c", "figA3")
    ],
    "hypernetwork/4_sraven.ipynb": [
        *(
            (f"hypernetwork/{name}", "run", "solved['ood']", "", "accuracy_ood")
            for name in ("fig4a", "fig4b", "fig5c", "fig5d", "figA4", "figA5")
        ),
        ("hypernetwork/fig4a", "run", "solved['test']", "", "accuracy_test"),
    ],
    "simplicity/2_methods.ipynb": [
        (f"simplicity/{name}", "relu", "accuracy", "", "accuracy") for name in ("table1", "table3")
    ],
    "simplicity/3.1_image_classification.ipynb": [
        ("simplicity/fig2", "run", "accuracy['test']", "", "accuracy"),
        ("simplicity/fig17", "run", "accuracy['val']", "", "accuracy_val"),
    ],
    "simplicity/3.2_regression.ipynb": [
        ("simplicity/fig4", "run", "accuracy", "", "accuracy"),
        ("simplicity/fig4", "run", "complexity.value", "", "tv"),
        ("simplicity/fig18", "run", "complexity.high", "", "tv_high"),
    ],
    "simplicity/3.3_tabular.ipynb": [
        ("simplicity/fig5", "run", "accuracy", "", "accuracy"),
        ("simplicity/fig20", "run", "accuracy", "", "accuracy"),
        *((f"simplicity/fig{number}", "run", "accuracy", "", "accuracy") for number in (8, 21)),
        *((f"simplicity/fig{number}", "run", "variation.value", "", "tv") for number in (6, 22, 23)),
        ("simplicity/fig7", "network", "plane.values['complexity']", "part == 'complexity'", "value"),
        ("simplicity/fig7", "network", "around.values['complexity'].mean()", "part == 'ambient'", "value"),
        ("simplicity/fig24", "network", "around.here['complexity']", "part == 'solution'", "value"),
    ],
    "simplicity/3.4_shortcut_learning.ipynb": [
        ("simplicity/fig9", "run", "tiles['easy']", "step > 0", "easy"),
        ("simplicity/fig25", "run", "tiles['hard']", "step > 0", "hard"),
        ("simplicity/fig26", "run", "tiles['hard']", "step > 0", "hard"),
    ],
    "simplicity/3.5_grokking.ipynb": [
        ("simplicity/fig11", "relu", "relu.accuracy_on('test')", "", "accuracy"),
        ("simplicity/fig12", "relu", "relu.accuracy_on('test')", "", "accuracy"),
        ("simplicity/fig28", "relu", "relu.accuracy_on('train')", "", "accuracy_train"),
        ("simplicity/sizes", "half", "half.accuracy_on('test')", "", "accuracy"),
        ("simplicity/fig13", "relu", "relu.first_step(0.95)", "", "step"),
    ],
    "simplicity/4_transfer.ipynb": [
        ("simplicity/fig14", "relu", "relu.first_step(0.95)", "", "step"),
        ("simplicity/fig14", "pair['of addition']", "pair['of addition'].accuracy_on('test')[-1]", "", "accuracy"),
        ("simplicity/fig13", "narrow", "narrow.first_step(0.95)", "", "step"),
        ("simplicity/fig13", "learned", "learned.accuracy[-1]", "", "accuracy"),
    ],
    "simplicity/F_complexity.ipynb": [
        ("simplicity/fig30", "steep", "walks.paths[:6]", "along == 0", "tv"),
        ("simplicity/fig29", "steep", "variation.value", LOGITS, "tv"),
        ("simplicity/fig29", "steep", "frequency.low", LOGITS, "fourier_low"),
    ],
    "transformers/3.1_individual_tasks.ipynb": [
        ("transformers/fig2", "runs['baseline']", "runs['baseline'].accuracy", "", "accuracy"),
        ("transformers/fig10", "runs['baseline']", "runs['baseline'].accuracy", "", "accuracy"),
        ("transformers/fig6", "runs['learned MLP']", "share", "", "density"),
        ("transformers/rates", "runs['baseline']", "runs['baseline'].accuracy.mean()", "", "accuracy"),
        ("transformers/fig3", "copier", "list(copied.values())", "", "accuracy"),
        *(
            ("transformers/fig4", f"narrow['{name}']", f"narrow['{name}'].accuracy[-1]", "", "accuracy")
            for name in ("baseline", "learned MLP")
        ),
    ],
    "transformers/4.2_compatibility.ipynb": [
        ("crossing/connectivity", "[a, b]", f"path.{values}[{measure!r}]", "", f"{prefix}{measure}")
        for values, prefix in {"values": "", "matched": "matched_"}.items()
        for measure in ("loss", "accuracy")
    ],
    "transformers/E_larger_models.ipynb": [
        ("transformers/table6", "[runs['GELU'], runs['ReLU']]", "[loss['GELU'], loss['ReLU']]", "", "loss"),
        ("transformers/table7", "runs['ReLU']", "loss['ReLU']", "", "loss"),
        ("transformers/table7", "runs['polynomial']", "loss['polynomial']", "", "loss"),
        ("transformers/table7", "runs['ReLU']", "seconds['ReLU']", "", "seconds"),
    ],
    "transformers/3.2_compatibility.ipynb": [
        ("transformers/fig5", "runs['baseline']", "accuracy['baseline']", "", "accuracy"),
        ("transformers/fig5", "runs['addmod']", "accuracy['addmod']", "", "accuracy"),
        ("transformers/fig11", "runs['baseline']", "accuracy['baseline']", "", "accuracy"),
    ],
}
HALF = "{:+.1f} ± {:.1f}"  # a difference, and half of its interval
# By notebook: figure; what the recipe has found; the words of the figure's caption with these numbers.
STATED = {
    "hypernetwork/4_sraven.ipynb": [
        ("hypernetwork/figA7", "[deepest]", "{:.0%} of neighbours have the same rule"),
        (
            "hypernetwork/tableA1",
            "(mean['hyla_softmax'] - mean['linear'], mean['hyla_deep'] - mean['linear'])",
            "most HYLA - RMSHead + softmax {:+.1f} (paper +11.1), least HYLA + deep value network {:+.1f} (",
        ),
    ],
    "hypernetwork/5_language_modeling.ipynb": [("crossing/hyla_phi", "[over_relu]", f"fuzzy logic, seen {HALF}")],
    "simplicity/2_methods.ipynb": [
        (
            "simplicity/table1",
            "(kinds['ReLU'], kinds['learned'], best, each.min(), each.max())",
            "ReLU {:.1f} (paper 53.1); learned, average over restarts {:.1f} (paper 56.6); learned, best restart {:.1f}"
            " (paper 57.2); restarts from {:.1f} to {:.1f}.",
        ),
        (
            "simplicity/fig15",
            "(mean, alike.min(), alike.max(), len(alike))",
            "{:.2f} by Fisher's mean ({:.2f} to {:.2f}) in the {} restarts",
        ),
        (
            "simplicity/table2",
            "between[['nearest', 'linear', 'cubic']]",
            "stayed ReLU {:.1f} (paper 55.1); learned, linear {:.1f} (paper 57.2); learned, cubic spline {:.1f}",
        ),
        (
            "simplicity/table3",
            "objectives['mean'][['ReLU', 'train', 'val']]",
            "ReLU {:.1f} (paper 53.1); learned, training data {:.1f} (paper 56.7); learned, validation data {:.1f}",
        ),
    ],
    "simplicity/3.3_tabular.ipynb": [
        (
            "simplicity/fig8",
            "[gain.mean()]",
            "Mean over widths and depths, points: covertype_sample {:+.1f}.",
        ),
    ],
    "simplicity/3.5_grokking.ipynb": [
        ("crossing/grokking", "(steps.iloc[0], steps.index[0])", "a+b mod 27: ReLU {:.0f} ({})"),
    ],
    "simplicity/4_transfer.ipynb": [
        (
            "simplicity/fig14",
            "[*score.mean()[['ReLU']], score.drop(columns=['ReLU', 'all operations']).mean().mean(),"
            " *score.mean()[['all operations']]]",
            "ReLU {:.1f} (paper 19.9), functions of one operation {:.1f} (paper 54.0), the function of all operations"
            " {:.1f}",
        ),
        (
            "simplicity/table4",
            "over_relu.mean(axis=1)[['mnist', 'fashion_mnist']]",
            "MNIST {:+.1f} (paper +1.0), on Fashion-MNIST {:+.1f} (paper",
        ),
        ("simplicity/fig19", "[together.corr().iloc[0, 1]]", "over learned functions and depths: {:.2f}"),
    ],
    "transformers/3.1_individual_tasks.ipynb": [
        (
            "transformers/rates",
            "(gain.difference('learned MLP'), best['baseline'], best['learned MLP'])",
            ", {0.mean:+.1f} [{0.low:.1f}, {0.high:.1f}] ({1:g} and {2:g})",
        ),
    ],
    "transformers/4.2_compatibility.ipynb": [
        (
            "crossing/compatibility",
            "[crossed.difference(name) for name in ('transformer', 'language model')]",
            f"transformer {HALF} and {HALF}",
        ),
        (
            "crossing/multitask",
            "[shared.difference(name) for name in ('learned for all', 'learned MLP')]",
            f"Memorize {HALF} (its own {HALF})",
        ),
    ],
    "transformers/D_fine_details.ipynb": [
        (
            "transformers/fig14",
            "lower['learned MLP'].agg(['min', 'max'])",
            "learned MLP {:+.2f} to {:+.2f}",
        ),
    ],
    "transformers/E_larger_models.ipynb": [
        (
            "transformers/table7",
            "(mean['learned MLP', 0], more['ReLU', 0], more['polynomial'].iloc[0])",
            "spline {:.3f} nats a token; minus it: ReLU {:+.3f}, polynomial 4 {:+.3f}",
        ),
        ("transformers/table7", "[more['polynomial'].iloc[-1]]", "polynomial 18 {:+.3f}."),
    ],
}
NAMES = sorted(SHIPPED | TRAINED | STATED)


def recipes(name):
    """The code of a notebook's recipes: groups of cells with no other code between."""
    groups, open_ = [], False
    for cell in notebooks.read(notebooks.FOLDER / name).cells:
        tagged = "recipe" in cell.metadata.get("tags", [])
        if tagged and not open_:
            groups.append([])
        if tagged:
            groups[-1].append(cell.source)
        open_ = tagged or open_ and cell.cell_type == "markdown"
    return groups


def names_in(code):
    """The names that code assigns, defines or imports; others that it reads."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    made |= {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return made, {node.id for node in names if isinstance(node.ctx, ast.Load)} - made


def cooked(name, numbers, **parameters):
    """What the names of a notebook's recipes stand for, once those cells have run that these numbers need."""
    notebook, names, needed = notebooks.read(notebooks.FOLDER / name), {"__name__": name, "lab": lab}, []
    notebooks.set_parameters(notebook, **parameters)
    wanted = set().union(*(names_in(number)[1] for number in numbers))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    last = max(number for number, cell in enumerate(code) if "recipe" in cell.metadata.get("tags", []))
    for cell in reversed(code[: last + 1]):
        made, read = names_in(cell.source)
        if made & wanted:
            needed.append(cell.source)
            wanted = (wanted - made | read) - {"lab"}
    controls = any("shuffled" in number for number in numbers)  # else the ten decoders of shuffled labels say nothing
    for cell in reversed(needed):
        exec(cell if controls else cell.replace("shuffles=10", "shuffles=1"), names)
    return names


def test_notebooks_with_recipes_are_those_that_are_checked():
    assert [name for name in notebooks.names() if recipes(name)] == NAMES


def test_every_figure_has_a_recipe():
    checked = {figure for checks in (SHIPPED, TRAINED, STATED) for of in checks.values() for figure, *_ in of}
    assert registry.entries().keys() - checked == {"crossing/league"}, "which `lab league` shows, and no notebook"


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_short_and_comes_before_its_figure(name):
    for group in recipes(name):
        lines = [line for cell in group for line in cell.splitlines() if line]
        assert len([line for line in lines if not line.startswith(("import ", "from "))]) <= LINES, "\n".join(lines)
    code = [cell for cell in notebooks.read(notebooks.FOLDER / name).cells if cell.cell_type == "code"]
    drawn = next(number for number, cell in enumerate(code) if "lab.figure(" in cell.source)
    assert "recipe" in code[drawn - 1].metadata.get("tags", []) or "recipe" in code[drawn - 2].metadata.get("tags", [])


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_its_numbers_are_those_of_the_shipped_figure(name, store_folder):
    checks, tables = SHIPPED[name], {}
    names = cooked(name, [number for _, number, *_ in checks])
    assert not list(store_folder.glob("runs/*")), "this recipe trains: it belongs to those of smoke scale"
    for figure, number, rows, column, within in checks:
        if figure not in tables:
            scale = names.get("reading", "best")  # of the models that the recipe reads
            tables[figure] = lab.figure(figure, scale=scale, progress=False).table
        expected = tables[figure].query(rows)[column].to_numpy()
        assert len(expected), f"{figure}: no row has {rows}"
        equal(eval(number, names), expected, within, f"{figure}, {number}")


@pytest.mark.parametrize("name", sorted(TRAINED))
def test_its_numbers_are_what_the_figure_measures_of_its_run(name, store_folder):
    checks, smoke = TRAINED[name], notebooks.smoke(notebooks.read(notebooks.FOLDER / name))
    names = cooked(name, [expression for _, run, number, *_ in checks for expression in (run, number)], **smoke)
    for figure, run, number, rows, column in checks:
        entry, run = registry.entry(figure), eval(run, names)
        planned, labelled = entry.plan("smoke", entry.seeds["smoke"]), []
        for one in run if isinstance(run, list) else [run]:
            assert isinstance(one, Run)
            same = [labels for labels, spec in planned if spec == one.spec]  # none, if its function is another
            labels = next(iter(same or [labels for labels, spec in planned if spec.task == one.spec.task]))
            labelled.append((labels, one))
        table = entry.measure(labelled, *([entry.examples["laptop"]] if entry.examples else []))
        expected = (table.query(rows) if rows else table)[column].to_numpy()
        equal(eval(number, names), expected, NEAR, f"{figure}, {number}")


@pytest.mark.parametrize("name", sorted(STATED))
def test_its_numbers_are_in_the_caption(name, store_folder):
    checks = STATED[name]
    names = cooked(name, [stated for _, stated, _ in checks])
    assert not list(store_folder.glob("runs/*")), "this recipe trains"
    for figure, stated, words in checks:
        caption = lab.figure(figure, scale=names["scale"], progress=False).full_caption.replace("−", "-")
        caption = re.sub(r"(?<=\d) %", "%", caption)
        numbers = eval(stated, names)
        if "±" in words:
            numbers = [number for one in numbers for number in (one.mean, (one.high - one.low) / 2)]
        assert words.format(*numbers) in caption


def equal(ours, expected, within, words):
    """Numbers to a tolerance, text exactly; one number may stand in many rows of a table."""
    ours = np.ravel(np.asarray(ours))
    if expected.dtype == object:
        ours, expected = ours.astype(str), expected.astype(str)
    if ours.size == 1:
        ours = np.repeat(ours, len(expected))
    if within and expected.dtype.kind == "f":
        np.testing.assert_allclose(ours, expected, rtol=0, atol=within, err_msg=words)
    else:
        np.testing.assert_array_equal(ours, expected, err_msg=words)
