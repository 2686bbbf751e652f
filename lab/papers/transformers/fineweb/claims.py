"""What the transformers paper claims of larger language models (Tables 6 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.estimates import Estimate
from lab.papers.claims import Claim, Verdict, absent, all_of, text_in_place_of
from lab.papers.runs import compare_one
from lab.papers.transformers.fineweb.settings import DEGREE, GELU, POLYNOMIAL, RELU, SPLINE, TEXTS

if TYPE_CHECKING:
    import pandas as pd

NATS, COVERS = "nats", "seeds, of one search"
DECIDES = "FineWeb and the paper's models; a GPU"
FEW = 4  # layers from which on the paper finds its function better


on_fineweb = text_in_place_of("FineWeb", [TEXTS["paper"].name])


def losses(rows: pd.DataFrame, by: str = "method") -> dict[str, list[float]]:
    """Of runs that did not diverge, by method."""
    alive = rows[~rows["diverged"].astype(bool)]
    return {str(kind): group["loss"].astype(float).tolist() for kind, group in alive.groupby(by, sort=False)}


def difference(rows: pd.DataFrame, one: str, other: str, case: str = "", **claimed) -> Verdict:
    """Loss with one function minus that with another."""
    known = losses(rows)
    if not {one, other} <= set(known):
        return absent("it is not trained here", case=case, unit=NATS, **claimed)
    return Verdict(compare_one(known, one, other, COVERS), unit=NATS, case=case, **claimed)


def _better_in_deep_models(table: pd.DataFrame) -> Verdict:
    return all_of(
        difference(rows, SPLINE, RELU, f"{layers} layers", below=0.0)
        for layers, rows in table[table["layers"] >= FEW].groupby("layers")
    )


def _polynomial_is_as_good(table: pd.DataFrame) -> Verdict:
    """Within 1 % of a loss of 4 nats."""
    return all_of(
        difference(rows, POLYNOMIAL, SPLINE, f"{layers} layers", above=-0.04, below=0.04)
        for layers, rows in table.groupby("layers")
    )


def _ratio(table: pd.DataFrame, method: str, base: str, **claimed) -> Verdict:
    """Time of a step of the deepest models, by rounds in which both were timed."""
    alive = table[~table["diverged"].astype(bool)]
    rows = alive[alive["layers"] == alive["layers"].max()]
    known = rows.groupby("method")["ratio"].first()
    if not {method, base} <= set(known.dropna().index):
        return absent("steps are not timed here", unit="×", **claimed)
    spread = rows.groupby("method")["ratio_spread"].first()
    middle = known[method] / known[base]
    # Of seven normal values, the 95 % interval of the median is 1.7 times half of the range between quartiles.
    half = 2 * float(max(spread[method], spread[base]))
    ends = float(middle) - half, float(middle) + half
    estimate = Estimate(float(middle), lambda level: ends, 1, "machines", "rounds on one machine")
    return Verdict(estimate, unit="×", case=f"{rows['layers'].iloc[0]} layers", **claimed)


def _polynomial_is_fast(table: pd.DataFrame) -> Verdict:
    return _ratio(table, POLYNOMIAL, RELU, below=1.1)


def _spline_is_slow(table: pd.DataFrame) -> Verdict:
    return _ratio(table, SPLINE, GELU, above=1.5)


def on_gpu(table: pd.DataFrame, scale: str) -> str:
    """Steps that were timed on a GPU."""
    machine = str(table["machine"].iloc[0])
    smaller = "" if scale == "paper" else ", and smaller models"
    return "" if machine.startswith("cuda") else f"a CPU{smaller} in place of a GPU"


TABLE6 = (
    Claim(
        "deep",
        "The learned function is better than ReLU from 4 layers on",
        _better_in_deep_models,
        decides=DECIDES,
        stands_in=on_fineweb,
    ),
    Claim(
        "polynomial",
        "The polynomial performs about as well as the spline",
        _polynomial_is_as_good,
        decides=DECIDES,
        stands_in=on_fineweb,
    ),
    Claim(
        "slow",
        "The exact spline becomes much slower than GELU in larger models",
        _spline_is_slow,
        decides="a GPU",
        stands_in=on_gpu,
    ),
    Claim(
        "fast",
        "The polynomial is as fast as ReLU in larger models (a step takes less than a tenth longer)",
        _polynomial_is_fast,
        decides="a GPU",
        stands_in=on_gpu,
    ),
)


def _by_degree(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["method"] == POLYNOMIAL]


def _closer_with_degree(table: pd.DataFrame) -> Verdict:
    """Loss of the lowest degree minus that of the highest."""
    known = losses(_by_degree(table), "degree")
    degrees = sorted(map(int, known))
    if len(degrees) < 2:
        return absent("one degree is trained here", above=0.0, unit=NATS)
    estimate = compare_one(known, str(degrees[0]), str(degrees[-1]), COVERS)
    return Verdict(estimate, above=0.0, unit=NATS, case=f"degree {degrees[0]} against {degrees[-1]}")


def _spline_is_best(table: pd.DataFrame) -> Verdict:
    return difference(table[table["degree"].isin((0, DEGREE))], SPLINE, RELU, below=0.0)


TABLE7 = (
    Claim(
        "degree",
        "Polynomials are increasingly effective as the degree increases, in the FineWeb model",
        _closer_with_degree,
        decides=DECIDES,
        stands_in=on_fineweb,
    ),
    Claim(
        "relu",
        "The spline is slightly better than ReLU",
        _spline_is_best,
        decides=DECIDES,
        stands_in=on_fineweb,
    ),
)
