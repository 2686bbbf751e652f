"""Readers of foreign files under inputs that nobody wrote: `python -m tests.fuzz csv --minutes 10`, or `all`.

Small valid files are changed again and again: guided by coverage where atheris (PyPI) is installed, else in a plain
loop. A reader may give a right result or raise the lab's own error with one line. Anything else is a fault: another
exception, more than SECONDS of processor, more memory than ROOM + FACTOR × the file's size, and what no file may do:
run code, start a process, open a connection, write outside the folder. What is found is printed, and its input written
to --out; `tests/test_fuzz.py` has those that were found, for ever.
"""

import argparse
import ctypes
import faulthandler
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.errors import LabError

SECONDS = 10  # of processor, an input
ROOM, FACTOR = 64 << 20, 2_000  # bytes of memory; gzip and ZIP pack a thousandfold
LONGEST = 1_500  # characters of a message
LARGEST = 1 << 14  # bytes of an input
CODE = tuple(
    {str(Path(path).resolve()) for path in (*sysconfig.get_paths().values(), Path(__file__).parents[1], *sys.path)}
)
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.kill", "os.putenv", "pty.spawn")
FORBIDDEN += ("subprocess.Popen", "socket.", "urllib.Request", "pickle.find_class", "ctypes.dlopen", "webbrowser.open")
FORBIDDEN += ("code.__new__", "function.__new__", "sys.settrace", "ftplib.", "http.client", "smtplib.", "syslog.")
WRITING = {
    **dict.fromkeys(
        ("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "shutil.rmtree"), (0,)
    ),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "shutil.move", "shutil.copyfile"), (0, 1)),
}
WORDS = [b"", b"0", b"-1", b"1", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"1e38", b"1e-320", b"9" * 19, b"9" * 40]
WORDS += [b"2147483648", b"18446744073709551616", b"true", b"null", b'""', b"[]", b"{}", b"[[]]", b'"x"', b"\xff\xfe"]
WORDS += [b"\x00", b"\n", b"\r", b'"', b"'", b"\\", b"..", b"/", b"../../x", b"\xef\xbb\xbf", b"%s", b"\xed\xa0\x80"]
WORDS += [b"NA", b"2020-01-01", b"0001-01-01", b"1,5", b"1.234,5", b"$5", b"[1]"]
WORDS += [b'{"a":1}', b"!!python/object", b"-0.0"]
SIZES = [0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]

_watched: list[Path] = []  # the folder that may be written, while a reader reads
_seen: list[str] = []  # what it did that a file must not make it do


class Fault(Exception):
    """A reader did with an input what it must not."""


def _audit(event, values):
    if not _watched:
        return
    folder = str(_watched[0])
    if event.startswith(FORBIDDEN):
        _seen.append(f"{event} {values!r}"[:300])
    elif event == "exec":
        file = getattr(values[0], "co_filename", "?")
        if not file.startswith(("<frozen", *CODE)) and not _importing():
            _seen.append(f"exec of {file}")
    elif event == "open" and values[0] is not None:
        path, mode, flags = values
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _check_inside(event, path, folder)
    elif event in WRITING:
        for place in WRITING[event]:
            _check_inside(event, values[place], folder)


def _check_inside(event, path, folder):
    if isinstance(path, int) or str(path) in (os.devnull, "/dev/tty"):
        return
    path = os.path.realpath(os.path.join(folder, os.fsdecode(path)))  # noqa: PTH118  pathlib would ask the disk
    if not path.startswith(folder) and "__pycache__" not in path:
        _seen.append(f"{event} {path}")


def _importing():
    """Whether a module is imported, a namedtuple or dataclass made, whose names are checked to be names, or Plotly
    looks up a class of its own by name."""
    frame = sys._getframe(2)
    if frame.f_code.co_name in ("namedtuple", "_create_fn", "build_validator"):
        return True
    while frame is not None:
        if "importlib._bootstrap" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


