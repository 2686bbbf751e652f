"""The laws of `lab.check`, asked of the activation functions that other packages have: which hold, and which do not.

    pip install --no-deps torch-activation activations-plus actix alrelu-torch aptx-activation genal-activation
    pip install --no-deps steklov-activations mobius-activations fuzzy-tiling-activation rational-activations timm
    python benchmarks/check_peers.py                       # those that are installed; ten minutes of a core
    python benchmarks/check_peers.py timm torch            # some of them
    python benchmarks/check_peers.py --law "huge numbers"  # one law

A class is made without arguments; what cannot be made so, and what is no function of a tensor that keeps its shape, is
counted and left out. One line a package and law: how many functions it fails for, and the first of them with what was
measured. A failure is no judgement: a law may not matter to a function's users, or be broken by design.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

import pandas as pd
import torch
from torch import nn

import lab

PACKAGES = {  # by the name on the package index: the module whose classes are asked
    "torch": "torch.nn.modules.activation",
    "timm": "timm.layers.activations",
    "transformers": "transformers.activations",
    "torch-activation": "torch_activation",
    "activations-plus": "activations_plus",
    "actix": "actix.activations_torch",
    "alrelu-torch": "alrelu_torch",
    "aptx-activation": "aptx_activation",
    "genal-activation": "genal_activation",
    "steklov-activations": "steklov_activations",
    "mobius-activations": "mobius_activations.torch",
    "fuzzy-tiling-activation": "fta.torch",
    "rational-activations": "rational.torch",
    "deepsplines": "deepsplines.ds_modules",
}


def functions(module: str) -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    """The classes of a package's module, and of modules below it, by name."""
    top = importlib.import_module(module)
    below = pkgutil.walk_packages(getattr(top, "__path__", ()), f"{module}.")
    classes = {}
    for name in [module, *(one.name for one in below)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                members = inspect.getmembers(importlib.import_module(name), inspect.isclass)
            except Exception:  # a part for another framework
                continue
        classes |= {
            key: one
            for key, one in members
            if issubclass(one, nn.Module) and one.__module__.startswith(module.split(".")[0])
        }
    yield from sorted(classes.items())


def check(package: str, law: str = "") -> tuple[pd.DataFrame, int, int]:
    """One row a failure (package, version, function, law, detail); how many functions were asked, and left out."""
    rows, asked, left = [], 0, 0
    for name, make in functions(PACKAGES[package]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                torch.manual_seed(0)
                checked = lab.check(make())
            except Exception:  # it takes arguments, or is no function of one number
                left += 1
                continue
        asked += 1
        for one in checked.outcomes:
            if one.is_failure and law in ("", one.law.name):
                rows.append((package, version(package), name, one.law.name, one.detail))
    return pd.DataFrame(rows, columns=["package", "version", "function", "law", "detail"]), asked, left


def main() -> None:
    """Check the packages that are installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", default=list(PACKAGES), help="as on the package index")
    parser.add_argument("--law", default="", help="one law alone")
    parser.add_argument("--out", help="a CSV file, a row a failure")
    given, tables = parser.parse_args(), []
    print("| package | functions | law that fails | of them | for example |\n|---|---|---|---|---|")
    for package in given.packages:
        try:
            table, asked, left = check(package, given.law)
        except (ImportError, PackageNotFoundError, AttributeError) as error:
            print(f"| {package} | not here: {error} | | | |")
            continue
        tables.append(table)
        print(f"| {package} {version(package)} | {asked} asked, {left} left out | | | |", flush=True)
        for law, rows in sorted(table.groupby("law"), key=lambda group: -len(group[1])):
            first = rows.iloc[0]
            print(f"| | | {law} | {len(rows)} | `{first['function']}`: {first['detail']} |", flush=True)
    if given.out:
        pd.concat(tables).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
