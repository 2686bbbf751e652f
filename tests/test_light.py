"""The light door: what is imported where little is asked for, and functions with torch, numpy and safetensors alone."""

import os
import re
import subprocess
import sys

import pytest

from tests.processes import ROOT

HEAVY = ("torch", "numpy", "pandas", "plotly", "scipy", "sklearn", "numba", "IPython", "ipywidgets", "jupyterlab")
COMMAND = "from lab.cli import main\ntry:\n    main({words})\nexcept SystemExit:\n    pass\n"
IMPORTED = f"import sys\nprint(sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)\n"
ALONE = """
import sys
class Others:
    finders = [*sys.meta_path]
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ABSENT:
            return next((spec for one in self.finders if (spec := one.find_spec(name, path, target))), None)
sys.meta_path[:] = [Others()]
"""
# what the lab depends on beyond torch, numpy and safetensors
ABSENT = {
    *(
        "pandas",
        "scipy",
        "sklearn",
        "umap",
        "threadpoolctl",
        "numba",
        "plotly",
        "anywidget",
        "ipywidgets",
        "jupyterlab",
    ),
    *("IPython", "loky", "tqdm", "tyro", "requests", "urllib3", "pyarrow", "tokenizers", "platformdirs", "PIL"),
}


def run(code, **variables):
    env = os.environ | variables
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=env)


@pytest.mark.parametrize("words", [None, [], ["--help"], ["figurs"], ["zoo", "--help"], ["figure", "nosuch"]])
def test_what_does_little_imports_little(words):
    done = run(("import lab\n" if words is None else COMMAND.format(words=words)) + IMPORTED)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


def alone(code, folder):
    code = f"ABSENT = {ABSENT!r}\n{ALONE}import os\nimport lab\nos.chdir({str(folder)!r})\n{code}"
    return run(code, LAB_STORE=str(folder / "store"))  # other tests publish functions into their store's zoo


def test_functions_need_torch_numpy_and_safetensors_alone(tmp_path):
    """What the wheel is asked in an environment that has nothing else."""
    (code,) = re.findall(r'^FUNCTIONS = """(.*?)"""', (ROOT / ".ci" / "wheel.py").read_text("utf-8"), re.S | re.M)
    done = alone(code, tmp_path)
    assert done.returncode == 0, done.stderr


def test_laws_are_asked_with_torch_numpy_and_safetensors_alone(tmp_path):
    done = alone("import torch\nassert lab.check(torch.relu).failures == []\nlab.check.laws()[0](torch.relu)", tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_page_about_functions_alone_runs(tmp_path):
    (code,) = re.findall("```python\n(.*?)```", (ROOT / "docs" / "functions_only.md").read_text("utf-8"), re.S)
    done = alone(code, tmp_path)
    assert done.returncode == 0, done.stderr
