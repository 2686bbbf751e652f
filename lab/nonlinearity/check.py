"""The check of a non-linearity or a task, of the lab or anyone's, against the laws that users rely on: `lab.check`."""

from __future__ import annotations

import contextlib
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

import lab.nonlinearity.laws
import lab.nonlinearity.slope_laws  # noqa: F401  registers its laws, as the former
from lab.errors import (
    ArgumentError,
    Broken,
    NotAsked,
    check_choice,
    check_flag,
    check_type,
    check_whole,
    described,
    shortened,
    shown,
)
from lab.nonlinearity.case import LAWS, SHAPE, Case
from lab.nonlinearity.part import as_module

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

SLOW = ("compiles",)  # laws that are only asked for with slow=True


@dataclass(frozen=True)
class Law:
    """A law: called with a function, or a task, it raises an AssertionError where it does not hold.

    reason: why it is needed. expected: why it is known not to hold for a function; empty: it should hold.
    """

    name: str
    reason: str
    test: Callable[[Any], str | None]
    expected: str = ""

    @property
    def __name__(self) -> str:  # pytest names its cases by it
        return self.name

    def __call__(self, f: Callable[[Tensor], Tensor] | str, shape: Sequence[int] | None = None) -> None:
        """Raise an AssertionError where the law does not hold for a function, or, of an expected failure, where it
        does. f, shape: as for `lab.check`."""
        if self.test not in _laws("task" if _is_task(f) else "function").values():
            raise ArgumentError(f"{self.name} is no law of {described(f)}: give lab.check.laws(of='task') tasks alone")
        outcome = self.outcome(_case(f, shape))
        if outcome.is_failure:
            raise AssertionError(f"{self.name}: {outcome.detail}. {self.reason}")
        if outcome.is_needless:
            raise AssertionError(f"{self.name}: {outcome.said}")

    def outcome(self, case: Any) -> Outcome:
        """What comes of it."""
        try:
            with _global_state_restored(), torch.enable_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the user's code, at inputs that it may not like
                return Outcome(self, True, self.test(case) or "")
        except NotAsked as why:
            return Outcome(self, None, str(why))
        except Broken as error:
            return Outcome(self, False, str(error))
        except Exception as error:  # the user's code may raise anything
            return Outcome(self, False, f"fails with {type(error).__name__} ({shortened(str(error), 120)})")


@dataclass(frozen=True)
class Outcome:
    """What came of a law. passed: None where it does not apply. detail: what was measured, or why it does not apply."""

    law: Law
    passed: bool | None
    detail: str

    @property
    def is_failure(self) -> bool:
        return self.passed is False and not self.law.expected

    @property
    def is_needless(self) -> bool:
        """Whether it holds, although it was expected not to."""
        return self.passed is True and bool(self.law.expected)

    @property
    def said(self) -> str:
        """The detail, with what was expected."""
        if not self.law.expected:
            return self.detail
        if self.is_needless:
            return f"holds, and is expected not to ({self.law.expected}): take it out of expected="
        return f"expected ({self.law.expected}): {self.detail}"


