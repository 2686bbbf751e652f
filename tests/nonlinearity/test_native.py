"""The compiled kernel against the float64 formula and numpy.interp, and what happens where none is built."""

import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabWarning
from lab.nonlinearity import jit, native, op
from lab.nonlinearity.formula import interpolate
from lab.nonlinearity.spline import Spline

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
BUILDS = {
    "machine": native.FLAGS,
    "avx2": (*native.FLAGS, "-mno-avx512f", "-mavx2", "-mfma"),
    "portable": tuple(flag for flag in native.FLAGS if flag != "-march=native"),
}
INF, NAN = float("inf"), float("nan")

# float32 rounds a position on [-4, 4] with 33 knots by a few 2^-24 of its size: values that differ by v
# between two knots move by about 33 v 2^-23; sums over some hundred inputs by no more than ten times that.
CLOSE = {"rtol": 1e-5, "atol": 3e-5}
LOW, HIGH = -4.0, 4.0


@pytest.fixture
def anew(tmp_path, monkeypatch):
    """An empty cache folder, and nothing loaded yet; afterwards as before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("LAB_KERNEL", raising=False)
    native._loaded.cache_clear()
    yield tmp_path / "lab" / "kernels"
    native._loaded.cache_clear()


@pytest.fixture(scope="module")
def other_cache(tmp_path_factory):
    """A cache for what is built with other flags."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=BUILDS)
def kernel(request, other_cache, monkeypatch):
    """The kernel as this machine builds it, and as machines without AVX-512, or without any of that, do."""
    if native.library() is None:
        pytest.skip(native.why_not())
    if request.param == "avx2" and "avx2" not in native.processor():
        pytest.skip("this processor has no AVX2")
    if request.param != "machine":
        monkeypatch.setattr(native, "FLAGS", BUILDS[request.param])
        monkeypatch.setenv("XDG_CACHE_HOME", str(other_cache))
    monkeypatch.setenv("LAB_KERNEL", "native")
    native._loaded.cache_clear()
    assert native.library() is not None, native.why_not()
    yield
    native._loaded.cache_clear()


def draw(*shape, seed=0, scale=1.0):
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_kernel(x, values):
    """Value, input gradient and knot gradient of Σ weight · φ(x), by the module, float32."""
    x = x.detach().clone().requires_grad_()
    spline = Spline(values, LOW, HIGH, learnable=True)
    y = spline(x)
    (y * draw(*y.shape, seed=9)).sum().backward()
    return y.detach(), x.grad, spline.values.grad


def by_formula(x, values):
    """The same by autograd of the formula, in float64."""
    x, values = x.double().requires_grad_(), values.double().requires_grad_()
    y = interpolate(x, values, LOW, HIGH)
    (y * draw(*y.shape, seed=9)).sum().backward()
    return y.detach(), x.grad, values.grad


def off_knots(x, knots):
    """`x` moved away from knots, where a rounding error decides which slope is the right one."""
    spacing = (HIGH - LOW) / (knots - 1)
    position = (x - LOW) / spacing
    return LOW + spacing * (position.floor() + 0.05 + 0.9 * (position - position.floor()))


# below, at and above the 16 numbers that AVX-512 takes at once and the 256 of a block, and none at all
@pytest.mark.parametrize("shape", [(1,), (15,), (16,), (17,), (256,), (257,), (3, 5, 7), (2, 16), ()], ids=str)
@pytest.mark.parametrize("knots", [2, 3, 33])
def test_kernel_is_the_formula(kernel, shape, knots):
    x, values = off_knots(draw(*shape, scale=3.0), knots), draw(knots, seed=1)
    for got, wanted in zip(by_kernel(x, values), by_formula(x, values), strict=True):
        torch.testing.assert_close(got, wanted.float(), **CLOSE)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 19), (3, 16), (3, 2, 50)], ids=str)
def test_kernel_with_one_function_a_run_is_the_formula(kernel, shape):
    x, values = off_knots(draw(*shape, scale=3.0), 33), draw(3, 33, seed=1)
    for got, wanted in zip(by_kernel(x, values), by_formula(x, values), strict=True):
        torch.testing.assert_close(got, wanted.float(), **CLOSE)
    for run in range(3):  # and each run is the function alone, to the last bit
        alone = Spline(values[run], LOW, HIGH)(x[run])
        assert torch.equal(Spline(values, LOW, HIGH)(x)[run], alone)


