"""The library in the cache: damaged, foreign, of another machine, half-built, built twice at once.

What is loaded may end Python, so each look at it is a process of its own. They "compile" with a script that copies the
real library, which is built once.
"""

import hashlib
import os
import shutil
import sys
import time

import pytest

from lab.nonlinearity import native

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not any(map(shutil.which, ("cc", "gcc", "clang"))),
    reason="needs a C compiler and Linux's libraries",
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
OTHER = 12345  # the number of another user
LOOK = """
from lab.nonlinearity import native
if native.library():
    import torch
    from lab import Spline
    print("kernel", Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)(torch.tensor([0.25])).item())
else:
    print(native.why_not())
"""
WORKS = "kernel 0.75\n"


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The library as this machine's compiler makes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("real")))
        patch.delenv("CC", raising=False)
        yield native.built()


class Cache:
    """A cache folder, and a C compiler that is a shell script; `out` is the file it has to write."""

    def __init__(self, nursery, place):
        self.nursery, self.folder, self.script = nursery, place / "lab" / "kernels", place / "cc"
        self.environment = {"XDG_CACHE_HOME": place, "CC": self.script, "LAB_KERNEL": ""}

    def compiler(self, script):
        self.script.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nout=$2\n{script}\n')
        self.script.chmod(0o755)

    def look(self, code=LOOK, **environment):
        """What a new process says of the kernel."""
        ended = self.nursery.run(code, **self.environment | environment)
        assert ended.code == 0, ended
        assert len(ended.out.splitlines()) == 1, ended.out
        return ended.out

    @property
    def library(self):
        (path,) = self.folder.glob("*.so")
        return path

    def plant(self, content):
        """Put content where the library is, under the name that its digest asks for."""
        name, _, _ = self.library.name.rpartition("-")
        self.library.unlink()
        path = self.folder / f"{name}-{hashlib.sha256(content).hexdigest()}.so"
        path.write_bytes(content)
        path.chmod(0o700)


@pytest.fixture
def cache(nursery, real, tmp_path):
    made = Cache(nursery, tmp_path)
    made.compiler(f'cp {real} "$out"')
    return made


def test_it_is_built_once_by_one_rename_and_for_this_user_alone(cache):
    before = os.umask(0)  # whoever works with such a mask
    try:
        assert cache.look() == WORKS
    finally:
        os.umask(before)
    assert [path.name for path in cache.folder.iterdir()] == [cache.library.name]
    assert cache.library.stat().st_mode & 0o777 == cache.folder.stat().st_mode & 0o777 == 0o700
    cache.compiler("exit 1")
    assert cache.look() == WORKS  # the same script's name: found, not built