@contextmanager
def _limits():
    def late(*_):
        raise Fault(f"more than {SECONDS} seconds")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _memory(name):
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(rf"{name}:\s+(\d+)", text)[1]) << 10


def attempt(read, data, folder, first=False):
    """Have a reader read an input in an empty folder; "read", or what the lab's error says. Raises Fault.

    first: of a reader in this process, which may import modules and load kernels.
    """
    place = folder / "input"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    environment = dict(os.environ)
    for name in ("LAB_DATA", "LAB_CACHE", "LAB_STORE", "LAB_ZOO"):
        os.environ[name] = str(place / name.lower())
        (place / name.lower()).mkdir()
    linux = sys.platform == "linux"
    if linux:
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc: else memory that is free already is used
            trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak is counted anew
    before, said, temporary = _memory("VmRSS") if linux else 0, "read", tempfile.tempdir
    tempfile.tempdir = str(place)
    _seen.clear()
    if not first:
        _watched.append(folder.resolve())
    try:
        with _limits(), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # a number that is none, of a library, with no word
            read(data, place)
    except LabError as error:
        said = str(error)
        if not said.strip() or len(said.splitlines()) > 1 or len(said) > LONGEST:
            raise Fault(f"{type(error).__name__} whose text is no line: {said[:300]!r}") from error
    except Fault:
        raise
    except BaseException as error:
        last = [frame for frame in traceback.extract_tb(error.__traceback__) if "/lab/" in frame.filename][-1:]
        where = "".join(f"{Path(frame.filename).name}:{frame.name}" for frame in last)
        raise Fault(f"{type(error).__name__} in {where}: {' '.join(str(error).split())[:200]}") from error
    finally:
        _watched.clear()
        tempfile.tempdir = temporary
        os.environ.clear()
        os.environ.update(environment)
    if _seen:
        raise Fault(f"a file made it do: {'; '.join(_seen[:3])}")
    if linux and not first and (most := _memory("VmHWM") - before) > ROOM + FACTOR * len(data):
        raise Fault(f"{most >> 20} MB for a file of {len(data)} bytes")
    return said