@given(
    st.integers(0, 70),
    st.integers(2, 400),
    st.floats(-50, 50),
    st.floats(0.125, 100),
    st.integers(0, 2**32 - 1),
)
def test_module_in_float32_is_numpy_interp(count, knots, low, width, seed):
    """Oracle in float64. Tolerance: three roundings of a position, times the steepest slope."""
    low, width = float(np.float32(low)), float(np.float32(width))
    generator = np.random.default_rng(seed)
    x = generator.uniform(low - width / 2, low + 1.5 * width, count).astype(np.float32)
    values = generator.normal(size=knots).astype(np.float32)
    got = Spline(torch.from_numpy(values), low, low + width)(torch.from_numpy(x))
    wanted = np.interp(x.astype(float), np.linspace(low, low + width, knots), values.astype(float))
    epsilon, moved = np.finfo(np.float32).eps, (3 * abs(low) + 3 * width) * (knots - 1) / width
    bound = epsilon * (moved * np.abs(np.diff(values)).max() + 4 * np.abs(values).max())
    np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=bound)


def test_ends_and_nan(kernel):
    """17 of each, so that both the vector branch and its remainder meet them."""
    values = torch.tensor([1.0, 0.0, 3.0, -1.0, 2.0, 0.5, -0.25, 4.0, 7.0])  # one knot at each whole number
    expected = [(-INF, 1.0, 0.0), (INF, 7.0, 0.0), (-4.0, 1.0, -1.0), (-3.0, 0.0, 3.0), (4.0, 7.0, 0.0)]
    for x, value, slope in expected:
        y, gx, _ = by_kernel(torch.full((17,), x), values)
        assert (y == value).all()
        assert torch.equal(gx, slope * draw(17, seed=9))
    y, gx, _ = by_kernel(torch.full((17,), NAN), values)
    assert y.isnan().all() and gx.isnan().all()


def test_a_huge_input_does_not_leave_the_table(kernel):
    values = draw(33)
    x = torch.tensor([3e38, -3e38, 1e10, -1e10, 2.0**31, -(2.0**31), 2.0**40] * 5)
    assert torch.equal(Spline(values, LOW, HIGH)(x), torch.where(x > 0, values[-1], values[0]))


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 33])
def test_the_kernel_reads_and_writes_inside_its_arrays(kernel, count):
    """Arrays inside larger ones: what lies behind them is NaN where it is read, and a mark where it is written."""
    runs, knots, behind = 2, 5, 32

    def inside(*shape, fill=NAN):
        size = int(np.prod(shape))
        whole = torch.full((size + behind,), fill, dtype=torch.float64 if fill == 0 else torch.float32)
        return whole[:size].view(shape), whole[size:]

    x, grad, values = (inside(*shape)[0] for shape in ((runs, count), (runs, count), (runs, knots)))
    x.copy_(torch.linspace(-5, 5, runs * count).view(runs, count)), grad.fill_(1.0), values.copy_(draw(runs, knots))
    x[:, -1] = 4.0  # the last knot, with no value to its right
    cut, grid = (count, count, 0, runs, False), (knots, LOW, (knots - 1) / (HIGH - LOW))
    for name, ins in (("forward", (x, values)), ("backward", (x, grad, values))):
        out, after = inside(runs, count, fill=7.0)
        last = (None, False) if name == "backward" else ()  # no knot gradients
        pointers = [tensor.data_ptr() for tensor in (*ins, out)]
        assert getattr(native.library(), f"spline_{name}_float32")(*pointers, *last, *cut, *grid) == 0
        assert out.isfinite().all() and (after == 7).all()
    total, after = inside(runs, knots, fill=0)
    pointers = [x.data_ptr(), grad.data_ptr(), values.data_ptr(), None, total.data_ptr()]
    assert native.library().spline_backward_float32(*pointers, False, *cut, *grid) == 0
    assert (total.sum(1) == count).all() and (after == 0).all()


def test_knot_gradient_is_summed_in_double_precision(kernel):
    """A million equal terms: float32 sums would lose the third digit or more."""
    spline = Spline(torch.zeros(3), LOW, HIGH, learnable=True)
    spline(torch.full((2**20,), -2.0)).backward(torch.full((2**20,), 0.1))
    wanted = float(torch.tensor(0.1)) * 2**19
    assert spline.values.grad.tolist() == pytest.approx([wanted, wanted, 0.0], rel=1e-7)


@pytest.mark.parametrize("view", [lambda x: x.mT, lambda x: x[:, ::2], lambda x: x[:1].expand(6, -1)])
def test_strided_inputs_and_gradients(kernel, view):
    base = draw(6, 6, scale=3.0).requires_grad_()
    spline = Spline(draw(33, seed=1), LOW, HIGH)
    y = spline(view(base))
    assert torch.equal(y, spline(view(base).detach().contiguous()))
    for cotangent in (torch.ones(()).expand_as(y), draw(y.shape[1], y.shape[0]).mT):
        (got,) = torch.autograd.grad(y, base, cotangent, retain_graph=True)
        wide = base.detach().double().requires_grad_()
        formula = interpolate(view(wide), spline.values.double(), LOW, HIGH)
        (wanted,) = torch.autograd.grad(formula, wide, cotangent.double())
        torch.testing.assert_close(got, wanted.float(), **CLOSE)


