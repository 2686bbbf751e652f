"""Laws of the repository: what is committed, what is pinned, how long modules are, what an import loads."""

import ast
import functools
import importlib
import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lab
from lab.spec.canonical import ELSEWHERE
from tests import order
from tests.test_architecture import graph

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 450  # lines: what one reads together; a class and its family are not cut for less
DATA = ("results", "runs", "samples", "searches", "zoo")
FOLDERS = ("lab", "notebooks", "tests", "benchmarks", *(f"data/{name}" for name in DATA))
MOST = 39_900_000  # bytes of all committed files: what everybody downloads first
# Words that say what was done to a value, not what it is: no names of variables, parameters, functions or classes.
NO_NOUNS = {
    "beside",
    "carried",
    "found",
    "guest",
    "kept",
    "lent",
    "lost",
    "looked_at",
    "mend",
    "moved",
    "own",
    "seen",
    "told",
}
IMPORTED_WHERE_USED = {"umap", "sklearn", "numba", "dask"}  # each costs a notebook's first second


@functools.cache
def committed(pattern="*"):
    """The files under version control (and the new ones git would not ignore), as paths."""
    # safe.directory: a container's checkout often belongs to another user than the one who runs the tests
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run([*git, "--", pattern], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or an unpacked archive: what lies in its folders
        found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
        kept = [path for path in found if "__pycache__" not in path.parts]
        return [path for path in kept if fnmatch(name_of(path), pattern)]
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def test_all_that_is_committed_is_light():
    """Outside a checkout what is measured is nearly the same: the data are nine tenths of it."""
    paths = committed()
    assert {"lab", "data"} <= {name_of(path).partition("/")[0] for path in paths}, "there is something to weigh"
    largest = sorted((path.stat().st_size, name_of(path)) for path in paths)[-5:]
    assert sum(path.stat().st_size for path in paths) < MOST, f"the largest: {largest}"


@pytest.mark.parametrize("path", committed("*.ipynb"), ids=name_of)
def test_notebooks_are_committed_without_outputs(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert "widgets" not in notebook["metadata"], "widget state: 5 MB for each figure"
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None, f"cell {number} was saved run"
            assert "execution" not in cell["metadata"], f"cell {number} carries the times of a run"


def test_no_file_names_a_path_of_somebodys_machine():
    homes = "|".join(["home", "work", "root", "Users"])
    absolute = re.compile(rf"(?<![\w.~/:-])/(?:{homes})/\w")
    found = []
    for path in committed():
        content = path.read_bytes()
        if b"\0" in content:  # binary
            continue
        for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), 1):
            if absolute.search(line):
                found.append(f"{name_of(path)}:{number}")
    assert found == []


@pytest.mark.parametrize("name", sorted({*order.NUMERICAL, *order.NOT_NUMERICAL, *order.KERNEL, *order.FIRST}))
def test_lists_of_tests_name_what_is_there(name):
    assert (ROOT / "tests" / name).exists()


def test_every_dependency_is_pinned_inside_its_range():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            pins[canonicalize_name(name)] = version
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    for requirement in map(Requirement, wanted):
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin, f"{requirement.name} is not in constraints.txt"
        assert requirement.specifier.contains(pin), f"{requirement} excludes its own pin {pin}"


def test_hashes_are_of_the_pins_and_of_all_that_is_needed():
    lines = (ROOT / "hashes.txt").read_text(encoding="utf-8").splitlines()
    hashed = dict(
        re.fullmatch(r"(\S+)==(\S+) --hash=sha256:[0-9a-f]{64}", line).groups() for line in lines if line[0] != "#"
    )
    pins = (line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line)
    pinned = {canonicalize_name(name): version for name, version in pins}
    assert {name: pinned.get(canonicalize_name(name)) for name in hashed} == hashed | {"torch": pinned["torch"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["export"]])
    assert {canonicalize_name(one.name) for one in needed} <= {*map(canonicalize_name, hashed)}


