"""What is done on a GPU is executed on the CPU, in small, before there is one (benchmarks/gpu_batch.py)."""

import json
import os
import subprocess
import sys

from tests.processes import ROOT

MEASURED = """
import json, gpu_batch
work = gpu_batch.DRY_RUN
print(json.dumps({name: gpu_batch.MEASURES[name](work) for name in ("agreement", "kernel", "fleets")}))
"""
FIGURES = """
import sys, gpu_batch
from pathlib import Path
gpu_batch.MEASURES.clear()  # the test above has those
gpu_batch.main(gpu_batch.DRY_RUN, float(sys.argv[1]), Path(sys.argv[2]), 1, ["transformers/fig6"])
"""


def printed(code: str, *arguments: str) -> str:
    """Output of a fresh Python: the interpreter has to be asked for before triton is imported."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT / "benchmarks",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_measures_run_and_agree_with_the_formula():
    """`kernel` raises where the GPU's kernel is further from the formula than rounding."""
    made = json.loads(printed(MEASURED))
    assert made["agreement"]["accuracy_val"] == 0, "here both are the CPU"
    assert len(made["kernel"]) == 12 and made["fleets"][0]["ratio"] > 0


def test_figures_are_made_as_long_as_there_is_time_and_once(store_folder, tmp_path):
    assert printed(FIGURES, "0", str(tmp_path)) == "time is up; call again to go on\n"
    assert "transformers/fig6: 0." in printed(FIGURES, "1", str(tmp_path))
    facts = json.loads((tmp_path / "transformers/fig6/smoke/provenance.json").read_text())
    assert facts["scale"] == "smoke" and (tmp_path / "transformers/fig6/smoke/table.csv").is_file()
    assert printed(FIGURES, "1", str(tmp_path)) == "", "nothing is left"