@pytest.mark.parametrize("knots", [(5,), (3, 5)], ids=str)
def test_strided_knots(kernel, knots):
    values = draw(*knots[::-1]).permute(*reversed(range(len(knots))))
    x = draw(3, 20, seed=1)
    spline = Spline(values, LOW, HIGH)
    torch.testing.assert_close(spline(x), interpolate(x, values, LOW, HIGH), **CLOSE)


@pytest.mark.parametrize(("shape", "knots"), [((0,), (5,)), ((2, 0, 3), (5,)), ((2, 0, 3), (2, 5))], ids=str)
def test_empty_input(shape, knots):
    x = torch.zeros(shape, requires_grad=True)
    spline = Spline(torch.zeros(knots), learnable=True)
    y = spline(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == shape
    assert spline.values.grad.shape == knots and (spline.values.grad == 0).all()


def test_inputs_are_left_alone(kernel):
    x, values = draw(40), draw(33, seed=1)
    before = x.clone(), values.clone()
    by_kernel(x, values)
    assert torch.equal(x, before[0]) and torch.equal(values, before[1])


def second(make):
    """Gradient of ‖∂y²/∂x‖² + ‖∂y²/∂values‖² in x, values and a weight upstream of x."""
    dtype, y_of = make
    x = off_knots(draw(2, 20, scale=3.0), 9).to(dtype).requires_grad_()
    weight = torch.ones(20, dtype=dtype, requires_grad=True)
    values = draw(9, seed=1).to(dtype).requires_grad_()
    y = y_of(x * weight, values)
    first = torch.autograd.grad((y**2).sum(), (x, values), create_graph=True)
    return torch.autograd.grad(sum((g**2).sum() for g in first), (x, values, weight))


def test_second_derivatives_go_through_the_kernel(kernel):
    def module(x, values):
        return op.spline(x, values, LOW, HIGH)

    got = second((torch.float32, module))
    wanted = second((torch.float64, lambda x, values: interpolate(x, values, LOW, HIGH)))
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b.float(), rtol=1e-4, atol=1e-4)  # squares of sums of 40 terms
        assert b.abs().max() > 1  # the test is about something


@needs_compiler
def test_the_kernel_is_built_into_an_empty_cache_and_found_there_again(anew):
    assert native.cache_folder() == anew and not anew.exists()
    assert native.library() is not None and native.why_not() is None
    (built,) = anew.iterdir()  # the library, and no temporary folder left over
    before = built.stat().st_mtime_ns
    native._loaded.cache_clear()
    assert native.library() is not None
    assert [built] == list(anew.iterdir()) and built.stat().st_mtime_ns == before


@needs_compiler
def test_another_source_or_other_flags_are_another_kernel(anew, monkeypatch):
    assert native.library() is not None
    monkeypatch.setattr(native, "FLAGS", BUILDS["portable"])
    native._loaded.cache_clear()
    assert native.library() is not None
    assert len(list(anew.iterdir())) == 2


@needs_compiler
def test_a_compiler_with_arguments_works(anew, monkeypatch):
    monkeypatch.setenv("CC", f"{COMPILER} -DNOTHING")
    assert native.library() is not None, native.why_not()


def falls_back(reason):
    """The spline without the C kernel: same numbers by numba, and a reason that says what went wrong."""
    assert native.library() is None and reason in native.why_not()
    op._say_slow.cache_clear()
    with pytest.warns(LabWarning, match="by numba, which takes twice as long .*; install a C compiler") as said:
        assert op.cpu_kernel() is jit and op.cpu_kernel() is jit
    assert len(said) == 1, "it is said once"
    assert op.describe().startswith("numba") and reason in op.describe()
    x, values = off_knots(draw(3, 20, scale=3.0), 33), draw(3, 33, seed=1)
    for got, wanted in zip(by_kernel(x, values), by_formula(x, values), strict=True):
        torch.testing.assert_close(got, wanted.float(), **CLOSE)


@pytest.mark.parametrize("compiler", ["/bin/false", "no-such-compiler"])
def test_a_broken_compiler_falls_back(anew, monkeypatch, compiler):
    monkeypatch.setenv("CC", compiler)
    falls_back(compiler)


def test_no_compiler_falls_back(anew, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    falls_back("no C compiler found (install gcc or clang")


def test_a_cache_that_cannot_be_written_falls_back(anew, tmp_path):
    anew.parent.mkdir()
    anew.write_text("a file where the folder should be")
    falls_back(str(anew))
