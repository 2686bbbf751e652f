"""Processes that a test may kill, starve of disk or deprive of rights, at the cost of a fork.

Importing torch takes seconds. So one nursery process imports the lab once, and forks a child for each piece of code.
The child has a process group, files for its output and an environment of its own, and runs what `python -c` would run.
Run as a script, this file is the nursery.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 200.0  # for any child, however busy the machine


@dataclass(frozen=True)
class Ended:
    """What is left of a process. code: of its exit, or minus the signal that ended it."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """Lines of stderr as they stand on a terminal: what a progress bar wrote over is gone."""
        lines = (line.split("\r")[-1].strip() for line in self.err.split("\n"))
        return [line for line in lines if line]


class Child:
    """A process under way."""

    def __init__(self, nursery: Nursery, pid: int, folder: Path):
        self._nursery, self.pid, self._folder = nursery, pid, folder
        self._ended: Ended | None = None

    @property
    def out(self) -> str:
        """What it has said on stdout."""
        return (self._folder / "stdout").read_text()

    def has_ended(self) -> bool:
        """Whether it is there no more; it may be a zombie."""
        if self._ended is not None:
            return True
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    def end(self) -> None:
        """Kill it, unless it has ended."""
        if self._ended is None:
            self.kill()
            self.wait()

    def kill(self, number: int = signal.SIGKILL, group: bool = False) -> None:
        """Send it a signal; to its whole group, as a terminal does."""
        os.killpg(self.pid, number) if group else os.kill(self.pid, number)

    def has_said(self, text: str, seconds: float = SECONDS) -> None:
        """Wait until `text` stands on its stdout."""
        end = time.monotonic() + seconds
        while text not in self.out:
            assert time.monotonic() < end, f"{text!r} was not said; {(self._folder / 'stderr').read_text()}"
            time.sleep(0.02)

    def wait(self) -> Ended:
        """Its end."""
        if self._ended is None:
            code = self._nursery.ask(wait=self.pid)["code"]
            self._ended = Ended(code, *((self._folder / n).read_bytes().decode() for n in ("stdout", "stderr")))
        return self._ended


class Nursery:
    """The process that forks the others, with what it finds in its environment when it imports the lab."""

    def __init__(self, folder: Path, **environment: str):
        self._folder, self._count = folder, 0
        shared = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": os.environ | environment}
        self._process = subprocess.Popen([sys.executable, "-m", "tests.processes"], cwd=ROOT, **shared)

    def start(self, code: str, **environment: object) -> Child:
        """Begin to run Python code in a new process."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        for name in ("stdout", "stderr"):
            (folder / name).touch()
        environment = {name: str(value) for name, value in environment.items()}
        return Child(self, self.ask(code=code, folder=str(folder), environment=environment)["pid"], folder)

    def run(self, code: str, **environment: object) -> Ended:
        """Run Python code in a new process, to its end."""
        return self.start(code, **environment).wait()

    def lab(self, *words: str, **environment: object) -> Ended:
        """Run a `lab` command."""
        return self.run(f"import lab.cli; lab.cli.main({list(words)!r})", **environment)

    def ask(self, **question: object) -> dict:
        """Send a line, read a line."""
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it; children that still run go on."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


# What children do to themselves.


def kill_at(count: int, folder: str) -> None:
    """Be killed at the `count`th operation on a file below `folder`, just before it happens."""
    left = [count]

    def watch(event: str, arguments: tuple) -> None:
        if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir") and str(arguments[0]).startswith(folder):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def on_a_disk_of(size: str, folder: str) -> None:
    """Put a file system of this size (tmpfs: "64k", "2m") over `folder`, for this process alone.

    Once more: change its size. PermissionError where the machine does not allow it.
    """
    if not os.path.ismount(folder):  # noqa: PTH114
        _own_mounts()
        _call("mount", b"tmpfs", folder.encode(), b"tmpfs", ctypes.c_ulong(0), f"size={size}".encode())
    else:
        _call("mount", b"tmpfs", folder.encode(), b"tmpfs", ctypes.c_ulong(1 << 5), f"size={size}".encode())


def read_only(folder: str) -> None:
    """Let nobody write below `folder`, not even root, as seen by this process. PermissionError as above."""
    bind, again = 1 << 12, 1 << 12 | 1 << 5 | 1  # MS_BIND, and with MS_REMOUNT and MS_RDONLY
    _own_mounts()
    for flags in (bind, again):
        _call("mount", folder.encode(), folder.encode(), None, ctypes.c_ulong(flags), None)


def like_an_ordinary_user() -> None:
    """Let root be stopped by permission bits: give up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
        data = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; and the same for capabilities above 31
        _call("capget", header, data)
        for field in (0, 1):
            data[field] &= ~(1 << 1 | 1 << 2)
        _call("capset", header, data)


def _own_mounts() -> None:
    """What this process mounts from now on, no other sees."""
    new_user, new_mounts, private = 0x10000000, 0x00020000, 1 << 18 | 1 << 14
    user, group = os.geteuid(), os.getegid()
    _call("unshare", new_mounts if user == 0 else new_mounts | new_user)
    if user != 0:  # be root of a name space of its own
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path(f"/proc/self/{name}").write_text(text)
    _call("mount", b"none", b"/", None, ctypes.c_ulong(private), None)


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise PermissionError(number, f"{name}: {os.strerror(number)}")


def _child(code: str, folder: str, environment: dict[str, str]) -> None:
    """Become a process of its own and run the code; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background of a shell ignore it
        for number, name in enumerate((os.devnull, f"{folder}/stdout", f"{folder}/stderr")):
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            os.dup2(handle, number)
        os.environ.update(environment)
        os.chdir(folder)
        exec(compile(code, "<test>", "exec"), {"__name__": "__child__"})
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def load() -> None:
    """Import what most children would: the lab, what torch's optimizers load at their first step, what draws, and what
    runs notebooks. What asks at its import whether it is in a notebook, as Plotly's renderers and ipywidgets do, stays
    out."""
    import IPython.core.interactiveshell  # noqa: F401
    import jupyter_client.jsonutil  # noqa: F401
    import nbformat  # noqa: F401
    import plotly.graph_objects
    import scipy.interpolate  # noqa: F401
    import torch._dynamo  # noqa: F401

    import lab.api  # noqa: F401
    import lab.catalogue.build  # noqa: F401
    import lab.widgets  # noqa: F401
    from lab.catalogue.registry import PAPERS, entries

    for paper in PAPERS:
        entries(paper)
    plotly.graph_objects.Figure()  # its template imports hundreds of modules


def _serve() -> None:
    load()
    for line in sys.stdin:
        question = json.loads(line)
        if "wait" in question:
            answer = {"code": os.waitstatus_to_exitcode(os.waitpid(question["wait"], 0)[1])}
        else:
            pid = os.fork()
            if pid == 0:
                _child(**question)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
