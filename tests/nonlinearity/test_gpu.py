"""The Triton kernels: numbers in Triton's interpreter, machine code by Triton's compiler. No GPU is needed."""

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

# Whole layers, for which only the kind of device is another one
LAYERS = """
import torch
from lab.nonlinearity import kan, kan_gpu, op
calls, forward, backward = [], kan_gpu.forward, kan_gpu.backward
kan_gpu.forward = lambda *given: calls.append("forward") or forward(*given)
kan_gpu.backward = lambda *given: calls.append("backward") or backward(*given)
kan_gpu.programs_of = lambda x: 12
kan.is_for_native = lambda tensors: False
def by(kernel, layer, x, wanted=None):
    kan.is_for_triton = lambda tensors: kernel and op._fits(tensors, "cpu", (torch.float32,))
    calls.clear()
    y = layer(x)
    grad = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(y.dtype)
    return y, *torch.autograd.grad(y, wanted or [x, *layer.parameters()], grad)
def agree(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
for sizes, shape in (
    ((2, 67, 5, 3), (3, 2)), ((2, 3, 3, 5), (17,)), ((1, 16, 8, 1, -2.0, 3.0), (19,)), ((2, 5, 1, 0), (4,)),
    ((2, 4, 6, 2, 0.0, 0.5, False), ()), ((2, 3, 2, 4), (7,)),
):
    torch.manual_seed(0)
    layer = kan.KANLayer(*sizes)
    layer.coefficients.data.normal_()
    x = (layer.low + layer.high) / 2 + (layer.high - layer.low) * torch.randn(*shape, sizes[0])
    x.view(-1)[: x.numel() // 2] = layer.knots.float().repeat(9)[: x.numel() // 2]
    x.requires_grad_()
    found = by(True, layer, x)
    assert calls == ["forward", "backward"]
    agree(found, by(False, layer, x))
    assert not calls
    assert all(map(torch.equal, found, by(True, layer, x))), "sums have one order"
    for wanted, at in (([x], 1), ([layer.coefficients], -1)):
        assert torch.equal(by(True, layer, x, wanted)[1], found[at]) and calls == ["forward", "backward"]
layer, x = kan.KANLayer(2, 3, 3, 3), torch.randn(5, 2, requires_grad=True)
def second(kernel):
    kan.is_for_triton = lambda tensors: kernel and op._fits(tensors, "cpu", (torch.float32,))
    (slope,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
    return torch.autograd.grad(slope.square().sum(), [x, *layer.parameters()])
agree(second(True), second(False))
by(True, layer, x)
agree([torch.vmap(layer)(x), torch.func.jacrev(layer)(x[0])], [layer(x), torch.func.jacfwd(layer)(x[0])])
assert calls == ["forward", "backward", "forward"], "torch.func takes the formula"
by(True, kan.KANLayer(2, 3).double(), x.detach().double().requires_grad_())
by(True, kan.KANLayer(2, 3, 2, 6), x)
assert not calls, "float64 and high orders take the formula"
layer, x = kan.KANLayer(1, 20), torch.tensor([torch.inf, -torch.inf, 1e30, torch.nan, 0.5])[:, None].requires_grad_()
y = kan.splines(x, layer.coefficients, layer.knots.float(), 3)
gx, gw = torch.autograd.grad(y.sum(), [x, layer.coefficients])
assert (y[:3] == 0).all() and y[3].isnan().all() and y[4].isfinite().all() and len(calls) == 2
assert (gx[:3] == 0).all() and gx[3].isnan() and gx[4].isfinite()
assert gw[:, :, :4].isnan().any() and gw[:, :, -1].isfinite().all()
model = torch.nn.Sequential(kan.KANLayer(2, 3), kan.KANLayer(3, 1))
from lab.nonlinearity.lookup import compile_tables
x = torch.rand(20, 2)
tables, _ = compile_tables(model, x)
calls.clear()
torch.testing.assert_close(tables(x), model(x), rtol=0, atol=1e-3)
assert len(calls) == 4
print("agreed")
"""

# compute capability 8.0 and 9.0: A100 and H100
CODE = """
import re
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from lab.nonlinearity import gpu, kan_gpu
scalars = {"low": "fp32", "inverse": "fp32"}
def code(function, kind, capability, **constants):
    pointers = {"x": kind, "y": kind, "g": kind, "gx": kind, "knots": "fp32", "table": "fp32", "sums": "fp32"}
    types = {n: "constexpr" if n in constants else "*" + pointers[n] if n in pointers else scalars.get(n, "i32")
             for n in function.arg_names}
    source = ASTSource(fn=function, signature=types, constexprs=constants)
    adds = function in (gpu._backward_knots, kan_gpu._backward_table)  # from one warp, whose order stays
    options = gpu.OPTIONS | {"num_warps": 1 if adds else 4}
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    assert bool(re.search(r"\\b(atom|red)\\.", made.asm["ptx"])) == adds, function
    return made
for capability in (80, 90):
    for kind in ("fp32", "bf16"):
        assert code(gpu._forward, kind, capability, BLOCK=gpu.BLOCK).asm["cubin"]
        assert code(gpu._backward_x, kind, capability, BLOCK=gpu.BLOCK).asm["cubin"]
    assert code(gpu._backward_knots, "fp32", capability, OF_X=True, SLOPE=False, BLOCK=gpu.SUMMED).asm["cubin"]
    for order in (1, 3, 5):
        block = {"ORDER": order, "ROWS": kan_gpu.ROWS, "OUTS": kan_gpu.OUTS}
        assert code(kan_gpu._forward, "fp32", capability, **block).asm["cubin"]
        assert code(kan_gpu._backward_x, "fp32", capability, **block).asm["cubin"]
        columns = {"ORDER": order, "COLUMNS": kan_gpu.COLUMNS}
        assert code(kan_gpu._backward_table, "fp32", capability, **columns).asm["cubin"]
print("compiled")
"""


def ended(code, tmp_path, **more):
    """Output of a fresh Python: the interpreter has to be asked for before triton is imported."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), **more}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    return done.stdout.strip() or done.stderr


def test_in_the_interpreter_it_is_the_formula(tmp_path):
    assert ended(NUMBERS, tmp_path, TRITON_INTERPRET="1") == "agreed"


def test_in_the_interpreter_kan_layers_are_the_formula(tmp_path):
    assert ended(LAYERS, tmp_path, TRITON_INTERPRET="1") == "agreed"


def test_they_compile_for_gpus_and_only_one_warp_adds_up(tmp_path):
    from triton.backends import backends

    if "nvidia" not in backends:
        pytest.skip("this triton has no compiler for NVIDIA's GPUs")
    assert ended(CODE, tmp_path, TRITON_INTERPRET="0") == "compiled"
