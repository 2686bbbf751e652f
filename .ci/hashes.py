"""Write hashes.txt anew, after a change of pyproject.toml or constraints.txt: `python .ci/hashes.py`."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# What `make install` brings, with the hash of every wheel; `python .ci/hashes.py` wrote it on Linux, x86-64,
# Python 3.11, with PyTorch's CPU build (pytorch.org names the index that has it, for pip):
#     pip install --require-hashes -r hashes.txt && pip install --no-deps --no-build-isolation -e .
"""
command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
done = subprocess.run([*command, "-c", "constraints.txt", ".[export]"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
pins = {}
for one in json.loads(done.stdout)["install"]:
    if one["metadata"]["name"] != "lab-nonlinearities":
        digest = one["download_info"]["archive_info"]["hashes"]["sha256"]
        pins[f"{one['metadata']['name']}=={one['metadata']['version']}"] = digest
lines = [f"{pin} --hash=sha256:{digest}\n" for pin, digest in sorted(pins.items(), key=lambda pin: pin[0].lower())]
(ROOT / "hashes.txt").write_text(HEAD + "".join(lines), encoding="utf-8")