def mutated(data, random, others=()):
    """An input with one to four changes: of bits, bytes, sizes, words, pieces."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        kind, at = random.randrange(9), random.randrange(len(data) + 1)
        if kind < 3 and (words := list(re.finditer(rb"[^,;:\t\n\r{}\[\]\s]+", data))):
            start, end = random.choice(words).span()
            data[start:end] = random.choice(WORDS)
        elif kind == 3 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == 4 and at < len(data):
            data[at] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
        elif kind == 5:
            size = random.choice((1, 2, 4, 8))
            data[at : at + size] = (random.choice(SIZES) % 256**size).to_bytes(size, random.choice(("little", "big")))
        elif kind == 6:
            del data[at : at + random.choice((1, 2, 4, 16, 64, len(data)))]
        elif kind == 7:
            piece = data[at : at + random.choice((1, 4, 16, 64))]
            data[at:at] = random.choice((random.choice(WORDS), piece, piece * random.choice((2, 30))))
        elif others:
            other = random.choice(others)
            start = random.randrange(len(other) + 1)
            data[at:] = other[start : start + LARGEST]
    return bytes(data[:LARGEST])


class Campaign:
    """One reader, for some time: how often it read, and what was found, each kind once."""

    def __init__(self, name, minutes, out, seed):
        from tests.fuzzed import READERS

        self.name, self.read, self.out = name, READERS[name].read, out
        self.folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
        self.seeds = READERS[name].seeds(self.folder)
        self.faults, self.answers, self.count = {}, Counter(), 0
        for data in self.seeds:
            with suppress(Fault):
                attempt(self.read, data, self.folder, first=True)
            self.try_one(data)
        self.count, self.start, self.end = 0, time.process_time(), time.process_time() + 60 * minutes
        self.answers.clear()
        self.random = random.Random(seed)
        most = _memory("VmSize") + (4 << 30) if sys.platform == "linux" else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def try_one(self, data):
        self.count += 1
        faulthandler.dump_traceback_later(30 * SECONDS, exit=True)  # a hang in C, which no signal ends
        try:
            said = attempt(self.read, data, self.folder)
            self.answers[
                "read" if said == "read" else re.sub(r"[\W\d]+", " ", said.replace(str(self.folder), ""))[:70]
            ] += 1
        except Fault as fault:
            kind = re.sub(r"\d+", "#", str(fault)).partition(":")[0][:90]
            if kind not in self.faults:
                self.faults[kind] = str(fault)
                self.out.mkdir(parents=True, exist_ok=True)
                path = self.out / f"{self.name}-{hashlib.sha256(data).hexdigest()[:12]}"
                path.write_bytes(data)
                print(f"{self.name}: {fault}: {path}", flush=True)
                if fault.__cause__ is not None:
                    path.with_suffix(".txt").write_text("".join(traceback.format_exception(fault)), encoding="utf-8")
        finally:
            faulthandler.cancel_dump_traceback_later()

    def plain(self):
        """Inputs that give a new answer are changed further."""
        pool, known = list(self.seeds), set()
        while time.process_time() < self.end:
            data = mutated(self.random.choice(pool), self.random, pool)
            before = len(self.answers) + len(self.faults)
            self.try_one(data)
            if len(self.answers) + len(self.faults) > before and data not in known:
                pool.append(data)
                known.add(data)
        self.finish("plain")

    def guided(self, atheris):
        corpus = self.out / "corpus" / self.name  # the next campaign starts from there
        corpus.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(self.seeds):
            (corpus / f"seed{number}").write_bytes(data)

        def change(data, most, seed):
            rng = random.Random(seed)
            return mutated(data, rng, self.seeds)[:most] if rng.random() < 0.6 else atheris.Mutate(data, most)

        def one(data):
            if time.process_time() > self.end:
                self.finish("atheris")
            self.try_one(data)

        options = [
            "-rss_limit_mb=0",
            "-timeout=1000000",
            f"-artifact_prefix={self.out}/",
            f"-max_len={LARGEST}",
            "-print_final_stats=0",
            "-verbosity=0",
        ]
        atheris.Setup([sys.argv[0], *options, "-handle_segv=0", str(corpus)], one, custom_mutator=change)
        atheris.Fuzz()

    def finish(self, how):
        minutes = (time.process_time() - self.start) / 60
        said = {"reader": self.name, "how": how, "minutes": round(minutes, 1), "executions": self.count}
        said |= {"answers": len(self.answers), "read": self.answers["read"], "faults": list(self.faults.values())}
        print(json.dumps(said), flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        os._exit(bool(self.faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", help="a name, several with commas, or all")
    parser.add_argument("--minutes", type=float, default=10, help="of processor, a reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzzed"))
    parser.add_argument("--plain", action="store_true", help="without atheris")
    given = parser.parse_args()
    if given.reader == "all" or "," in given.reader:
        from tests.fuzzed import READERS

        names = list(READERS) if given.reader == "all" else given.reader.split(",")
        rest = ["--minutes", str(given.minutes), "--seed", str(given.seed), "--out", str(given.out)]
        rest += ["--plain"] * given.plain
        return max(subprocess.call([sys.executable, "-m", "tests.fuzz", name, *rest]) for name in names)
    try:
        import atheris
    except ImportError:
        atheris = None
    if atheris is None or given.plain:
        sys.addaudithook(_audit)
        return Campaign(given.reader, given.minutes, given.out, given.seed).plain()
    with atheris.instrument_imports(include=["lab", "pandas.io", "zipfile", "tarfile", "yaml", "numpy.lib"]):
        import tests.fuzzed  # noqa: F401
    sys.addaudithook(_audit)
    return Campaign(given.reader, given.minutes, given.out, given.seed).guided(atheris)


if __name__ == "__main__":
    sys.exit(main())
