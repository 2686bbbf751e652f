"""Say which code each library chose for this processor; fail if one would not run on every x86-64 (see .ci/narrow)."""

import os
import re
import subprocess
import sys

import numba
import numpy as np
import numpy._core._multiarray_umath as umath
import scipy.linalg  # noqa: F401 - it has a BLAS of its own
import torch
from threadpoolctl import threadpool_info
from torch._inductor.cpu_vec_isa import pick_vec_isa

from lab.nonlinearity import native

WIDE = re.compile(r"%?[yz]mm\d|\{%k[1-7]\}")  # registers of AVX and later
SPEAK = """
import torch
x, weight = torch.randn(1, 8, 32, 32).to_mkldnn(), torch.randn(8, 8, 3, 3).to_mkldnn()
torch.nn.functional.conv2d(x, weight)
torch.randn(64, 64) @ torch.randn(64, 64)
"""


def said() -> str:
    """What oneDNN and MKL say when they are used."""
    environment = os.environ | {"ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1"}
    command = [sys.executable, "-c", SPEAK]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def kernel() -> str:
    """The spline's compiled kernel as assembly."""
    library = native.library()
    if library is None:
        raise SystemExit(f"The spline's kernel is not compiled: {native.why_not()}")
    command = ["objdump", "--disassemble", library._name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def jitted() -> str:
    """A loop over an array, as numba compiles it."""

    @numba.njit(fastmath=True)
    def total(x):
        found = 0.0
        for value in x:
            found += value * value
        return found

    total(np.ones(9))
    return "\n".join(total.inspect_asm().values())


def chosen() -> dict[str, tuple[str, bool]]:
    """By library: what it chose, and whether every x86-64 processor has that."""
    words = said()
    isa = re.search(r"cpu,isa:(.*)", words)[1]
    repeatable = re.search(r"SGEMM.*CNR:(\S+)", words)[1]
    features = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]]
    blas = {pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"}
    torch_, inductor = torch.backends.cpu.get_cpu_capability(), pick_vec_isa()
    wide = {name: len(WIDE.findall(code)) for name, code in (("kernel", kernel()), ("numba", jitted()))}
    return {
        "PyTorch": (torch_, torch_ == "DEFAULT"),
        "torch.compile": (str(inductor), not inductor),
        "oneDNN": (isa, isa == "Intel SSE4.1"),
        "MKL": (f"CNR:{repeatable}", repeatable == "COMPATIBLE"),
        "NumPy": (" ".join(features) or "baseline", not features),
        "OpenBLAS": (" ".join(sorted(blas)), blas == {"Nehalem"}),
        "the spline's kernel": (f"{wide['kernel']} wide registers", wide["kernel"] == 0),
        "numba": (f"{wide['numba']} wide registers", wide["numba"] == 0),
    }


found = chosen()
for library, (what, _) in found.items():
    print(f"{library}: {what}")
if too_much := [library for library, (_, narrow) in found.items() if not narrow]:
    sys.exit(f"Not every x86-64 processor can do what is used here by {', '.join(too_much)}.")
