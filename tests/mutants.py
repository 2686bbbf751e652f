"""Mutation: which changes of a line no test notices. `python -m tests.mutants estimates --count 60`.

A mutant is the module with one operator, number, condition or statement of a function changed. The fast tests of the
module that run through the changed line are run on it, in a fork of a process that has imported everything, with the
function's code replaced; a mutant is killed where one of them fails or takes too long. What survives is printed: it
needs a test, or is the same function, which EQUIVALENT says with the reason.
"""

import argparse
import ast
import contextlib
import copy
import gc
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).parents[1]
SLOWEST, PATIENCE = 2.0, 20.0  # seconds of a test on its own; of all tests of a mutant
MODULES = {  # by name: files, and the tests that are fast
    "spline": (
        "lab/nonlinearity/spline.py",
        "tests/nonlinearity/test_spline.py tests/nonlinearity/test_shape.py tests/nonlinearity/test_scaled.py"
        " tests/nonlinearity/test_symmetry.py tests/nonlinearity/test_channels.py",
    ),
    "op": (
        "lab/nonlinearity/op.py",
        "tests/nonlinearity/test_op.py tests/nonlinearity/test_spline.py tests/nonlinearity/test_channels.py",
    ),
    "estimates": ("lab/estimates.py", "tests/test_estimates.py tests/papers/test_rows.py"),
    "claims": ("lab/papers/claims.py", "tests/papers/test_agreement.py tests/papers/test_claims.py"),
    "store": (
        "lab/store/store.py lab/store/results.py lab/store/contents.py lab/store/leases.py lab/store/checkpoints.py",
        "tests/test_store.py tests/test_leases.py tests/test_checkpoints.py tests/test_revisions.py"
        " tests/test_buckets.py tests/store/test_objects.py tests/store/test_power.py",
    ),
}
OTHER = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div},
    **{ast.Pow: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
OP, CLAIMS = "lab/nonlinearity/op.py:", "lab/papers/claims.py:"
EQUIVALENT = {  # by "file:function: old → new": why nothing can tell it apart
    f"{CLAIMS}spearman: len(a) > 1 → len(a) >= 1": "the ranks of one value do not vary, which gives NaN, too",
    f"{CLAIMS}_spearman: 1 → 2": "equal ranks are equal numbers, and give 1 without rounding",
    f"{CLAIMS}_resampled: 1 → 2": "a hole is below 0, as it was",
    f"{OP}_install: 0 → 1": "what stands for a gradient that nobody asked for is dropped, whatever its size",
    f"{OP}is_plain: return torch._C._len_torch_dispatch_stack() == 0 and all((type(t) in (Tensor, Parameter) for t in "
    "tensors)) → return None": "the long way to a kernel gives the same numbers, later",
    f"{OP}is_plain: type(t) in (Tensor, Parameter) → type(t) not in (Tensor, Parameter)": "the same",
    f"{OP}is_for_native: types <= {{torch.float32, torch.float64}} → types < {{torch.float32, torch.float64}}": "there "
    "is one",
    "lab/store/store.py:drop_checkpoints_of_stored: all → any": "what is removed is asked again, as a whole",
    "lab/store/checkpoints.py:is_state: 41 → 42": "the last byte is not looked at",
    "lab/nonlinearity/spline.py:smoothed: 8 → 9": "scipy's filter has no neighbours below an eighth of a knot",
    "lab/estimates.py:_difference: 1.0 → 2.0": "the values are equal, and the error is 0 at any degrees of freedom",
}


def changes(tree):
    """Each change of a function in a module, as its function's name, its line, the old node, and what makes it new."""
    annotations = {id(part) for node in ast.walk(tree) for part in _not_run(node)}
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            body = function.body if isinstance(function.body, list) else [function.body]
            for statement in body:
                for node in ast.walk(statement):
                    if id(node) not in annotations:
                        annotations.add(id(node))  # of a function inside another: once
                        for new in _others(node):
                            yield getattr(function, "name", "lambda"), node, new


def _not_run(node):
    """What says nothing of results: annotations, texts of errors, docstrings."""
    parts = []
    if isinstance(node, (ast.FunctionDef, ast.AnnAssign, ast.arg)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", [])
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        parts = node.exc.args
    elif isinstance(node, ast.JoinedStr):
        parts = node.values
    for part in filter(None, parts):
        yield from ast.walk(part)


def _others(node):
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        yield {"ops": [OTHER[type(node.ops[0])](), *node.ops[1:]]}
    elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OTHER:
        yield {"op": OTHER[type(node.op)]()}
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield {"value": not node.value if isinstance(node.value, bool) else node.value + 1}
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield {"id": NAMES[node.id]}
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield {"test": ast.UnaryOp(ast.Not(), node.test)}
    elif isinstance(node, ast.Return) and not isinstance(node.value, (ast.Constant, type(None))):
        yield {"value": ast.Constant(None)}
    elif isinstance(node, (ast.Raise, ast.AugAssign)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()
    elif isinstance(node, ast.Break):
        yield ast.Continue()


def mutant(source, number):
    """The module with its change of this number: the tree, the function, the line, and old and new in words."""
    tree = ast.parse(source)
    name, node, new = list(changes(tree))[number]
    old = ast.unparse(node).partition("\n")[0]
    if isinstance(new, dict):
        for field, value in new.items():
            setattr(node, field, value)
        said = ast.unparse(node).partition("\n")[0]
    else:
        new, said = ast.copy_location(new, node), ast.unparse(new)
        for parent in ast.walk(tree):
            for field, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, field, new)
                elif isinstance(value, list) and any(one is node for one in value):
                    value[next(at for at, one in enumerate(value) if one is node)] = new
    ast.fix_missing_locations(tree)
    return tree, name, (node.lineno, node.end_lineno), f"{old} → {said}"


def codes(code):
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from codes(part)


def install(path, tree):
    """Give all functions of a module the code that they have in this tree; how many have another one now."""
    new, count = {}, 0
    for code in codes(compile(tree, str(path), "exec")):
        new.setdefault((code.co_qualname, code.co_firstlineno), code)
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == str(path):
            code = new.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if code is not None and code != one.__code__:
                if code.co_freevars != one.__code__.co_freevars:
                    return 0  # Python refuses it
                one.__code__, count = code, count + 1
    return count


@contextlib.contextmanager
def traced(files, lines):
    """Adds the lines of some files that are run in the block."""

    def of_call(frame, event, _):
        return of_line if frame.f_code.co_filename in files else None

    def of_line(frame, event, _):
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return of_line

    sys.settrace(of_call)
    threading.settrace(of_call)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)


class Recorder:
    """Which lines of some files each test runs, how long it takes, and whether it passes."""

    def __init__(self, files=()):
        self.files, self.tests, self.failed = set(map(str, files)), {}, []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        lines, start = set(), time.process_time()
        with traced(self.files, lines) if self.files else contextlib.nullcontext():
            answer = yield
        self.tests[item.nodeid] = [time.process_time() - start, sorted(lines)]
        return answer

    def pytest_runtest_logreport(self, report):
        self.failed += [report.nodeid] * report.failed


def forked(deed, seconds):
    """What a deed gives in a fork of this process, as JSON says it; None where it takes longer."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.setpgid(0, 0)
        with contextlib.suppress(BaseException), open(os.devnull, "w") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            answer = json.dumps(deed()).encode()
            with os.fdopen(writing, "wb") as file:
                file.write(answer)
        os._exit(0)
    os.close(writing)
    end, answer = time.monotonic() + seconds, b""
    os.set_blocking(reading, False)
    while time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            piece = os.read(reading, 1 << 20)
            if not piece:
                break
            answer += piece
            continue
        time.sleep(0.02)
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(reading)
    return json.loads(answer) if answer else None


def run(tests, recorder, *more):
    options = [*more, "-q", "-p", "no:cacheprovider", "-n0", "--doctest-modules"]
    return int(pytest.main([*options, *tests], plugins=[recorder]))


def imported(names):
    """Import these modules and their tests: the lines that run at import, and never again."""
    files, tests = (sorted({one for name in names for one in MODULES[name][part].split()}) for part in (0, 1))
    lines = set()
    with traced({str(ROOT / file) for file in files}, lines):
        pytest.main(["-qq", "--collect-only", "-p", "no:cacheprovider", "-n0", *tests])
    return lines


def score(name, count, seed, at_import):
    """The share of mutants of a module that are killed, and lines on those that are not."""
    sources, tests = (value.split() for value in MODULES[name])
    files = [ROOT / file for file in sources]

    def baseline():
        recorder = Recorder(files)
        run([*tests, *sources], recorder)
        return {test: recorder.tests[test] for test in recorder.tests if test not in recorder.failed}, recorder.failed

    known, failed = forked(baseline, 3600) or ({}, [])
    for test in failed:
        print(f"  fails without a change, and is left out: {test}")
    if not known:
        raise SystemExit(f"the tests of {name} did not end")
    fast = {
        test: (seconds, {tuple(line) for line in lines})
        for test, (seconds, lines) in known.items()
        if seconds < SLOWEST
    }
    print(f"{name}: {len(fast)} of {len(known)} tests, {sum(s for s, _ in fast.values()):.0f} s", flush=True)
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    every = [(file, number) for file in files for number in range(len(list(changes(ast.parse(texts[file])))))]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    killed, late, equivalent, survivors, checked = 0, 0, 0, [], False
    for file, number in sorted(chosen):
        tree, function, (line, last), words = mutant(texts[file], number)
        there = {(str(file), one) for one in range(line, last + 1)}
        through = sorted((s, test) for test, (s, lines) in fast.items() if there & lines)
        label = f"{file.relative_to(ROOT)}:{function}: {words}"
        if label in EQUIVALENT:
            equivalent += 1
            continue
        if not through and there & at_import:
            continue  # the function has been called, and is not called again

        def deed(tree=tree, file=file, through=through):
            if not install(file, copy.deepcopy(tree)):
                return "not tried"
            return run([test for _, test in through], Recorder(), "-x")

        if not checked and through:  # the tests pass on the module as it is
            checked = True
            plain = forked(lambda through=through: run([test for _, test in through], Recorder(), "-x"), 600)
            assert plain == 0, f"{name}: tests fail without a change: {plain}"
        answer = forked(deed, PATIENCE + 20 * sum(s for s, _ in through)) if through else 0
        if answer == "not tried":
            continue  # of a function that calls super, or is the same to Python
        if answer == 0:
            survivors.append(f"{label} (line {line}, {len(through)} tests)")
            print(f"  survives: {survivors[-1]}", flush=True)
        else:
            killed, late = killed + 1, late + (answer is None)
    total = killed + len(survivors)
    print(
        f"{name}: {killed} of {total} mutants are killed, {100 * killed / max(total, 1):.0f} % ({late} did not end); ",
        end="",
    )
    print(f"{equivalent} more are the same function; {len(every)} could be made", flush=True)
    return killed, total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = given.modules or list(MODULES)
    at_import = imported(names)
    for name in names:
        score(name, given.count, given.seed, at_import)


if __name__ == "__main__":
    main()
