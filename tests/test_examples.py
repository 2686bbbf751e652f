"""The examples in the documentation of every module, run."""

import doctest
import importlib
import pkgutil

import pytest

import lab

MODULES = ["lab"] + [module.name for module in pkgutil.walk_packages(lab.__path__, "lab.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_documentation(name, store_folder):
    assert not doctest.testmod(importlib.import_module(name)).failed


def test_most_modules_have_examples():
    """So that a walk that finds nothing fails."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    shown = [name for name in MODULES if any(test.examples for test in finder.find(importlib.import_module(name)))]
    assert len(shown) > 100
