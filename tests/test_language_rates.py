"""Rates of the language models come from a table that a command makes (benchmarks/language_rates.py)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import language_rates

    yield language_rates
    for name in ("language_rates", "report"):
        sys.modules.pop(name, None)


def test_a_rate_is_chosen_on_val_with_seeds_that_no_figure_reports(benchmark):
    for base, method in benchmark.rows("laptop"):
        found = benchmark.plan(base, method)
        runs = [run for each in found.values() for run in each]
        assert all(run.tuning and run.seed >= 50 for run in runs)
        assert {run.recipe.rate for run in runs} == set(found) and base.recipe.rate in found
        assert len({run.model for run in runs}) == 1


def test_figures_have_the_best_rate_of_the_table(benchmark):
    text = (ROOT / "benchmarks" / "README.md").read_text()
    table = text.partition("<!-- table of benchmarks/language_rates.py -->")[2].partition("<!-- end")[0]
    heads, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "|" in line]
    own = [row for row in rows if row[2] == "GELU"]
    known = [base for base, method in benchmark.rows("laptop") if benchmark.METHODS[method] == "GELU"]
    assert [row[1] for row in own] == [str(base.model.layers) for base in known]
    for row, base in zip(own, known, strict=True):
        best = next(head for head, cell in zip(heads, row, strict=True) if cell.startswith("**"))
        assert float(best) == float(row[-1]) == base.recipe.rate
