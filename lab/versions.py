"""Versions of what makes numbers: the lab and its commit, Python, packages, the processor's instruction set."""

import functools
import hashlib
import platform
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.places import CHECKOUT, VERSION

PACKAGES = ("torch", "numpy", "pandas", "plotly")
# The revision of the lab's arithmetic: raise it with each change of code after which a spec trains to other numbers, in
# their last digit only, too, and say below what changed. Keys stay; no figure has runs of two revisions.
# 1: until commit 7b39408a. 2: Adam's fused kernel, averages of weights without copies. On CUDA alone, where no shipped
# function was searched for, knot gradients have been float32 sums since commit f798200e (before, products in TF32).
# 3: of runs of `Perceptron` on tables: a step is one call (`lab.training.perceptron`).
# 4: of searches for their functions by episodes: so are the inner steps.
# 5: of runs of `ModelSpec` on tokens: losses and gradients are one call (`lab.training.blocks`).
# 6: of runs of `HyperModel` on tokens and on vectors, and of `ModelSpec` on vectors: all blocks are two calls.
# A spec alone decides its revision: by default, C takes the steps of specs with one of the last four. A run has it
# also where torch takes them after all: without a compiler, on a GPU, for functions, losses, optimizers and lengths of
# inputs that C lacks. Both ways compute the same and round differently.
ARITHMETIC = 2
UNNOTED = "2"  # the revision of results from before it was noted


class MixedRevisionsError(LabError):
    """Results of two revisions of the lab's arithmetic (`ARITHMETIC`), or of two contents of a data set, are asked for
    together."""


def arithmetic(spec: object) -> str:
    """The revision of the arithmetic by which a spec of this kind trains today, as notes have it.

    >>> from lab.spec import EpisodeSpec, HyperModel, ModelSpec, Perceptron, RunSpec, SearchSpec
    >>> [arithmetic(RunSpec("addmod", model, None, 0)) for model in (ModelSpec(), ModelSpec(gated=True), HyperModel())]
    ['5', '2', '6']
    >>> arithmetic(SearchSpec("addmod", ModelSpec(), None)), arithmetic(EpisodeSpec((), Perceptron(), None, None))
    ('2', '4')
    """
    return str(getattr(spec, "arithmetic", ARITHMETIC))


def check_one_revision(results: Iterable[tuple[Any, Mapping[str, Any] | None]]) -> None:
    """Raise MixedRevisionsError where some of these are of another revision of the lab's arithmetic than the others:
    their numbers are not to be compared. Kinds of models that have a revision of their own are counted apart.

    results: specs, each with the notes of its result; None where it is still to be trained, by today's.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for spec, notes in results:
        today = arithmetic(spec)
        counts[today][today if notes is None else notes.get("arithmetic", UNNOTED)] += 1
    for count in (each for each in counts.values() if len(each) > 1):
        parts = ", ".join(f"{number} of revision {revision}" for revision, number in sorted(count.items()))
        raise MixedRevisionsError(
            f"these runs would be of several revisions of the lab's arithmetic ({parts}), whose numbers are not to "
            "be compared; train all of them again (lab figure NAME --force), or name another store with LAB_STORE"
        )


def versions() -> dict[str, str]:
    """Versions of what makes numbers and drawing: lab (with its commit), Python, torch, numpy, pandas, plotly."""
    result = {"lab": VERSION, "python": platform.python_version()}
    if commit := lab_commit():
        result["lab_commit"] = commit
    return result | {name: version_of(name) for name in PACKAGES}


def lab_commit() -> str | None:
    """The commit of the checkout this lab runs from, "+changes" where tracked files differ; None outside a checkout."""
    if not CHECKOUT or not (CHECKOUT / ".git").exists():
        return None
    root = str(CHECKOUT.resolve())
    git = ["git", "-c", f"safe.directory={root}", "-C", root]
    try:
        head, changed = (
            subprocess.run([*git, *words], capture_output=True, text=True, timeout=10, check=True).stdout.strip()
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no", "--", "lab"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}+changes" if changed else head


@functools.cache
def source_digest() -> str:
    """SHA-256 of the lab's own code, Python and C, by which two machines know that theirs is the same.

    >>> len(source_digest())
    64
    """
    package, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted(path for end in ("py", "c", "h") for path in package.rglob(f"*.{end}")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@functools.cache
def trained_with() -> dict[str, str]:
    """What the notes of a run say of its origin: the lab's commit when this process began and the revision of its
    arithmetic, torch, and the instruction set that torch uses on this processor ("AVX512", "AVX2", "DEFAULT", …). Asked
    once a process: its code stays the same.

    >>> sorted(trained_with())
    ['arithmetic', 'commit', 'instructions', 'torch']
    """
    import torch

    return {
        "arithmetic": str(ARITHMETIC),
        "commit": lab_commit() or "unknown",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": str(torch.__version__),
    }


def version_of(package: str) -> str:
    """The version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
