"""The Triton kernel: its numbers in Triton's interpreter, its machine code by Triton's compiler. No GPU is needed."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="triton is not installed")

# bfloat16 results: the interpreter cuts digits off where a GPU rounds, so two neighbours are one rounding apart.
# Knot gradients: float32 sums of 1,500 terms of size 1.
NUMBERS = """
import torch
from lab.nonlinearity import formula, gpu
calls, sums = [], gpu._sum
gpu._sum = lambda *a, **k: calls.append(1) or sums(*a, **k)
def draw(*shape, seed): return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    shapes = (((3, 500), (361,)), ((3, 500), (3, 33)), ((1500,), (2,)), ((2, 5, 3), (2, 17)), ((1,), (1000,)))
    for shape, knots in shapes:
        x, grad, values = (4 * draw(*shape, seed=0)).to(dtype), draw(*shape, seed=1).to(dtype), draw(*knots, seed=2)
        x.view(-1)[:5] = torch.tensor([float("inf"), -float("inf"), 20.0, -20.0, 1e4])[: x.numel()]
        rounding = 2 * torch.finfo(dtype).eps
        def near(a, b, atol): torch.testing.assert_close(a, b, rtol=rounding, atol=atol)
        near(gpu.forward(x, values, -20.0, 20.0), formula.forward(x, values, -20.0, 20.0), 1e-6)
        wanted = formula.backward(grad, x, values, -20.0, 20.0, True, True)
        gx, gv = gpu.backward(grad, x, values, -20.0, 20.0, True, True)
        near(gx, wanted[0], 1e-5), torch.testing.assert_close(gv, wanted[1], rtol=1e-5, atol=1e-4)
        alone, none = gpu.backward(grad, x, values, -20.0, 20.0, True, False)
        assert none is None and torch.equal(alone, gx)
        none, alone = gpu.backward(grad, x, values, -20.0, 20.0, False, True)
        assert none is None and torch.equal(alone, gv)
        got, want = (m.backward(grad, x, values, -20.0, 20.0, False, True, slope=True)[1] for m in (gpu, formula))
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5 * want.abs().max())
assert len(calls) == 3 * 5 * 3  # the kernel's own sums, not the formula's
x, values = torch.tensor([0.25, float("nan")]), torch.tensor([1.0, 0.0, 3.0, -1.0, 2.0])
assert gpu.forward(x, values, -2.0, 2.0).isnan().tolist() == [False, True]
gx, gv = gpu.backward(torch.ones(2), x, values, -2.0, 2.0, True, True)
assert gx.isnan().tolist() == [False, True] and gv[:2].isnan().all()
x = x.double().requires_grad_()
assert gpu.forward(x, values, -2.0, 2.0).dtype == torch.float64
print("agreed")
"""

# compute capability 8.0 and 9.0: A100 and H100
CODE = """
import re
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from lab.nonlinearity import gpu
scalars = {"low": "fp32", "inverse": "fp32"}
def code(function, kind, capability, **constants):
    pointers = {"x": kind, "y": kind, "g": kind, "gx": kind, "knots": "fp32", "sums": "fp32"}
    types = {n: "constexpr" if n in constants else "*" + pointers[n] if n in pointers else scalars.get(n, "i32")
             for n in function.arg_names}
    source = ASTSource(fn=function, signature=types, constexprs=constants)
    adds = function is gpu._backward_knots  # from one warp, whose order stays
    options = gpu.OPTIONS | {"num_warps": 1 if adds else 4}
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    assert bool(re.search(r"\\b(atom|red)\\.", made.asm["ptx"])) == adds, function
    return made
for capability in (80, 90):
    for kind in ("fp32", "bf16"):
        assert code(gpu._forward, kind, capability, BLOCK=gpu.BLOCK).asm["cubin"]
        assert code(gpu._backward_x, kind, capability, BLOCK=gpu.BLOCK).asm["cubin"]
    assert code(gpu._backward_knots, "fp32", capability, OF_X=True, SLOPE=False, BLOCK=gpu.SUMMED).asm["cubin"]
print("compiled")
"""


def ended(code, tmp_path, **more):
    """Output of a fresh Python: the interpreter has to be asked for before triton is imported."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), **more}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    return done.stdout.strip() or done.stderr


def test_in_the_interpreter_it_is_the_formula(tmp_path):
    assert ended(NUMBERS, tmp_path, TRITON_INTERPRET="1") == "agreed"


def test_it_compiles_for_gpus_and_only_one_warp_adds_up(tmp_path):
    from triton.backends import backends

    if "nvidia" not in backends:
        pytest.skip("this triton has no compiler for NVIDIA's GPUs")
    assert ended(CODE, tmp_path, TRITON_INTERPRET="0") == "compiled"
