"""The operator: its laws for every kernel, its derivatives of any order, and what torch does with it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from lab.errors import ArgumentError, LabError, LabWarning
from lab.nonlinearity import formula, jit, native, op
from lab.nonlinearity.formula import interpolate
from lab.nonlinearity.spline import Spline

INF, NAN = float("inf"), float("nan")
LOW, HIGH = -2.0, 2.0
KERNELS = {"native": native, "numba": jit, "torch": formula}
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@pytest.fixture(params=KERNELS)
def kernel(request, monkeypatch):
    """Every kernel that the CPU has, in charge of the operator."""
    module = KERNELS[request.param]
    if module is not formula and module.why_not() is not None:
        pytest.skip(module.why_not())
    monkeypatch.setenv("LAB_KERNEL", request.param)
    assert op.cpu_kernel() is module
    return module


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def off_knots(*shape, knots=9, seed=0, dtype=torch.float64):
    """Points inside the intervals and outside the range, away from kinks."""
    generator = torch.Generator().manual_seed(seed)
    cell = torch.randint(-2, knots + 1, shape, generator=generator)
    within = 0.1 + 0.8 * torch.rand(shape, generator=generator, dtype=torch.float64)
    return (LOW + (cell + within) * (HIGH - LOW) / (knots - 1)).to(dtype).requires_grad_()


def everything(module, x, values, grad):
    """Value, input gradient, knot gradient and mixed second derivative by a kernel's own functions."""
    gx, gv = module.backward(grad, x, values, LOW, HIGH, True, True)
    mixed = module.backward(grad, x, values, LOW, HIGH, False, True, slope=True)[1]
    return module.forward(x, values, LOW, HIGH), gx, gv, mixed


shapes = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)


@st.composite
def inputs(draw_from):
    """x of any shape, type and strides, with ends, knots and infinities in it; values for all of it or for each run."""
    dtype, wide = draw_from(st.sampled_from(DTYPES)), draw_from(st.sampled_from((torch.float32, torch.float64)))
    knots, shape = draw_from(st.integers(2, 70)), draw_from(shapes)
    by_run = shape[0] > 0 and draw_from(st.booleans())
    generator = np.random.default_rng(draw_from(st.integers(0, 2**32 - 1)))
    size = tuple(2 * n for n in shape)
    x = np.where(
        generator.random(size) < 0.3,
        generator.choice([LOW, HIGH, 0.0, INF, -INF, 1e30], size),
        generator.uniform(-3, 3, size),
    )
    x, values = torch.from_numpy(x), torch.from_numpy(generator.normal(size=(*shape[:1], knots) if by_run else knots))
    grad = torch.from_numpy(generator.normal(size=size))
    step = draw_from(st.sampled_from([1, 2]))
    cut = tuple(slice(None, n * step, step) for n in shape)
    return x.to(dtype)[cut], values.to(wide), grad.to(dtype)[cut]


