"""What a wheel has beside the modules: the checkout's data and notebooks, inside the package (lab/places.py)."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = {f"data/{name}": f"shipped/{name}" for name in ("zoo", "results", "runs", "searches", "samples")}
FOLDERS["notebooks"] = "shipped/notebooks"
LEFT_OUT = ("figure.html", "prices.csv", ".DS_Store", ".ipynb_checkpoints", "out")  # what using the lab leaves there


class Build(build_py):
    """Modules and their data files, and what is shipped; an editable installation finds that in the checkout."""

    def run(self):
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)  # an earlier build may have modules that are gone
        super().run()

    def _get_data_files(self):
        return super()._get_data_files() + ([] if self.editable_mode else list(self._shipped()))

    def _shipped(self):
        """As setuptools has it: package, folder, where it is built, names of files."""
        for source, target in FOLDERS.items():
            for folder in sorted({path.parent for path in Path(source).rglob("*")}):
                names = [path.name for path in sorted(folder.iterdir()) if path.is_file() and path.name not in LEFT_OUT]
                if names and not set(folder.parts) & set(LEFT_OUT):
                    build = Path(self.build_lib, "lab", target, folder.relative_to(source))
                    yield "lab", str(folder), str(build), names


setup(cmdclass={"build_py": Build})
