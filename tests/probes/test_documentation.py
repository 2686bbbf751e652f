"""The examples in the documentation of probes, run."""

import doctest
import importlib
import pkgutil

import pytest

import lab.probes

MODULES = [module.name for module in pkgutil.iter_modules(lab.probes.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_documentation(name):
    doctest.testmod(importlib.import_module(f"lab.probes.{name}"), raise_on_error=True)