@given(inputs())
def test_kernels_agree(tried):
    """Same interval, same rounding of the position: they differ by fused multiply-adds and the order of sums only.

    Float32, values near 1: 2^-22 in the value; bfloat16 and float16 may then round to the neighbour. In sums of up to
    700 terms of size 1, and of 17 where it is divided by the spacing: 2^-24 of the terms, taken together.
    """
    x, values, grad = tried
    wide = torch.float64 in (x.dtype, values.dtype)
    eps, own = torch.finfo(torch.float64 if wide else torch.float32).eps, torch.finfo(x.dtype).eps
    wanted = everything(formula, x, values, grad) if x.numel() else None
    for module in (native, jit):
        if module.why_not() is not None or wanted is None:
            continue
        got = everything(module, x, values, grad)
        size = grad.double().abs().sum().item()
        steep = (values.shape[-1] - 1) / (HIGH - LOW)
        if values.dtype != x.dtype:
            eps = max(eps, torch.finfo(values.dtype).eps)
        for a, b, scale in zip(got, wanted, (0, 0, size, size * steep), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            rounding = 2 * max(own, eps)
            torch.testing.assert_close(a, b, rtol=rounding, atol=8 * eps * max(1, scale), equal_nan=True)


@given(inputs())
def test_operator_is_numpy_interp(tried):
    """Tolerance: a few roundings of a position, times the steepest slope, and the rounding of the result."""
    x, values, _ = tried
    got = op.spline(x, values, LOW, HIGH)
    assert got.dtype == x.dtype and got.shape == x.shape and got.is_contiguous()
    places, tables = np.linspace(LOW, HIGH, values.shape[-1]), values.double().numpy()
    wide = x.double().numpy()
    if values.dim() == 1:
        wanted = np.interp(wide, places, tables)
    else:
        wanted = np.stack([np.interp(row, places, table) for row, table in zip(wide, tables, strict=True)])
    eps = torch.finfo(torch.float64 if torch.float64 in (x.dtype, values.dtype) else torch.float32).eps
    bound = 20 * eps * values.shape[-1] * np.abs(tables).max() + torch.finfo(x.dtype).eps * np.abs(wanted)
    assert (np.abs(got.double().numpy() - wanted) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("knots", [(5,), (3, 5)], ids=str)
def test_the_edges(kernel, dtype, knots):
    """One knot at each whole number; all of these numbers are exact in every type. 17: vector loops have remainders."""
    table = torch.tensor([1.0, 0.0, 3.0, -1.0, 2.0]).expand(knots).contiguous().requires_grad_()
    cases = {
        INF: (2, 0),
        -INF: (1, 0),
        1e4: (2, 0),
        2.5: (2, 0),
        -2.5: (1, 0),
        -2.0: (1, -1),
        -1.0: (0, 3),
        0.0: (3, -4),
        1.0: (-1, 3),
        2.0: (2, 0),
        0.25: (2, -4),
    }
    for place, (value, slope) in cases.items():
        x = torch.full((3, 17), place, dtype=dtype, requires_grad=True)
        y = op.spline(x, table, LOW, HIGH)
        gx, gv = torch.autograd.grad(y.sum(), (x, table))
        assert (y == value).all() and (gx == slope).all() and gv.sum() == x.numel()
    x = torch.full((3, 17), NAN, dtype=dtype, requires_grad=True)
    y = op.spline(x, table, LOW, HIGH)
    gx, gv = torch.autograd.grad(y.sum(), (x, table))
    assert y.isnan().all() and gx.isnan().all()
    assert gv[..., :2].isnan().all() and (gv[..., 2:] == 0).all()


def test_a_nan_spoils_its_own_gradient_alone(kernel):
    x, values, grad = off_knots(2, 300, dtype=torch.float32).detach(), draw(9, seed=1), draw(2, 300, seed=2)
    spoiled = x.clone()
    spoiled[0, 7] = NAN
    clean, got = everything(kernel, x, values, grad), everything(kernel, spoiled, values, grad)
    for i in range(2):
        assert torch.equal(got[i].isnan(), spoiled.isnan())
        assert torch.equal(got[i][~spoiled.isnan()], clean[i][~spoiled.isnan()])
    assert got[2].isnan().tolist() == got[3].isnan().tolist() == [True, True] + [False] * 7


def test_the_formula_has_the_same_gradient_at_nan():
    x, values = torch.tensor([NAN, 0.25], requires_grad=True), draw(9).requires_grad_()
    by_formula = torch.autograd.grad(formula.interpolate(x, values, LOW, HIGH).sum(), (x, values))
    by_kernel = torch.autograd.grad(op.spline(x, values, LOW, HIGH).sum(), (x, values))
    for a, b in zip(by_formula, by_kernel, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)


@pytest.mark.parametrize("knots", [(9,), (2, 9)], ids=str)
@pytest.mark.parametrize("shape", [(2,), (2, 6), (2, 2, 3)], ids=str)
def test_derivatives_are_finite_differences(kernel, shape, knots):
    x, values = off_knots(*shape), draw(*knots, seed=4, dtype=torch.float64).requires_grad_()
    assert gradcheck(op.spline, (x, values, LOW, HIGH))
    assert gradgradcheck(op.spline, (x, values, LOW, HIGH))


def test_third_derivatives_are_finite_differences(kernel):
    """Not zero: through the composition with a square."""
    x, values = off_knots(2, 3), draw(9, seed=4, dtype=torch.float64).requires_grad_()

    def gradients(x, values):
        y = op.spline(x, values, LOW, HIGH)
        return torch.autograd.grad((y**2).sum(), (x, values), create_graph=True)

    assert gradgradcheck(gradients, (x, values))


def test_the_mixed_derivative_is_not_zero(kernel):
    """d²φ(x) / dx dvalues at 0.25: one over the spacing, of either sign."""
    x, values = torch.tensor([0.25], requires_grad=True), torch.zeros(5, requires_grad=True)
    (slope,) = torch.autograd.grad(op.spline(x, values, LOW, HIGH).sum(), x, create_graph=True)
    (mixed,) = torch.autograd.grad(slope.sum(), values)
    assert mixed.tolist() == [0.0, 0.0, -1.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_knot_gradients_are_summed_beyond_single_precision(kernel, dtype):
    """A million equal terms: float32 sums would lose the third digit or more, bfloat16 sums stop at 256."""
    values = torch.zeros(3, requires_grad=True)
    x = torch.full((2**20,), -1.0, dtype=dtype)
    op.spline(x, values, LOW, HIGH).backward(torch.full((2**20,), 0.1, dtype=dtype))
    wanted = float(torch.tensor(0.1, dtype=dtype)) * 2**19
    assert values.grad.tolist() == pytest.approx([wanted, wanted, 0.0], rel=1e-7)


@pytest.mark.parametrize("knots", [(9,), (2, 9)], ids=str)
def test_one_gradient_alone_is_that_of_both(kernel, knots):
    x, values, grad = off_knots(2, 700, dtype=torch.float32).detach(), draw(*knots, seed=1), draw(2, 700, seed=2)
    gx, gv = kernel.backward(grad, x, values, LOW, HIGH, True, True)
    alone, none = kernel.backward(grad, x, values, LOW, HIGH, True, False)
    assert none is None and torch.equal(alone, gx)
    none, alone = kernel.backward(grad, x, values, LOW, HIGH, False, True)
    assert none is None and torch.equal(alone, gv)


def test_a_run_in_a_fleet_is_the_run_alone_to_the_last_bit(kernel):
    x, values, grad = draw(3, 1000), draw(3, 9, seed=1), draw(3, 1000, seed=2)
    whole = everything(kernel, x, values, grad)
    for run in range(3):
        for a, b in zip(whole, everything(kernel, x[run], values[run], grad[run]), strict=True):
            assert torch.equal(a[run], b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("knots", [(9,), (2, 9)], ids=str)
def test_torchs_own_checks_of_an_operator(kernel, dtype, knots):
    x, values = off_knots(2, 20, dtype=dtype), draw(*knots, seed=1).requires_grad_()
    grad = draw(2, 20, seed=2, dtype=dtype).requires_grad_()
    grid = (LOW, HIGH)
    torch.library.opcheck(torch.ops.lab.spline.default, (x, values, *grid))
    torch.library.opcheck(torch.ops.lab.spline_backward.default, (grad, x, values, *grid, True, True))
    torch.library.opcheck(torch.ops.lab.spline_slope_backward.default, (grad, x, values, *grid))


@pytest.mark.parametrize("learnable", [False, True])
def test_compiled_models_call_the_operator(learnable):
    """One graph, the operator in it as it is, and the gradients of the eager model."""
    spline = Spline(draw(9), LOW, HIGH, learnable=learnable)
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    def model(x):
        return (spline(torch.sin(x)) * 2).relu()

    torch._dynamo.reset()
    x = draw(4, 30, seed=1).requires_grad_()
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x), model(x))
    (graph,) = graphs
    called = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert any("lab.spline" in name for name in called) and not any("gather" in name for name in called)
    wanted = [x, spline.values] if learnable else [x]
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)  # traces the backward pass, too
    got = torch.autograd.grad(compiled(x).square().sum(), wanted)
    for a, b in zip(got, torch.autograd.grad(model(x).square().sum(), wanted), strict=True):
        torch.testing.assert_close(a, b)
    assert compiled(draw(5, 7)).shape == (5, 7)  # another size


def test_torch_func_works_inside_compiled_code():
    spline, x = Spline(draw(9), LOW, HIGH), draw(3, 4, seed=1)
    torch._dynamo.reset()
    per_sample = torch.func.vmap(torch.func.grad(lambda row: spline(row).sum()))
    compiled = torch.compile(per_sample, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), per_sample(x))


