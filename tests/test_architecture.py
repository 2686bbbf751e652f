"""Who may import whom: from the top of the package to its ground, and never in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# From the ground to the top: packages and modules of lab. A module imports its own layer and those below it.
LAYERS = (
    (
        "errors",
        "identity",
        "picture",
        "files",
        "places",
        "versions",
        "devices",
        "scale",
        "seeds",
        "statistics",
        "estimates",
        "simultaneous",
        "progress",
        "workers",
    ),
    ("data", "task_names", "tasks", "spec", "kinds"),
    ("models", "nonlinearity", "store"),
    ("resolve", "training", "probes"),
    ("jobs", "cluster", "engine"),
    ("run", "search_results", "differences", "table_comparison", "comparison", "plots"),
    ("papers",),
    ("own",),
    ("catalogue", "api", "functions", "request", "finetuning"),
    ("widgets", "doctor"),
    ("gallery", "testing"),
    ("cli", "__main__"),
)
CROSSING = "crossing"  # among the papers: what puts functions of one into models of others, and so may know them all
ASKING = [["catalogue"], ["api"], ["request"], ["widgets"], ["gallery"]]  # what names no paper (`registry.papers_with`)
TOP = "lab"  # lab/__init__.py, which gives what the layers have


def imports(path: Path, known: set[str], module: str) -> list[tuple[str, int, bool]]:
    """What a file imports: module, line, whether it is for type checkers alone; wherever in the file it stands."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), []
    typing = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in node.body
        for child in ast.walk(part)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # relative
                package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            whole = (f"{base}.{alias.name}" for alias in node.names)
            names = [name if name in known else base for name in whole]
        found += [(name, node.lineno, id(node) in typing) for name in names if name in known]
    return found


def graph(root: Path) -> dict[str, list[tuple[str, int, bool]]]:
    """The imports of every module of root/lab from root/lab, by the module's dotted name."""
    paths = {}
    for path in sorted((root / TOP).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {module: imports(path, set(paths), module) for module, path in paths.items()}


def room(module: str) -> int:
    """The layer of a module; lab itself is above all."""
    parts = module.split(".")
    if len(parts) == 1:
        return len(LAYERS)
    found = [number for number, layer in enumerate(LAYERS) if parts[1] in layer]
    assert found, f"{module}: no layer has it; say in LAYERS where {parts[1]} stands"
    return found[0]


def paper(module: str) -> str | None:
    """The paper that a module belongs to: a package of lab.papers."""
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["papers"] and len(parts) > 3 else None


def violations(root: Path) -> list[str]:
    """Every import that goes up, from paper to paper, or from a claim to a plot; each with its line."""
    found, modules = [], graph(root)
    papers = {paper(module) for module in modules} - {None}
    for module, targets in modules.items():
        for target, line, typing in targets:
            at = f"{module}:{line} imports {target}"
            if room(target) > room(module) and not typing:
                found.append(f"{at}, which is above it")
            own, other = paper(module), target.split(".")[2] if target.count(".") > 1 else None
            if target.startswith("lab.papers.") and other in papers and own not in (None, CROSSING, other):
                found.append(f"{at}, of another paper")
            if own is None and room(module) == room("lab.papers.entry") and other in papers:
                found.append(f"{at}: what papers share knows none of them")
            if target.startswith("lab.papers.") and other in papers and module.split(".")[1:2] in ASKING:
                found.append(f"{at}: papers say in a module `interface` what others may ask of them")
            if module.rpartition(".")[2] == "claims" and (".plots" in target or target.startswith("lab.plots")):
                found.append(f"{at}: claims are measured in tables, without drawing")
    return found


def circle(root: Path) -> list[str]:
    """A circle of imports, or nothing. Imports for type checkers alone do not count, those in functions do."""
    edges = {
        module: {target for target, _, typing in targets if not typing and target != module}
        for module, targets in graph(root).items()
    }
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_go_down():
    assert violations(ROOT) == []


def test_every_folder_of_modules_is_a_package():
    """An installation leaves out a folder without __init__.py."""
    folders = {path.parent for path in (ROOT / TOP).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_circle():
    assert circle(ROOT) == []


SOUND = {
    "lab/__init__.py": "from lab.run import Run",
    "lab/run.py": "from lab.spec import key",
    "lab/spec/__init__.py": "from lab.spec.parts import key",
    "lab/spec/parts.py": "import typing\nif typing.TYPE_CHECKING:\n    from lab.spec.searches import Spec\nkey = 1",
    "lab/spec/searches.py": "from lab.spec import parts\nSpec = 1",
    "lab/plots/style.py": "",
    "lab/papers/claims.py": "",
    "lab/papers/one/__init__.py": "",
    "lab/papers/one/settings.py": "",
    "lab/papers/one/section/claims.py": "from lab.papers.one import settings\nfrom lab.papers import claims",
    "lab/papers/one/section/plots.py": "from lab.plots import style",
    "lab/papers/two/settings.py": "from lab.papers.claims import Claim",
    "lab/papers/crossing/both.py": "from lab.papers.one import settings\nfrom lab.papers.two import settings as other",
    "lab/catalogue/build.py": "from lab.papers.claims import Claim",
}


def made(folder: Path, changed: dict[str, str]) -> Path:
    for name, text in (SOUND | changed).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return folder


def test_a_sound_package_passes(tmp_path):
    root = made(tmp_path, {})
    assert violations(root) == [] and circle(root) == []


@pytest.mark.parametrize(
    ("module", "text", "complaint"),
    [
        ("lab/run.py", "from lab.papers.one.settings import x", "1 imports lab.papers.one.settings, which is above"),
        ("lab/run.py", "def f():\n    import lab.catalogue.build", "2 imports lab.catalogue.build, which is above"),
        ("lab/plots/style.py", "from lab.papers import one", "1 imports lab.papers.one, which is above it"),
        ("lab/spec/parts.py", "from ..run import Run\nkey = 1", "lab.spec.parts:1 imports lab.run, which is above"),
        ("lab/papers/two/settings.py", "from lab.papers.one import settings", "of another paper"),
        ("lab/papers/two/settings.py", "from lab.papers.crossing import both", "of another paper"),
        ("lab/catalogue/build.py", "from lab.papers.one import settings", "what others may ask of them"),
        ("lab/papers/two/settings.py", "from lab.papers import one", "of another paper"),
        ("lab/papers/claims.py", "from lab.papers.one import settings", "what papers share knows none of them"),
        ("lab/papers/one/section/claims.py", "from lab.papers.one.section.plots import x", "without drawing"),
        ("lab/papers/one/section/claims.py", "from lab.plots.style import x", "without drawing"),
    ],
)
def test_a_planted_violation_is_found(tmp_path, module, text, complaint):
    found = violations(made(tmp_path, {module: text}))
    assert len(found) == 1 and complaint in found[0]


def test_a_planted_circle_is_found(tmp_path):
    root = made(tmp_path, {"lab/papers/one/settings.py": "def f():\n    from lab.papers.one.section import claims"})
    assert {"lab.papers.one.settings", "lab.papers.one.section.claims"} == set(circle(root))


def test_a_package_of_no_layer_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="no layer has it"):
        violations(made(tmp_path, {"lab/utils.py": "import lab.run"}))
