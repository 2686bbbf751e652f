"""The lab as a wheel: built from the checkout and from the sdist alike, put into empty environments, and used there.

Run it with the Python of the checkout's environment, which has the packages: an environment here gets links to those
that the wheel asks for, and to no others, so that nothing is installed twice and a missing dependency shows. One has
what a plain `pip install` brings; the other torch, numpy and safetensors alone. Each step runs in an empty folder.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import venv
import zipfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
MOST = 40e6  # bytes of a wheel
PACKAGES = Path(sysconfig.get_path("purelib"))
FUNCTIONS = """
import sys, torch, lab
from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.kan import KANLayer
nn = torch.nn
make = lambda: nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2))
phi, model, x = lab.zoo("transformers/memorize"), make(), torch.randn(5, 3)
assert lab.swap(model, nn.GELU, phi, learnable=True) == ["1"]
model(x).sum().backward()
assert model[1].values.grad.abs().sum() > 0
again = lab.load_swapped(make(), lab.save_swapped(model, "saved"))
assert torch.equal(again(x), model(x))
phi.save("phi.json")
assert torch.equal(lab.Spline.load("phi.json").values, phi.values)
assert phi.polynomial(8)(x).shape == phi.simplified(0.01).spline(x).shape == x.shape
assert lab.swap(make(), nn.GELU, phi, per_channel=True) == ["1"]
assert ChannelSpline(torch.zeros(3, 5))(x).shape == x.shape and KANLayer(3, 2)(x).shape == (5, 2)
assert lab.Spline.from_function(torch.sin)(x).shape == x.shape and len(lab.zoo_names()) == 17
heavy = {"pandas", "plotly", "numba", "scipy", "sklearn", "tyro", "IPython"} & set(sys.modules)
assert not heavy, heavy
"""
SWAP = """
import torch, lab
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
print(lab.swap(model, torch.nn.GELU, lab.zoo("transformers/memorize")), model(torch.zeros(1, 3)).shape)
"""
NOTEBOOK = """
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read("notebooks/00_start_here.ipynb", as_version=4)
for cell in notebook.cells:
    if "parameters" in cell.metadata.get("tags", []):
        cell.source = cell.source.replace('training = "laptop"', 'training = "smoke"')
