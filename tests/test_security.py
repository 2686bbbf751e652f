"""What SECURITY.md says, item by item; the other items' tests are where it names them."""

import ast
import functools
import importlib
import io
import os
import re
import socket
import sys
import tarfile
import tomllib
from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from torch import nn

import lab
from lab import Spline, probes
from lab.data import datasets
from lab.data.dataset import Archive
from lab.nonlinearity import native, op
from tests import fuzz
from tests.training.own import signs

ROOT = Path(__file__).parents[1]
SOURCES = {path.relative_to(ROOT / "lab").as_posix(): path for path in sorted((ROOT / "lab").rglob("*.py"))}


@functools.cache
def nodes():
    """Imports and calls by module; one walk through all of the lab is enough."""
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
    kinds = (ast.Import, ast.ImportFrom, ast.Call)
    return {name: [node for node in ast.walk(tree) if isinstance(node, kinds)] for name, tree in trees.items()}


def imported(found):
    for node in found:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(*packages):
    """The modules of the lab that import one of these, with what they import of it."""
    return {
        (name, one)
        for name, found in nodes().items()
        for one in imported(found)
        if any(f"{one}.".startswith(f"{package}.") for package in packages)
    }


def calls(name):
    """The modules of the lab that call something of this name, a function or a method, and the call."""
    for module, found in nodes().items():
        for node in found:
            if isinstance(node, ast.Call) and name == getattr(node.func, "attr", getattr(node.func, "id", None)):
                yield module, node


def test_every_item_has_its_test():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) > 12
    for file, name in named:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), f"{file}::{name}"
    mine = re.findall(r"^def (test_\w+)", Path(__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(mine) - {"test_every_item_has_its_test"} <= {name for _, name in named}


def test_programs_are_started_in_a_few_places():
    places = {"nonlinearity/native.py", "versions.py", "data/dataset.py", "data/download.py", "catalogue/export.py"}
    assert {name for name, _ in importers("subprocess")} == places
    assert not importers("multiprocessing", "pty", "asyncio.subprocess")
    names = ("system", "popen", "fork", "posix_spawn", "execv", "execve", "spawnv", "startfile")
    of_os = {(module, name) for name in names for module, node in calls(name) if ast.unparse(node.func) == f"os.{name}"}
    assert of_os == {("cli/shipped.py", "execv")}  # JupyterLab
    assert not [module for module, node in calls("run") if any(one.arg == "shell" for one in node.keywords)]


def test_nothing_unpickles_or_evaluates():
    assert not importers("pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code", "torch.load")
    assert importers("runpy") == {("catalogue/league.py", "runpy")}  # with --trust
    for name in ("eval", "exec", "compile", "__import__"):
        assert not [module for module, node in calls(name) if isinstance(node.func, ast.Name)]
    assert not [module for module, node in calls("load") if ast.unparse(node.func) in ("torch.load", "yaml.load")]
    loads = [
        node for name in ("load", "write_array") for _, node in calls(name) if ast.unparse(node.func).startswith("np.")
    ]
    assert len(loads) >= 4
    for node in loads:
        assert any(one.arg == "allow_pickle" and ast.unparse(one.value) == "False" for one in node.keywords)


def test_the_lab_goes_online_in_a_few_places():
    used = importers("requests", "http", "socket", "ftplib", "fsspec", "s3fs", "upath", "huggingface_hub", "aiohttp")
    places = {name for name, _ in used}
    assert places == {"data/download.py", "store/objects.py", "store/leases.py"}  # leases: the machine's name
    (socket,) = {node.func.attr for module, node in calls("gethostname")} | {
        node.func.attr for module, node in calls("create_connection")
    }
    assert socket == "gethostname"
    assert {one for _, one in importers("urllib")} <= {f"urllib.parse.{name}" for name in URL} | {
        "urllib.request.url2pathname"
    }
    assert {module for module, _ in calls("fetch_openml")} == {"data/dataset.py"}
    assert not importers("datasets.load_dataset")
    for module, node in calls("from_pretrained"):
        assert any(one.arg == "local_files_only" for one in node.keywords), module


URL = ("quote", "unquote", "urldefrag", "urljoin", "urlsplit", "urlparse")


@pytest.fixture(scope="module", autouse=True)
def _audited():
    sys.addaudithook(fuzz._audit)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "fineweb_shard", "credit"])
def test_what_is_not_here_is_not_fetched(name, tmp_path):
    said = fuzz.attempt(lambda data, folder: datasets.load(name), b"", tmp_path)
    assert f"{name} is not here: `lab data fetch {name}` gets it" in said


def test_an_archive_is_read_and_not_installed(tmp_path):
    program = f"open({str(tmp_path / 'run')!r}, 'w').close()".encode()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name in (
            "plays/setup.py",
            "plays/pyproject.toml",
            "plays/conftest.py",
            "plays/a.md",
            "../plays/b.md",
            "/plays/c.md",
        ):
            info = tarfile.TarInfo(name)
            info.size = len(program)
            archive.addfile(info, io.BytesIO(program))

    def read(data, folder):
        (folder / "plays.tar.gz").write_bytes(data)
        package = Archive("pip", "plays", "1", "", ("*plays/*.md",), lambda files: files)
        assert package.unpack(folder / "plays.tar.gz", 10_000) == dict.fromkeys(("a.md", "b.md", "c.md"), program)
        assert [one.name for one in folder.iterdir() if one.is_file()] == ["plays.tar.gz"]

    assert fuzz.attempt(read, file.getvalue(), tmp_path) == "read"
    assert not (tmp_path / "run").exists()