def test_per_sample_knot_gradients_by_torch_func():
    spline, x = Spline(draw(9), LOW, HIGH), draw(3, 4, seed=1)

    def total(values, row):
        return torch.func.functional_call(spline, {"values": values}, (row,)).sum()

    got = torch.func.vmap(torch.func.grad(total), (None, 0))(spline.values.detach(), x)
    values = spline.values.detach().requires_grad_()
    wanted = [torch.autograd.grad(op.spline(row, values, LOW, HIGH).sum(), values)[0] for row in x]
    torch.testing.assert_close(got, torch.stack(wanted))


@pytest.mark.parametrize("scaled", [False, True])
def test_derivatives_at_single_numbers_by_torch_func(scaled):
    """vmap over grad, as one writes φ'(x) of a scalar function: each number comes without an axis."""
    spline = Spline(draw(9, dtype=torch.float64), LOW, HIGH, learnable=True, scaled=scaled)
    x = off_knots(11).requires_grad_()
    y = spline(x)
    (slope,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    name, values = next((n, p) for n, p in spline.named_parameters() if n.endswith("values"))
    by_values = torch.stack([torch.autograd.grad(one, values, retain_graph=True)[0] for one in y])
    x, values = x.detach(), values.detach()

    def call(values, x):
        return torch.func.functional_call(spline, {name: values}, (x,))

    torch.testing.assert_close(torch.vmap(torch.func.grad(spline))(x), slope)
    torch.testing.assert_close(torch.vmap(torch.func.grad(call), (None, 0))(values, x), by_values)
    each = values.expand(len(x), -1)  # one function a number
    torch.testing.assert_close(torch.vmap(torch.func.grad(call))(each, x), by_values)
    torch.testing.assert_close(torch.vmap(torch.func.grad(torch.func.grad(spline)))(x), torch.zeros_like(x))
    torch.testing.assert_close(torch.func.grad(spline)(x[0]), slope[0])


def test_autocast_and_no_grad():
    """Like torch's own non-linearities: the type that comes in goes out; knots and their gradients keep theirs."""
    spline, linear = Spline(draw(9), LOW, HIGH, learnable=True), torch.nn.Linear(4, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert spline(draw(3, 4)).dtype == torch.float32
        y = spline(linear(draw(3, 4)))
    assert y.dtype == torch.bfloat16
    y.sum().backward()
    assert spline.values.grad.dtype == linear.weight.grad.dtype == torch.float32
    with torch.no_grad():
        assert spline(draw(3, 4)).grad_fn is None
    with torch.inference_mode():
        assert spline(draw(3, 4)).shape == (3, 4)


def test_on_a_device_without_numbers():
    """Meta tensors have shapes only: what a large model is laid out with."""
    x, values = torch.empty(3, 4, device="meta", requires_grad=True), torch.empty(3, 9, device="meta")
    y = op.spline(x, values, LOW, HIGH)
    assert y.shape == (3, 4) and torch.autograd.grad(y.sum(), x)[0].shape == (3, 4)


def test_whole_numbers_are_refused():
    with pytest.raises(ArgumentError, match="torch.int64.*floating-point"):
        Spline(draw(9))(torch.arange(3))


@pytest.mark.parametrize("shape", [(3, 5), (), (1, 4), (0, 2)])
def test_functions_of_other_runs_than_the_inputs_are_refused(kernel, shape):
    with pytest.raises(ArgumentError, match="values of 4 runs for inputs of shape"):
        op.spline(torch.zeros(shape), torch.zeros(4, 3), -1.0, 1.0)


def test_kernels_are_forced_by_name(monkeypatch):
    monkeypatch.setenv("LAB_KERNEL", "fortran")
    with pytest.raises(ArgumentError, match="LAB_KERNEL='fortran': give native, numba, torch"):
        Spline(draw(9))(draw(3))
    monkeypatch.setenv("LAB_KERNEL", "numba")
    assert op.describe().startswith("numba (LAB_KERNEL=numba)")
    monkeypatch.setenv("LAB_KERNEL", "native")
    monkeypatch.setattr(native, "why_not", lambda: "no compiler")
    with pytest.raises(LabError, match="LAB_KERNEL=native, and there is no such kernel: no compiler"):
        op.cpu_kernel()
    monkeypatch.delenv("LAB_KERNEL")
    monkeypatch.setattr(jit, "why_not", lambda: "numba is gone")
    op._say_slow.cache_clear()
    with pytest.warns(LabWarning, match="several times slower .*no compiler; install a C compiler") as said:
        assert op.cpu_kernel() is formula and op.cpu_kernel() is formula
    assert len(said) == 1, "it is said once"
    assert op.describe().startswith("torch formula, several times slower: no compiler")


def test_importing_the_lab_imports_neither_numba_nor_triton(nursery):
    ended = nursery.run("""
import subprocess, sys
code = "import lab, sys; print([name for name in ('numba', 'triton') if name in sys.modules])"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
""")
    assert ended.code == 0 and ended.out.split() == ["[]"], ended.err


@pytest.mark.skipif(native.why_not() is not None, reason="there is no compiler")
def test_compiled_code_is_given_plain_numbers_of_the_cpu_alone(monkeypatch):
    """Its pointers mean nothing to tracers, transforms, other devices and other types."""
    monkeypatch.setenv("LAB_KERNEL", "native")
    x, said = draw(3), []
    for tensors in ((x,), (x.double(),), (x, draw(2, 9)), (torch.nn.Parameter(x), x)):
        assert op.is_for_native(tensors)
    for tensors in ((x.half(),), (x, x.double()), (x[:0],), (x, x[:0]), (x.to("meta"),), (x.as_subclass(Other), x)):
        assert not op.is_for_native(tensors)

    def note(tensor):
        said.append(op.is_for_native((x,)) or op.is_for_native((tensor,)))
        return tensor.sum()

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor):
            return tensor.clone()

        @staticmethod
        def backward(ctx, grad):
            said.append(op.is_for_native((grad,)))
            return grad

    torch.vmap(note)(x)
    torch.func.grad(note)(x)
    with forward_ad.dual_level():
        note(x)
    with Watching():
        note(x)
    leaf = draw(3).requires_grad_()
    torch.autograd.grad(Noted.apply(leaf), leaf, torch.eye(3), is_grads_batched=True)
    assert said == [False] * 5
    monkeypatch.setenv("LAB_KERNEL", "torch")
    assert not op.is_for_native((x,))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # by torch itself
def test_forward_mode_goes_through_vmap():
    phi, x = Spline.from_function(torch.sin, LOW, HIGH, 9).double(), off_knots(3, 4)
    with forward_ad.dual_level():
        y, slope = forward_ad.unpack_dual(torch.vmap(phi)(forward_ad.make_dual(x.detach(), torch.ones_like(x))))
    (wanted,) = torch.autograd.grad(phi(x).sum(), x)
    torch.testing.assert_close(y, phi(x))
    torch.testing.assert_close(slope, wanted)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # by torch itself
@pytest.mark.parametrize("make", [lambda phi: phi, lambda phi: phi.polynomial(3)], ids=["spline", "polynomial"])
@pytest.mark.parametrize("learnable", [False, True], ids=["fixed", "learnable"])
def test_forward_mode_gives_the_slope(make, learnable):
    """The kernel has none: it was silently left out, or refused where the values learn."""
    phi = make(Spline.from_function(torch.sin, LOW, HIGH, 9, learnable=learnable).double())
    x = off_knots(7)
    with forward_ad.dual_level():
        y, slope = forward_ad.unpack_dual(phi(forward_ad.make_dual(x.detach(), torch.ones_like(x))))
    (wanted,) = torch.autograd.grad(phi(x).sum(), x)
    torch.testing.assert_close(y, phi(x))
    torch.testing.assert_close(slope, wanted)


def test_a_kernel_has_a_name_on_each_kind_of_device(monkeypatch):
    for name, module in KERNELS.items():
        if module is formula or module.why_not() is None:
            monkeypatch.setenv("LAB_KERNEL", name)
            assert op.kernel_name("cpu") == name
            assert (op.kernel_name("cuda") == "torch") == (name == "torch" or op.why_not_triton() is not None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("LAB_KERNEL", "torch")
    assert op.describe().endswith("; on CUDA torch formula: LAB_KERNEL=torch")
    monkeypatch.delenv("LAB_KERNEL")
    monkeypatch.setattr(op, "why_not_triton", lambda: None)
    assert op.describe().endswith("; on CUDA Triton") and op.kernel_name("cuda") == "triton"
    monkeypatch.setattr(op, "why_not_triton", lambda: "triton is not installed")
    assert (
        op.describe().endswith("; on CUDA torch formula: triton is not installed") and op.kernel_name("cuda") == "torch"
    )


class Other(torch.Tensor):
    """A tensor of a type of its own."""


class Watching(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def test_what_watches_operators_sees_the_splines(kernel):
    """A short cut past torch's dispatcher is taken where nobody looks alone."""
    x, values = draw(3).requires_grad_(), draw(9, seed=1).requires_grad_()
    plain = op.spline(x, values, LOW, HIGH)
    with Watching() as mode:
        op.spline(x, values, LOW, HIGH).sum().backward()
    assert mode.names.count("lab.spline.default") == mode.names.count("lab.spline_backward.default") == 1
    for parts in ((x.detach().as_subclass(Other), values.detach()), (x.detach(), values.detach().as_subclass(Other))):
        assert not op.is_plain(parts)
        torch.testing.assert_close(op.spline(*parts, LOW, HIGH).as_subclass(torch.Tensor), plain.detach())
    assert op.is_plain((x, values, torch.nn.Parameter(values.detach())))


class Stops(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


def test_where_no_gradient_comes_none_goes(kernel):
    x, values = draw(3).requires_grad_(), draw(9, seed=1).requires_grad_()
    Stops.apply(op.spline(x, values, LOW, HIGH)).sum().backward()
    assert x.grad is None and values.grad is None
    empty = torch.empty(0, requires_grad=True)
    (slope,) = torch.autograd.grad(op.spline(empty, values, LOW, HIGH).sum(), empty, create_graph=True)
    (mixed,) = torch.autograd.grad(slope.sum(), values)
    assert slope.shape == (0,) and torch.equal(mixed, torch.zeros_like(values))


def test_what_both_gradients_say_of_the_outputs_gradient_is_added(kernel):
    x, values = off_knots(7), draw(9, seed=1, dtype=torch.float64).requires_grad_()
    grad, a, b = draw(7, seed=2, dtype=torch.float64).requires_grad_(), draw(7, seed=3), draw(9, seed=4)

    def second(spline):
        gx, gv = torch.autograd.grad(spline(x, values, LOW, HIGH), (x, values), grad, create_graph=True)
        return torch.autograd.grad((a * gx).sum() + (b * gv).sum(), grad)[0]

    torch.testing.assert_close(second(op.spline), second(interpolate))
