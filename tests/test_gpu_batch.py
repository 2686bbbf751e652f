"""What is done on a GPU is executed on the CPU, in small, before there is one (benchmarks/gpu_batch.py)."""

import json
import os
import subprocess
import sys
import tarfile

import pytest

from tests.processes import ROOT, Nursery

MEASURED = """
import json, gpu_batch, gpu_measures
work = gpu_measures.DRY_RUN
calls = gpu_measures.measures(work)
print(json.dumps({name: calls[name][0](*calls[name][1]) for name in ("kernel", "kan", "agreement", "fleet_8")}))
"""
FIGURES = """
import sys, gpu_batch, gpu_measures
from pathlib import Path
out, archive = Path(sys.argv[2]), Path(sys.argv[2] + ".tar.gz")
gpu_batch.main(gpu_measures.DRY_RUN, float(sys.argv[1]), 9.0, out, archive, 1, ["transformers/fig6"])
"""
# parts that end well, with data that are not here, never, with their process, and well
PARTS = """
import os, sys, time, gpu_batch, gpu_measures
from pathlib import Path
from lab.errors import LabError
def absent():
    raise LabError("no such data")
def number():
    return str(os.getpid())
def well(path):
    path.write_text("here")
    return "is here"
def parts(work, out, each, seeds, only):
    path = out / "done"
    calls = {"one": number, "absent": absent, "same": number, "endless": time.sleep, "gone": os._exit}
    needs = {"endless": (600,), "gone": (1,)}
    made = [gpu_batch.Part(n, path, c, needs.get(n, ()), 0.03 if n == "endless" else 3) for n, c in calls.items()]
    return [*made, gpu_batch.Part("well", path, well, (path,), 3)]
if __name__ == "__main__":
    gpu_batch.parts = parts
    gpu_batch.main(gpu_measures.DRY_RUN, 9.0, 9.0, Path(sys.argv[1]))
"""


# the interpreter has to be asked for before triton is imported
INTERPRETED = {"TRITON_INTERPRET": "1", "PYTHONPATH": f"{ROOT / 'benchmarks'}:{ROOT}"}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run code with arguments in a process of its own: its output."""
    nursery = Nursery(tmp_path_factory.mktemp("interpreted"), **INTERPRETED)

    def run(code: str, *words: str) -> str:
        ended = nursery.run(f"import sys\nsys.argv = {['-c', *words]!r}\n{code}", **(os.environ | INTERPRETED))
        assert ended.code == 0, ended.err
        return ended.out

    yield run
    nursery.close()


def test_measures_run_and_agree_with_the_formula(printed):
    """`kernel` and `kan` raise where the GPU's kernels are further from the formula than rounding."""
    made = json.loads(printed(MEASURED))
    assert made["agreement"]["accuracy_val"] == 0, "here both are the CPU"
    assert len(made["kernel"]) == 12 and len(made["kan"]) == 2 and made["fleet_8"]["ratio"] > 0


def test_figures_are_made_as_long_as_there_is_time_and_once(printed, store_folder, tmp_path):
    out = tmp_path / "out"
    assert printed(FIGURES, "0", str(out)) == "time is up; call again to go on\n"
    made = printed(FIGURES, "9", str(out))
    assert made.startswith("transformers/fig6: ") and "rows" in made, made
    facts = json.loads((out / "transformers/fig6/smoke/provenance.json").read_text())
    assert facts["scale"] == "smoke" and (out / "transformers/fig6/smoke/table.csv").is_file()
    assert printed(FIGURES, "9", str(out)) == "", "nothing is left"
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "out.tar.gz").rename(tmp_path / "elsewhere.tar.gz")
    assert printed(FIGURES, "9", str(elsewhere)) == "", "the archive says what was done on another machine"
    with tarfile.open(tmp_path / "elsewhere.tar.gz") as file:
        assert "./transformers/fig6/smoke/table.csv" in file.getnames()


def test_a_part_that_fails_hangs_or_ends_its_process_costs_no_other(tmp_path):
    (script := tmp_path / "parts.py").write_text(PARTS)
    command, environment = [sys.executable, script, tmp_path / "out"], os.environ | INTERPRETED
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["one", "absent", "same", "endless", "gone", "well"]
    assert lines[0].split()[-1] == lines[2].split()[-1], "an error of the lab's own leaves the process as it is"
    assert "no such data" in lines[1] and "not done in its time" in lines[3] and lines[5].endswith("; is here")
    assert "raise LabError" in (tmp_path / "out/errors/absent.txt").read_text()
    assert (tmp_path / "out/errors/gone.txt").is_file() and not (tmp_path / "out/errors/endless.txt").exists()


ROUNDING = """
import torch, gpu_measures
from lab.nonlinearity import formula, gpu
for knots in (361, 1000):
    draw, spacing = torch.Generator().manual_seed(0), 40 / (knots - 1)
    x = (((4 * torch.randn(3, 4000, generator=draw) + 20) / spacing).floor() + 0.5) * spacing - 20
    values = torch.randn(3, knots, generator=draw)
    wanted = formula.forward(x.double(), values.double(), -20.0, 20.0)
    error = (gpu.forward(x, values, -20.0, 20.0) - wanted).abs().max() / wanted.abs().max()
    print(float(error / gpu_measures.rounding(torch.float32, knots)))
"""


def test_rounding_alone_is_no_error_of_the_kernel(printed):
    """The place among many knots is a large number in float32; thousands of inputs find its worst."""
    assert all(0.01 < float(share) < 1 for share in printed(ROUNDING).split())
