"""Sharing work: any number of threads gives the same bits, everything is done once, and forks do not hang."""

import pytest
import torch

from lab.nonlinearity import jit, native
from lab.nonlinearity.native import Cut


@pytest.fixture(autouse=True)
def _threads_from_fewer_inputs_on(monkeypatch):
    monkeypatch.setattr("lab.nonlinearity.native.ALONE", 2**18)


@pytest.fixture
def set_threads():
    """torch.set_num_threads, put back afterwards."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def inputs(*shape, knots=(33,), dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    x, grad = (torch.randn(shape, generator=generator).to(dtype) for _ in range(2))
    return grad, x, torch.randn(knots, generator=generator)


# several slices of one run, with a rest; many short runs; both
@pytest.mark.parametrize(
    ("shape", "knots"), [((2**18 + 17,), (33,)), ((300, 1001), (300, 33)), ((3, 150_001), (3, 33))], ids=str
)
@pytest.mark.parametrize("kernel", [native, jit], ids=["native", "numba"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_any_number_of_threads_gives_the_same_bits(set_threads, monkeypatch, kernel, shape, knots, dtype):
    if kernel.why_not() is not None:
        pytest.skip(kernel.why_not())
    grad, x, values = inputs(*shape, knots=knots, dtype=dtype)
    results, used = [], set()
    pool = native._pool
    monkeypatch.setattr(native, "_pool", lambda size: used.add(size) or pool(size))
    for number in (1, 2, 3):
        set_threads(number)
        y = kernel.forward(x, values, -3.0, 3.0)
        gx, gv = kernel.backward(grad, x, values, -3.0, 3.0, True, True)
        results.append((y, gx, gv, kernel.backward(grad, x, values, -3.0, 3.0, False, True, slope=True)[1]))
    assert used == {1, 2}  # the others did take part
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize(("shape", "knots"), [((2**18,), (5,)), ((7, 10), (7, 5)), ((3, 2**17), (3, 5))], ids=str)
@pytest.mark.parametrize("number", [1, 2, 5])
def test_all_items_are_done_once(set_threads, shape, knots, number):
    set_threads(number)
    cut, done = Cut(torch.empty(shape), torch.empty(knots)), []
    assert cut.runs * cut.count == torch.empty(shape).numel() and (cut.slices - 1) * cut.slice < cut.count
    cut.share(lambda first, end: done.extend(range(first, end)))
    assert sorted(done) == list(range(cut.runs * cut.slices))


def test_small_inputs_stay_on_their_thread(set_threads, monkeypatch):
    set_threads(8)
    monkeypatch.setattr(native, "_pool", None)
    Cut(torch.empty(native.ALONE - 1), torch.empty(5)).share(lambda first, end: None)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_any_share_is_raised_after_all_are_done(set_threads, failing):
    set_threads(2)
    cut, done = Cut(torch.empty(2**18), torch.empty(5)), []

    def work(first, end):
        if bool(first) == bool(failing):
            raise MemoryError("no memory")
        done.append((first, end))

    with pytest.raises(MemoryError):
        cut.share(work)
    assert len(done) == 1


# torch's formula is none of them: its threads are OpenMP's, which hang in a fork
@pytest.mark.parametrize("kernel", [native, jit], ids=["native", "numba"])
def test_a_forked_process_has_threads_of_its_own(nursery, kernel):
    if kernel.why_not() is not None:
        pytest.skip(kernel.why_not())
    ended = nursery.run(f"""
import os, torch
from lab.nonlinearity import native as threads
from {kernel.__name__} import forward
torch.set_num_threads(2)
threads.ALONE = 2**18
x, values = torch.linspace(-3, 3, 2**19), torch.tensor([0.0, 1.0, 0.0])
before = forward(x, values, -1.0, 1.0)
print(len(threads._pools))  # the pool is here now
child = os.fork()
if child == 0:
    same = (forward(x, values, -1.0, 1.0).numpy() == before.numpy()).all()  # torch.equal may hang here: OpenMP does
    os._exit(0 if same and len(threads._pools) == 1 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert ended.code == 0 and ended.out.split() == ["1", "0"], ended.err


def test_loky_workers_share_work_too():
    from loky import get_reusable_executor

    grad, x, values = inputs(2**19)
    pool = get_reusable_executor(1, timeout=20)
    try:
        theirs = pool.submit(_in_a_worker, grad, x, values).result(timeout=120)
    finally:
        pool.shutdown()
    assert torch.equal(theirs, native.backward(grad, x, values, -3.0, 3.0, False, True)[1])


def _in_a_worker(grad, x, values):
    torch.set_num_threads(2)
    return native.backward(grad, x, values, -3.0, 3.0, False, True)[1]
