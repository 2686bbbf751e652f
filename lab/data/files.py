"""Tables and arrays in files, as they are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.errors import ArgumentError, LabError, check_path, listed, shortened, shown

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".parquet", ".npz")


def frame(source: str | Path | pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The table in a CSV, TSV or Parquet file, and how it was read where that is a guess. LabError where it cannot be.
    A data frame stays what it is; its columns get words as names.

    A CSV file may have semicolons between its columns and decimal commas, as spreadsheets write it in some countries.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source.set_axis([str(column) for column in source.columns], axis=1), []
    path = check_path("source", source)
    kind = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".zip") else path.suffix
    readers = {
        ".csv": _comma_separated,
        ".tsv": lambda p: (pd.read_csv(p, sep="\t"), []),
        ".parquet": lambda p: (pd.read_parquet(p), []),
    }
    reader = next((reader for end, reader in readers.items() if kind.lower().startswith(end)), None)
    if reader is None:
        raise ArgumentError(f"source={shown(str(path))}: give a file that ends in {', '.join(KINDS)}")
    try:
        return reader(path)
    except FileNotFoundError as error:
        raise LabError(f"there is no file {path}; give the path of a table") from error
    except (OSError, ValueError, UnicodeDecodeError) as error:  # pandas' parser errors are ValueErrors
        raise LabError(f"{path} cannot be read ({shortened(str(error))}); give a whole {path.suffix} file") from error


def _comma_separated(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """A CSV file, by commas or, where its first line has more semicolons than commas, by these."""
    import pandas as pd

    first = ",".join(map(str, pd.read_csv(path, nrows=0).columns))
    if first.count(";") <= first.count(","):
        return pd.read_csv(path), []
    tables = {decimal: pd.read_csv(path, sep=";", decimal=decimal) for decimal in ".,"}
    decimal = max(tables, key=lambda sign: tables[sign].select_dtypes("number").shape[1])
    said = ", decimal commas" if decimal == "," else ""
    return tables[decimal], [f"columns are separated by semicolons{said}"]


def arrays(
    path: str | Path, target: str, drop: Sequence[str] = (), groups: str | None = None
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Inputs, target and groups of an .npz file; inputs are the one array that is left, or several by name."""
    try:
        with np.load(check_path("source", path), allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise LabError(f"there is no file {path}; give the path of an .npz") from error
    except (OSError, ValueError) as error:
        raise LabError(f"{path} cannot be read ({shortened(str(error))}); give what numpy.savez wrote") from error
    for name in (target, *drop, *([] if groups is None else [groups])):
        if name not in held:
            raise ArgumentError(f"there is no array {shown(name)} in {path}; there are {listed(list(held), name)}")
    inputs = {name: array for name, array in held.items() if name not in (target, groups, *drop)}
    if not inputs:
        raise ArgumentError(f"{path} has no array of inputs beside {listed(list(held))}; give one that has")
    X = next(iter(inputs.values())) if len(inputs) == 1 else inputs
    return X, held[target], None if groups is None else held[groups]