@dataclass(frozen=True, eq=False)
class Checked:
    """What `lab.check` gives: which laws hold for a function or a task. name: of it."""

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row a law: law, reason, passed (missing where it does not apply), detail."""
        import pandas as pd  # functions alone do without it

        rows = [(one.law.name, one.law.reason, one.passed, one.said) for one in self.outcomes]
        return pd.DataFrame(rows, columns=["law", "reason", "passed", "detail"]).astype({"passed": "boolean"})

    @property
    def failures(self) -> list[str]:
        """Names of the laws that do not hold, without those that are expected."""
        return [one.law.name for one in self.outcomes if one.is_failure]

    @property
    def needless(self) -> list[str]:
        """Names of the laws that hold, although they are expected not to."""
        return [one.law.name for one in self.outcomes if one.is_needless]

    def plot(self) -> go.Figure:
        """One line a law: whether it holds, with the detail."""
        return import_module("lab.plots.functions").draw_laws(self.table)  # which stands above the functions

    def __repr__(self) -> str:
        holds = sum(one.passed is True for one in self.outcomes)
        absent = sum(one.passed is None for one in self.outcomes)
        expected = sum(one.passed is False for one in self.outcomes) - len(self.failures)
        more = f", {expected} expected not to" if expected else ""
        lines = [f"{self.name}: {holds} laws hold, {len(self.failures)} do not{more}; {absent} do not apply"]
        lines += [f"- {one.law.name}: {one.detail}. {one.law.reason}" for one in self.outcomes if one.is_failure]
        lines += [f"- {one.law.name}: {one.said}" for one in self.outcomes if one.is_needless]
        return "\n".join(lines)


class Check:
    """Whether a non-linearity or a task, of the lab or anyone's, keeps the laws that its users rely on: see
    `lab.check(f)`."""

    def __call__(
        self,
        f: Callable[[Tensor], Tensor] | Any,
        *,
        expected: Mapping[str, str] | None = None,
        shape: Sequence[int] | None = None,
        slow: bool = False,
    ) -> Checked:
        """Check a scalar non-linearity: its gradients, types, shapes, copies, and what it does at NaN and far out.

        f: a `torch.nn.Module` or a function of a tensor, which gives a tensor of the same shape; a name ("gelu",
            "transformers/memorize"); or what `lab.search` gives. It is copied, and stays as it is.
        expected: laws that are known not to hold, by name, each with a reason. Where one holds, this is said.
        shape: of the inputs, if f takes no others, as where it has one parameter a channel: axis 0 is the batch, all
            numbers are between -4 and 4, or a little beyond the range that f has as `low` and `high`.
        slow: also ask for torch.compile.

        Or check a task or a `lab.Data`: splits, leaks, targets, latents, seeds, shapes, constant columns, classes.

        Returns a `Checked`: `.table`, `.failures`, `.plot()`. It judges no value: a law says what must be the same.
        Times are beside `torch.nn.GELU`, without a unit.

        Raises ArgumentError for what is no function of a tensor that keeps its shape and no task, and for an unknown
        law.

        In pytest: `@pytest.mark.parametrize("law", lab.check.laws())` above `def test_mine(law): law(mine)`.

        >>> import lab
        >>> lab.check(torch.nn.ReLU(inplace=True)).failures
        ['input stays']
        >>> lab.check(lambda x: x.sqrt()).table.set_index("law").loc["huge numbers", "detail"]
        'NaN at x = -100, -10000, -1e+10, -1e+20, -1e+30'
        >>> X = torch.tensor([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]] * 20)
        >>> lab.check(lab.Data.from_arrays(X, X[:, 0], name="repeated")).failures
        ['splits are disjoint', 'no constant column', 'no column is the target']
        """
        case, of = _case(f, shape), "task" if _is_task(f) else "function"
        return Checked(_name(case.given), tuple(law.outcome(case) for law in self.laws(expected, slow, of)))

    def laws(self, expected: Mapping[str, str] | None = None, slow: bool = False, of: str = "function") -> list[Law]:
        """The laws, for pytest.mark.parametrize: each has a name and a reason, and is called with a function.

        expected, slow: as for a check. of: "function", or "task": these are called with a task or a `lab.Data`.

        >>> import lab
        >>> law = lab.check.laws()[0]
        >>> law.name, law.reason, law(torch.sin)
        ('the same at each call', 'Results must repeat: evaluation draws nothing.', None)
        """
        expected = check_type("expected", {} if expected is None else expected, Mapping, "laws and reasons")
        known = _laws(check_choice("of", of, ("function", "task")))
        for name, reason in expected.items():
            check_choice("law", name, known)
            if not isinstance(reason, str) or not reason.strip():
                raise ArgumentError(f"expected[{name!r}]={shown(reason)}: give the reason in words")
        check_flag("slow", slow)
        asked = [name for name in known if slow or name not in SLOW]
        laws = [Law(name, " ".join((known[name].__doc__ or "").split()), known[name]) for name in asked]
        return [replace(law, expected=expected.get(law.name, "")) for law in laws]


check = Check()


def _is_task(f: Any) -> bool:
    """Whether it is a task or a data set; their modules are not imported for a function."""
    tasks = sys.modules.get("lab.tasks.task"), sys.modules.get("lab.data.data")
    return not callable(f) and any(tasks) and isinstance(f, import_module("lab.tasks.laws").KINDS)


def _laws(of: str) -> Mapping[str, Callable[[Any], str | None]]:
    return LAWS if of == "function" else import_module("lab.tasks.laws").LAWS


def _case(f: Any, shape: Sequence[int] | None) -> Any:
    """The function with its inputs; ArgumentError where it does not take them, or gives something else. Or a task."""
    if _is_task(f):
        if shape is not None:
            raise ArgumentError(f"shape={shown(shape)} is for a function; leave it out for a task")
        return import_module("lab.tasks.laws").TaskCase(f)
    if isinstance(f, (str, type)) or not callable(f):
        f = as_module(f, "f")
    for name, tensor in [*f.named_parameters(), *f.named_buffers()] if isinstance(f, nn.Module) else []:
        if nn.parameter.is_lazy(tensor):
            raise ArgumentError(f"f's {name} has no shape before its first call: call f with an input, then check it")
        if tensor.is_meta:
            raise ArgumentError(f"f's {name} has no numbers (device='meta'): load f on the CPU or a GPU, then check it")
    sizes = None
    if shape is not None:
        sizes = tuple(check_whole("shape", size) for size in check_type("shape", shape, (tuple, list), "(8, 16)"))
    case, hint = Case(f, sizes), "give shape=(batch, channels) of the inputs that it takes" if sizes is None else ""
    x, called = case.x(), f
    with contextlib.suppress(NotAsked):  # what cannot be copied: a law says so
        called = case.copy()
    try:
        with _global_state_restored(), torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = called(x.clone())
    except Exception as error:
        said = f"{type(error).__name__} ({shortened(str(error), 120)})"
        cure = hint or "give another shape"
        raise ArgumentError(f"f fails with {said} for inputs of shape {sizes or SHAPE}; {cure}") from error
    if not isinstance(y, Tensor):
        raise ArgumentError(f"f gives {described(y)}; give a function of a tensor that gives a tensor, as torch.sin")
    if y.shape != x.shape:
        said = f"f gives shape {tuple(y.shape)} for inputs of shape {tuple(x.shape)}"
        raise ArgumentError(f"{said}; give a non-linearity, which keeps the shape: no layer and no gate")
    if not y.is_floating_point():
        raise ArgumentError(f"f gives {y.dtype}; give a function with values of floating point, as torch.sin")
    return case


@contextlib.contextmanager
def _global_state_restored() -> Iterator[None]:
    """Leave the global generators of torch, numpy and Python, and torch's default type, as they were, whatever a
    function does to them. Gradients can be taken inside, also under torch.inference_mode."""
    numbers, state = random.getstate(), np.random.get_state()  # noqa: NPY002  what the function may touch
    dtype = torch.get_default_dtype()
    with torch.random.fork_rng(), torch.inference_mode(False):
        try:
            yield
        finally:
            random.setstate(numbers)
            np.random.set_state(state)  # noqa: NPY002
            torch.set_default_dtype(dtype)


def _name(f: Any) -> str:
    if _is_task(f):
        return f.name
    return shown(f) if isinstance(f, nn.Module) else getattr(f, "__name__", type(f).__name__)
