"""Every notebook runs top to bottom at smoke scale, in a minute of processor, and has the form that readers know."""

import ast
import importlib
import re

import pytest

from tests import notebooks

LIMIT = 60.0  # seconds on one core (design, "Notebooks")
LONGEST = 5  # lines of a function
TRAINS = re.compile(r"(?<![\w.])(lab\.(fit|train|search|compare)|optimizer\.step)\(")
DURATION = re.compile(r"\btakes?\b[^.]*?\b(second|minute|hour)s?\b")
ANNOUNCED = re.compile("steps, about .+ (here|left)$")  # what a busy machine takes long for
OWN = "your_own_model.ipynb"  # its pictures are of what it measures itself


def test_there_are_notebooks():
    assert {"00_start_here.ipynb", "transformers/3.1_individual_tasks.ipynb"} <= set(notebooks.names())


def test_the_browser_runs_those_that_are_said_to_run_there():
    tests = "".join(path.read_text() for path in (notebooks.FOLDER.parent / "tests" / "browser").glob("test_*.py"))
    assert [name for name in notebooks.BROWSED if f'opened("{name}")' not in tests] == []


@pytest.mark.parametrize("name", sorted(set(notebooks.names()) - set(notebooks.BROWSED if notebooks.browser() else ())))
def test_it_runs_at_smoke_scale(name, nursery):
    """Those that no browser runs: in a process, since a kernel of its own would import for longer than it computes."""
    ended = nursery.run(f"from tests import notebooks\nnotebooks.execute({name!r}, {LIMIT})")
    assert ended.code == 0, ended.err
    assert [line for line in ended.said if not ANNOUNCED.search(line)] == []


@pytest.mark.parametrize("name", notebooks.names())
def test_it_has_the_form_of_all_notebooks(name):
    cells = notebooks.read(notebooks.FOLDER / name).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    assert "What you will see" in cells[0].source
    assert "parameters" in code[0].metadata.get("tags", [])
    drawing = "lab.compare(" if name == OWN else "lab.figure("
    assert any(drawing in cell.source for cell in code) and any("lab.explore(" in cell.source for cell in code)
    assert cells[-1].cell_type == "markdown" and "## What to try" in cells[-1].source


OTHER = ' if scale == "best" else scale'


@pytest.mark.parametrize("name", sorted(set(notebooks.names()) - {OWN}))
def test_its_figures_are_of_the_largest_scale_that_is_shipped(name):
    notebook = notebooks.read(notebooks.FOLDER / name)
    assert re.search('^scale = "best"$', notebooks.parameters(notebook).source, re.MULTILINE)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    figures = re.findall(r"lab\.figure\(([^)]*)\)", code)
    assert len(figures) == code.count("lab.figure(") > 0
    best = {figure.split(",")[0] for figure in figures if "scale=scale" in figure}
    others = [figure for figure in figures if "scale=scale" not in figure]
    # another scale beside the best one, of the same figure
    assert [figure for figure in others if figure.split(",")[0] not in best or OTHER not in figure] == []


@pytest.mark.parametrize("name", notebooks.names())
def test_it_has_no_long_functions_and_no_plotting(name):
    for cell in notebooks.read(notebooks.FOLDER / name).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    assert node.end_lineno - node.lineno < LONGEST, f"{node.name}: move it into lab/"
            assert len(cell.source.splitlines()) <= 10


PUBLIC = ("lab", "lab.probes", "lab.tasks", "lab.widgets")


@pytest.mark.parametrize("name", notebooks.names())
def test_it_needs_nothing_but_what_is_public(name):
    """What is imported from the lab, and what its code reaches through `lab.`, is a name that these packages list."""
    code = [cell.source for cell in notebooks.read(notebooks.FOLDER / name).cells if cell.cell_type == "code"]
    nodes = [node for source in code for node in ast.walk(ast.parse(source))]
    imported = [
        (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "lab"
        for alias in node.names
    ]
    imported += [
        (alias.name, "")
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] == "lab"
    ]
    words = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    reached = {tuple(word.split(".")) for word in words if re.fullmatch(r"lab(\.\w+)+", word)}
    for parts in sorted(reached):
        package = ".".join(parts[:2])
        imported.append((package, parts[2]) if package in PUBLIC and len(parts) > 2 else ("lab", parts[1]))
    for package, public in imported:
        assert package in PUBLIC, f"{package}: give what is needed of it a public name"
        there = importlib.import_module(package).__all__
        assert public in there or f"{package}.{public}".strip(".") in PUBLIC, f"{package}.{public} is not public"


@pytest.mark.parametrize("name", notebooks.names())
def test_a_cell_that_trains_comes_after_a_line_that_says_how_long(name):
    words = ""
    for cell in notebooks.read(notebooks.FOLDER / name).cells:
        if cell.cell_type == "markdown":
            words = cell.source
        elif TRAINS.search(cell.source):
            assert DURATION.search(words), f"say how long this takes:\n{cell.source}\nin what stands above:\n{words}"


def test_what_was_drawn_is_what_the_explorer_holds():
    """A spline that was given to an editor stays as it was: the drawn one is the explorer's `spline`."""
    told = [cell for name in notebooks.names() for cell in notebooks.read(notebooks.FOLDER / name).cells]
    lines = [line for cell in told if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    trained = [line for line in lines if "you drew" in line and "mlp=" in line]
    assert trained and all(re.search(r"mlp=\w+\.spline", line) for line in trained)


@pytest.mark.parametrize("name", notebooks.names())
def test_links_lead_to_files(name):
    for cell in notebooks.read(notebooks.FOLDER / name).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#]+)\)", cell.source):
                assert target.startswith("https://") or ((notebooks.FOLDER / name).parent / target).is_file(), target
