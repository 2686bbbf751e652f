"""SIGKILL in the middle of searches and of a comparison with data and models of one's own: nothing is lost."""

import signal
import sys

import pytest

from lab.store import Store

CODE = """
import hashlib, torch
from torch import nn
import lab
from lab.jobs import job
from tests.processes import kill_at
from tests.training import own

job.CHECKPOINT_SECONDS = -1.0
{kill}
given = dict(steps=4, batch=32, progress=False, name="mine", side_by_side="loop")
data, make = own.signs(), own.mlp
found = lab.search(data, model=make, replace=nn.GELU, models=2, **given)
other = lab.search(data, model=make, replace=nn.GELU, by="episodes", episodes=3, restarts=1, **given)
functions = {{"two losses": found, "episodes": other}}
result = lab.compare(data, make, nn.GELU, functions, seeds=2, **given)
digest = hashlib.sha256(result.table.to_csv().encode())
for run in result.runs:
    for name, weight in sorted(result.store.load(run.spec)[1].items()):
        digest.update(name.encode() + weight.numpy().tobytes())
print(digest.hexdigest())
"""
OPERATIONS = 110  # on files that a process lives for


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
def test_a_killed_comparison_of_ones_own_goes_on_and_ends_with_the_same_numbers(nursery, tmp_path):
    folders = {name: tmp_path / name for name in ("whole", "killed")}
    for folder in folders.values():
        folder.mkdir()
    whole = nursery.run(CODE.format(kill=""), LAB_STORE=folders["whole"])
    assert whole.code == 0, whole.err
    kills, finished = 0, dict[str, int]()
    code = CODE.format(kill=f"kill_at({OPERATIONS}, {str(folders['killed'])!r})")
    while (ended := nursery.run(code, LAB_STORE=folders["killed"])).code == -signal.SIGKILL:
        kills += 1
        assert kills < 40 and Store(folders["killed"]).verify() == []
        done = {str(path): path.stat().st_mtime_ns for path in folders["killed"].glob("runs/[0-9a-f]*/done.json")}
        assert done.items() >= finished.items()  # what was finished stays, and is not made again
        finished = done
    assert ended.code == 0, ended.err
    assert kills >= 3 and ended.out == whole.out
