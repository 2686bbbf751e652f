"""Reading a committed notebook, setting its parameters and running its cells, for the tests that run notebooks."""

import json
import re
import shutil
import sys
import time
from pathlib import Path

import nbformat

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
# Those whose cells all run in a browser (tests/browser); where there is one, they need not run twice.
BROWSED = (
    "00_start_here.ipynb",
    "hypernetwork/3_fuzzy_logic.ipynb",
    "hypernetwork/4_sraven.ipynb",
    "hypernetwork/latent_codes.ipynb",
    "transformers/3.1_individual_tasks.ipynb",
    "transformers/3.2_compatibility.ipynb",
    "transformers/F_splines.ipynb",
    "your_own_model.ipynb",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser():
    """The path of a Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def names():
    """The notebooks of the project, as paths below their folder, in reading order."""
    found = (path for path in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    return sorted(path.relative_to(FOLDER).as_posix() for path in found)


def read(path):
    """The notebook at `path`, as nbformat's newest minor version of 4."""
    return nbformat.read(path, as_version=4)


# Parameters with which a notebook takes seconds: figures and, where it trains some, models are of smoke scale.
SMOKE = {"scale": "smoke", "training": "smoke", "count": 1000, "shown": 200, "steps": 2}


def smoke(notebook):
    """Those that its parameters cell has."""
    source = parameters(notebook).source
    return {name: value for name, value in SMOKE.items() if re.search(f"^{name} = ", source, re.MULTILINE)}


def parameters(notebook):
    """The cell tagged `parameters`, which has to be one."""
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(cells) == 1, f"{len(cells)} cells are tagged `parameters`, one should be"
    return cells[0]


def set_parameters(notebook, **values):
    """Replace assignments `name = …` in the cell tagged `parameters`, where each must stand exactly once.

    Returns the notebook, changed in place.
    """
    cell = parameters(notebook)
    for name, value in values.items():
        assignment = re.compile(rf"^{name} = .*?(?=\s*(#|$))", re.MULTILINE)  # up to a comment, if any
        line = f"{name} = {value!r}"
        cell.source, count = assignment.subn(lambda _, line=line: line, cell.source)
        assert count == 1, f"`{name} = …` stands {count} times in the parameters cell"
    return notebook


def execute(name, longest):
    """Run all cells at smoke scale, in this process, which ends where one fails or its processor needs too long.

    longest: seconds of processor. What a page would be sent is made, has to be JSON, and is what is returned.
    """
    import comm
    from comm.base_comm import BaseComm
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from jupyter_client.jsonutil import json_default

    sent = []

    def send(*data):
        sent.append(json.dumps(data, default=json_default))

    class Comm(BaseComm):
        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
            send(data, metadata)

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, **keys):
            send(data, metadata)
            if "application/vnd.plotly.v1+json" in data and "image/svg+xml" not in data:
                pictureless.append(data["application/vnd.plotly.v1+json"])

    class Hook(DisplayHook):
        def write_format_data(self, format_dict, md_dict=None):
            send(format_dict, md_dict)

    class Shell(InteractiveShell):
        displayhook_class, display_pub_class = Hook, Publisher

        def _showtraceback(self, etype, evalue, stb):  # of a cell, and of what could not be shown
            sys.exit("\n".join(stb))

    comm.create_comm, pictureless = Comm, []
    notebook, shell, start = read(FOLDER / name), Shell.instance(), time.process_time()
    for cell in set_parameters(notebook, **smoke(notebook)).cells:
        if cell.cell_type == "code" and not shell.run_cell(cell.source, store_history=True).success:
            sys.exit(f"This cell failed:\n{cell.source}")
        if pictureless:  # where no script runs, as on GitHub, its plot would be missing
            sys.exit(f"This cell draws a plot that has no SVG:\n{cell.source}")
    if (seconds := time.process_time() - start) > longest:
        sys.exit(f"{name} needs {seconds:.0f} s of processor")
    return sent