NotebookClient(notebook, timeout=300).execute()
print(sum(cell.cell_type == "code" for cell in notebook.cells), "cells ran")
"""
GALLERY = """
from pathlib import Path
from lab.places import RESULTS
shipped = {"/".join(path.parts[-4:-2]) for path in RESULTS.glob("*/*/*/provenance.json.gz")}
pages = {"/".join(path.with_suffix("").parts[-2:]) for path in Path("out/gallery/figures").rglob("*.html")}
assert len(pages) > 50 and pages <= shipped, pages ^ shipped
assert not list(Path("out/gallery").rglob("*provenance*"))
"""


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-wheel-") as place:
        folder = Path(place)
        wheel = built(folder)
        use(wheel, folder)
        functions_alone(wheel, folder)
    said(f"all of it took {time.monotonic() - began:.0f} s")


def built(folder: Path) -> Path:
    """The wheel. That of the checkout and that of the sdist have the same content: the tracked files, and no others."""
    tools = folder / "tools"
    run([sys.executable, "-m", "pip", "install", "-q", "--target", tools, "setuptools>=77"], ROOT)

    def build(kind: str, source: Path, name: str) -> Path:
        target = folder / name
        target.mkdir()
        code = f"from setuptools.build_meta import build_{kind} as build; build({str(target)!r})"
        run([sys.executable, "-c", code], source, PYTHONPATH=str(tools))
        return next(path for path in target.iterdir() if path.is_file())

    with tarfile.open(build("sdist", ROOT, "sdist")) as archive:
        archive.extractall(folder, filter="data")
        unpacked = folder / archive.getnames()[0].split("/")[0]
    wheel, other = build("wheel", ROOT, "wheel"), build("wheel", unpacked, "again")
    assert contents(wheel) == contents(other), "the sdist builds another wheel"
    assert wheel.stat().st_size < MOST, f"the wheel has {wheel.stat().st_size / 1e6:.0f} MB"
    tracked = run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "lab", "data", "notebooks"], ROOT).splitlines()
    wanted = {name if name.startswith("lab/") else f"lab/shipped/{name.removeprefix('data/')}" for name in tracked}
    inside = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert inside == wanted, f"in the wheel or in git alone: {sorted(inside ^ wanted)[:5]}"
    said(f"{wheel.name}: {len(inside)} files, {wheel.stat().st_size / 1e6:.1f} MB")
    return wheel


def contents(wheel: Path) -> dict[str, int]:
    """Checksums of its files."""
    with zipfile.ZipFile(wheel) as archive:
        return {file.filename: file.CRC for file in archive.infolist() if not file.filename.endswith("/RECORD")}


def use(wheel: Path, folder: Path) -> None:
    """What a user does first, with what a plain `pip install` brings."""
    python = environment(wheel, folder / "whole", requires(wheel))
    empty = folder / "empty"
    empty.mkdir()

    def lab(*words: str) -> str:
        return run([python.parent / "lab", *words], empty, home=folder / "home")

    package = next((folder / "whole").rglob("site-packages/lab"))
    before = files(package)
    found = json.loads(lab("doctor", "--json"))
    assert found["lab"].count("installation") == 1 and found["zoo"].startswith("17 learned"), found
    assert str(folder / "home") in found["store"] and str(folder / "home") in found["data"], found
    figures = json.loads(lab("figures", "--json"))
    assert len(figures) > 60 and any(row["name"] == "simplicity/fig11" for row in figures), len(figures)
    assert lab("zoo").count("\ntransformers/") == 16 and "*" in lab("zoo", "transformers/memorize")
    # RESULTS.md is what the command prints in the checkout
    assert lab("scorecard", "--markdown") == (ROOT / "RESULTS.md").read_text(encoding="utf-8"), "other verdicts"
    lab("gallery")
    run([python, "-c", GALLERY], empty, home=folder / "home")
    assert "out/simplicity/fig11/overnight/figure.html" in lab("figure", "simplicity/fig11", "--scale", "best")
    assert "table.csv" in lab("figure", "simplicity/fig11", "--scale", "smoke", "--seeds", "2")
    lab("notebooks", "--no-open")
    assert "['1']" in run([python, "-c", SWAP], empty, home=folder / "home")
    assert "cells ran" in run([python, "-c", NOTEBOOK], empty, home=folder / "home")
    assert files(package) == before, "an installation may be read-only"
    found = json.loads(run([python, "-m", "lab", "doctor", "--json"], ROOT, home=folder / "home"))
    assert f"checkout {ROOT}; not used: {package}" in found["lab"], "a checkout comes before an installed wheel"


def files(package: Path) -> dict[str, int]:
    """When the files of an installation were written, but for what Python compiled."""
    there = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path): path.stat().st_mtime_ns for path in there}


def functions_alone(wheel: Path, folder: Path) -> None:
    """Functions need torch, numpy and safetensors alone."""
    python = environment(wheel, folder / "bare", [Requirement(name) for name in ("torch", "numpy", "safetensors")])
    empty = folder / "alone"
    empty.mkdir()
    run([python, "-W", "ignore::Warning", "-c", FUNCTIONS], empty, home=folder / "home")


def requires(wheel: Path) -> list[Requirement]:
    """Its dependencies, without those of extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = metadata.PathDistribution(zipfile.Path(archive, f"{name.rpartition('/')[0]}/")).requires or []
    return [one for one in map(Requirement, lines) if not one.marker or one.marker.evaluate({"extra": ""})]


def environment(wheel: Path, folder: Path, wanted: list[Requirement]) -> Path:
    """Its Python: an environment with the wheel and links to the packages it wants, and to what these need."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    there = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip())
    for distribution in closure(wanted):
        for name in {file.parts[0] for file in distribution.files or [] if ".." not in file.parts}:
            if name not in ("__pycache__", "bin") and not name.endswith(".pth") and not (there / name).exists():
                (there / name).symlink_to(PACKAGES / name)
    run([sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel], folder)
    return python


def closure(wanted: list[Requirement]) -> list[metadata.Distribution]:
    """The distributions that these requirements bring."""
    reached: dict[str, metadata.Distribution] = {}
    known: set[tuple[str, str]] = set()
    waiting = [(one, extra) for one in wanted for extra in ("", *one.extras)]
    while waiting:
        one, extra = waiting.pop()
        if (one.name, extra) in known:
            continue
        known.add((one.name, extra))
        distribution = metadata.distribution(one.name)
        reached[canonicalize_name(one.name)] = distribution
        for need in map(Requirement, distribution.requires or []):
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                waiting += [(need, more) for more in ("", *need.extras)]
    return list(reached.values())


def run(command: list, folder: Path, home: Path | None = None, **variables: str) -> str:
    """What a command prints. Its environment names no folder of the lab's."""
    began = time.monotonic()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LAB_", "PYTHON", "XDG_"))}
    more = {} if home is None else {"XDG_DATA_HOME": str(home), "PYTHONNOUSERSITE": "1", "PYTHONWARNINGS": "ignore"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=inherited | more | variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)[:300]}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    if home is not None:
        said(f"{time.monotonic() - began:5.1f} s  {' '.join(words[1:] if words[1] != '-c' else words[2].split())[:70]}")
    return done.stdout


def said(line: str) -> None:
    print(f"wheel: {line}", flush=True)


if __name__ == "__main__":
    main()