MINE = """
import torch
from torch import nn
from tests.test_security import called
called("file")

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.act, self.out = nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 2)

    def forward(self, x):
        called("forward")
        return self.out(self.act(self.inner(x)))

def make(seed):
    called("make")
    torch.manual_seed(seed)
    return Model()

def phi(x):
    called("phi")
    return torch.relu(x)

def loss(model):
    called("loss")
    return model(torch.ones(3, 6)).square().mean()

def of_points(points):
    called("of_points")
    return points.sum(1)
"""
CALLED = Counter()  # by what was called, and in which process


def called(name):
    CALLED[name, os.getpid()] += 1


def test_your_own_models_are_called_and_nothing_else_is_done_for_them(tmp_path, monkeypatch):
    """In this process, as the objects that they are: their file is not run again, nothing is compiled or unpickled,
    started, sent, or written outside the lab's folders."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("mine")
    monkeypatch.delitem(sys.modules, "mine")  # whoever imports it by its name runs it again
    monkeypatch.setattr(socket, "gethostname", lambda: "here")  # it stands in a lease
    ends = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    short = {"steps": 2, "batch": 32, "progress": False}
    measures = {"loss": mine.loss}
    uses = {
        "search": (lambda: lab.search(signs(), model=mine.make, replace=nn.GELU, models=1, **short), "make forward"),
        "compare": (
            lambda: lab.compare(signs(), mine.make, nn.GELU, {"GELU": None, "mine": mine.phi}, seeds=1, **short),
            "make forward phi",
        ),
        "slice_1d": (lambda: probes.slice_1d(mine.of_points, *ends[:2]), "of_points"),
        "slice_2d": (lambda: probes.slice_2d(mine.Model(), ends, grid=3), "forward"),
        "total_variation": (lambda: probes.total_variation(mine.of_points, ends, paths=3), "of_points"),
        "fourier_complexity": (lambda: probes.fourier_complexity(mine.of_points, ends, paths=3), "of_points"),
        "landscape": (lambda: probes.landscape(mine.Model(), measures, "random", grid=3), "loss forward"),
        "spectrum": (lambda: probes.spectrum(mine.Model(), measures, count=1, steps=3, probes=1), "loss forward"),
        "connectivity": (
            lambda: probes.connectivity(mine.Model(), mine.Model(), measures, points=3, match=False),
            "loss forward",
        ),
        "cost": (lambda: probes.cost({"mine": mine.phi}, elements=64, repeats=1), "phi"),
    }
    for first in (True, False):  # what the lab itself imports and compiles comes the first time
        for name, (use, words) in uses.items():
            CALLED.clear()
            done = fuzz.attempt(lambda data, folder, use=use: use() and None, b"0" * 200_000, tmp_path, first)
            assert done == "read", name
            assert set(CALLED) == {(word, os.getpid()) for word in words.split()}, name


def test_nothing_is_compiled_where_torch_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_KERNEL", "torch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    native._loaded.cache_clear()
    phi = Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)
    assert phi(torch.tensor([0.5])).item() == 0.5 and op.describe().startswith("torch")
    assert list(tmp_path.iterdir()) == []
    native._loaded.cache_clear()


def needed(requirement, extras=frozenset(), known=None):
    """What a requirement needs here, and what that needs in turn: by name the specifiers that all of them state."""
    known = {} if known is None else known
    name = canonicalize_name(requirement.name)
    if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras or {""}):
        return known
    first = (name, frozenset(requirement.extras)) not in known.setdefault("seen", set())
    known["seen"].add((name, frozenset(requirement.extras)))
    known.setdefault(name, []).append(requirement)
    if first:
        try:
            further = distribution(name).requires or ()
        except PackageNotFoundError:
            return known
        for text in further:
            needed(Requirement(text), frozenset({"", *requirement.extras}), known)
    return known


def test_pins_are_whole():
    """Nothing is asked online: what packages need in turn is in the metadata of those that are installed."""
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE))
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    lines = re.findall(
        r"^([\w.-]+)==(\S+) --hash=sha256:(\w+)$", (ROOT / "hashes.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    hashes = {canonicalize_name(name): digest for name, _, digest in lines}
    assert len(hashes) == len(lines) == len(set(hashes.values())) and all(len(one) == 64 for one in hashes.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extras, must in ((("export",), hashes), (tuple(project["optional-dependencies"]), pins)):
        known = {}
        texts = [
            *project["dependencies"],
            *(one for extra in extras for one in project["optional-dependencies"][extra]),
        ]
        for text in texts:
            needed(Requirement(text), known=known)
        known.pop("seen")
        assert not (lacking := set(known) - set(must) - ACCELERATOR), lacking
        for name, requirements in known.items():
            for requirement in requirements if name in pins else ():
                assert requirement.specifier.contains(pins[name], prereleases=True), (
                    f"{requirement} excludes {pins[name]}"
                )


ACCELERATOR = {"triton"}  # of torch's CUDA build alone