def test_what_names_the_version_names_the_same():
    version = lab.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", committed("lab/*.py"), ids=name_of)
def test_modules_say_what_they_are_and_stay_short(path):
    source = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source)), "no docstring"
    assert len(source.splitlines()) < LONGEST


@pytest.mark.parametrize("path", [*committed("lab/*.py"), *committed("benchmarks/*.py")], ids=name_of)
def test_names_say_what_a_value_is(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    bodies = [statement for node in nodes if isinstance(node, ast.ClassDef) for statement in node.body]
    fields = {id(statement.target) for statement in bodies if isinstance(statement, ast.AnnAssign)}  # attributes
    names = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields
    }
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    assert sorted(name for name in names if name.strip("_") in NO_NOUNS) == []


IMPORTS = """
import contextlib, io, json, sys
import lab
from lab.cli import main
quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
with quiet[0], quiet[1]:
    for words in ("--help", "figure --help", "chess", "store mend", "figures --scale"):
        with contextlib.suppress(SystemExit):
            main(words.split())
command = set(sys.modules)
import torch
before = set(sys.modules)
for name in lab.__all__:
    getattr(lab, name)
print(json.dumps([sorted(command), sorted(set(sys.modules) - before)]))
"""


def test_what_is_imported_and_when():
    """The command's help and a typo wait for no torch and no plotly; no name of lab for what costs more than .1 s."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=True)
    command, names = ({module.partition(".")[0] for module in loaded} for loaded in json.loads(done.stdout))
    assert {"lab", "tyro"} <= command and command.isdisjoint(
        IMPORTED_WHERE_USED | {"torch", "numpy", "pandas", "plotly"}
    )
    assert "lab" in names and names.isdisjoint(IMPORTED_WHERE_USED)


def test_the_front_door_leads_to_every_name_and_room():
    assert sorted(lab._HOME) == sorted(lab.__all__) and {*lab.__all__, *lab._ROOMS} <= {*dir(lab)}
    tree = ast.parse(Path(lab.__file__).read_text(encoding="utf-8"))
    typed = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(lab.__all__) <= typed, "type checkers and editors read the imports"
    for name in lab.__all__:
        assert getattr(lab, name) is getattr(importlib.import_module(lab._HOME[name]), name)
    assert lab.probes.__name__ == "lab.probes" and lab.tasks.__name__ == "lab.tasks"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lab.nothing


def test_kinds_of_specs_that_register_themselves_are_known_to_whoever_reads_json():
    imported, waiting = set(), [*ELSEWHERE]
    modules = graph(ROOT)
    while waiting:
        imported.add(module := waiting.pop())
        waiting += [target for target, _, typing in modules[module] if not typing and target not in imported]
    marked = [path for path in committed("lab/*.py") if re.search("^@register$", path.read_text("utf-8"), re.MULTILINE)]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in marked}
    assert names and names <= imported, "name its module in lab.spec.canonical.ELSEWHERE"


def test_files_of_text_are_read_and_written_in_one_encoding_everywhere():
    """What a machine takes for text without `encoding=` differs: no file of one is read well on another."""
    found = []
    for path in committed("lab/*.py"):
        nodes = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        calls = [node for node in nodes if getattr(node.func, "attr", "") in ("read_text", "write_text")]
        plain = [call for call in calls if "encoding" not in [keyword.arg for keyword in call.keywords]]
        found += [f"{name_of(path)}:{call.lineno}" for call in plain]
    assert found == []


WITHOUT_PICTURES = """
import sys
sys.modules |= dict.fromkeys({absent!r})
from lab.catalogue.build import measured
from lab.catalogue.registry import entry
for name in ("hypernetwork/fig2d", "simplicity/fig8"):
    print(len(measured(entry(name), "smoke", "cpu", None, progress=False)[0]))
"""


def test_tables_are_measured_where_there_is_nothing_to_draw_with(store_folder):
    """A machine with a GPU often has no more than torch and scikit-learn (benchmarks/gpu_batch.py)."""
    script = WITHOUT_PICTURES.format(absent=["plotly", "tyro", "numba", "umap", "ipywidgets", "kaleido", "tqdm"])
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert all(int(rows) > 0 for rows in done.stdout.split())