def test_one_that_is_cut_short_is_built_anew(cache):
    assert cache.look() == WORKS
    library, whole = cache.library, cache.library.read_bytes()
    for length in (0, 1, 4, 63, 64, 1000, 4096, 5000, 8192, 20000, len(whole) // 2, len(whole) - 4097, len(whole) - 1):
        os.truncate(library, length)
        assert cache.look() == WORKS, length
        assert cache.library == library and library.read_bytes() == whole
    library.write_bytes(whole + b"\0")
    assert cache.look() == WORKS and library.read_bytes() == whole


def test_one_with_flipped_bytes_is_built_anew(cache):
    assert cache.look() == WORKS
    library, whole = cache.library, cache.library.read_bytes()
    for place in (0, 5, 18, 40, 200, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        library.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert cache.look() == WORKS, place
        assert library.read_bytes() == whole


def test_where_a_damaged_one_cannot_be_built_anew_it_is_not_used(cache):
    assert cache.look() == WORKS
    os.truncate(cache.library, 5000)
    cache.compiler("echo 'cc: error: no more' >&2; exit 1")
    said = cache.look()
    assert said.startswith("building kernel.c with") and said.endswith("failed: cc: error: no more\n")


@needs_root
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_another_user_owns_is_not_used(cache, what):
    assert cache.look() == WORKS
    planted = cache.library if what == "file" else cache.folder
    os.chown(planted, OTHER, -1)
    said = cache.look()
    assert str(planted) in said and str(OTHER) in said and "XDG_CACHE_HOME" in said


@needs_root
def test_what_root_has_built_serves_other_users(cache):
    assert cache.look() == WORKS
    for path in (cache.folder, cache.library):
        path.chmod(0o755)
    parents = [path for path in cache.folder.parents if path.stat().st_mode & 0o777 == 0o700]
    for path in parents:  # pytest keeps its folders to itself
        path.chmod(0o711)
    try:
        assert cache.look(f"import os\nos.setuid({OTHER})\n{LOOK}") == WORKS
    finally:
        for path in parents:
            path.chmod(0o700)


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_may_write_is_not_used(cache, what, mode):
    assert cache.look() == WORKS
    path = cache.library if what == "file" else cache.folder
    path.chmod(mode)
    said = cache.look()
    assert f"others may write to {path}" in said and "chmod go-w" in said
    path.chmod(mode & ~0o022)  # as it says
    assert cache.look() == WORKS


def test_a_library_of_another_machine_is_named_and_not_used(cache):
    assert cache.look() == WORKS
    content = bytearray(cache.library.read_bytes())
    content[18:20] = (0xF3, 0x00)  # the field of the machine: RISC-V
    cache.plant(bytes(content))
    said = cache.look()
    assert f"loading {cache.library} failed" in said and "delete the file" in said


def test_a_library_without_a_function_is_named_and_not_used(cache, tmp_path):
    source = tmp_path / "other.c"
    source.write_text("int spline_forward_float32(void) { return 0; }\n")
    cache.compiler(f'exec "$(command -v cc || command -v gcc || command -v clang)" -shared -fPIC {source} -o "$out"')
    said = cache.look()
    assert str(cache.library) in said and "spline_backward_float32" in said and "delete the file" in said
    said = cache.look("from lab.doctor import examine\nprint(examine()['spline kernel'])")
    assert said.startswith("numba") and "spline_backward_float32" in said


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "exit status 3"),
        ("exit 0", "No such file"),  # and nothing written
        ("printf 'first\\ncc: \\377 error: second\\nthird\\n' >&2; exit 1", "error: second"),
        ("cat", "No such file"),  # waits for what is typed
    ],
)
def test_a_compiler_that_makes_nothing_falls_back(cache, script, reason):
    cache.compiler(script)
    said = cache.look()
    assert said.startswith("building kernel.c with") and reason in said
    assert not list(cache.folder.iterdir())


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"CC": 'gcc "'}, 'gcc "'),
        ({"CC": "gcc \udcff"}, "gcc"),
        ({"CC": "x" * 100_000}, "File name too long"),
        ({"XDG_CACHE_HOME": "/" + "x" * 5000}, "File name too long"),
        ({"XDG_CACHE_HOME": "/dev/null"}, "/dev/null"),
    ],
)
def test_an_environment_that_makes_no_sense_falls_back(cache, environment, reason):
    set_them = "import os\n" + "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in environment.items())
    said = cache.look(set_them + LOOK.replace("native.why_not()", "ascii(native.why_not())"))
    assert reason in said and len(said) < 400


def test_spaces_are_no_compiler(cache):
    assert cache.look(CC="  ") == WORKS  # as if it was not set


@needs_root
def test_no_home_falls_back(cache):
    code = f"import os\ndel os.environ['XDG_CACHE_HOME'], os.environ['HOME']\nos.setuid({OTHER})\n{LOOK}"
    assert "home" in cache.look(code, HOME="/")


def test_two_processes_may_build_at_once(cache, real, tmp_path):
    """Each waits for the other's compiler; what they write differs, as it may."""
    cache.compiler(f"""cp {real} "$out"; echo $$ >> "$out"; touch {tmp_path}/$$.ready
while [ "$(ls {tmp_path} | grep -c ready)" -lt 2 ]; do sleep 0.02; done""")
    children = [cache.nursery.start(LOOK, **cache.environment) for _ in range(2)]
    assert [child.wait().out for child in children] == [WORKS, WORKS]
    cache.compiler("exit 1")
    assert cache.look() == WORKS
    assert all(path.suffix == ".so" for path in cache.folder.iterdir())


def test_a_kill_while_compiling_leaves_nothing_that_looks_like_a_library(cache, real):
    cache.compiler(f'head -c 5000 {real} > "$out"; echo started > {cache.script}.started; exec sleep 60')
    child = cache.nursery.start(LOOK, **cache.environment)
    end = time.monotonic() + 60
    while not cache.script.with_name("cc.started").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    child.kill(group=True)
    assert child.wait().code == -9
    (left,) = cache.folder.iterdir()
    assert left.name.startswith(native.BUILDING)
    cache.compiler(f'cp {real} "$out"')
    assert cache.look() == WORKS and left.exists()  # perhaps somebody is still building there
    cache.library.unlink()
    long_ago = time.time() - 2 * native.ABANDONED
    os.utime(left, (long_ago, long_ago))
    assert cache.look() == WORKS and list(cache.folder.iterdir()) == [cache.library]
