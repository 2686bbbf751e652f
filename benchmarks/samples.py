"""Samples: random parts of the original sets, small enough to ship. `python -m benchmarks.samples` makes them again.

`lab.data.convert` says which rows they have. Tables that are small and free enough are shipped whole. Licences and
sources stand in `data/samples/README.md`.
"""

from __future__ import annotations

from lab.data import cache, convert, datasets
from lab.places import SAMPLES

TEXTS = ("shakespeare", "moby_dick", "gpt2_merges")
SHIPPED = ("mnist_sample", "fashion_mnist_sample", "covertype_sample", "bank-marketing", "MagicTelescope", *TEXTS)


def main() -> None:
    """Fetch the originals, write the samples, print their digests."""
    for name in SHIPPED:
        known = datasets.entry(name)
        arrays = datasets.fetch(known.sample_of or name).arrays
        arrays = convert.sample(name, arrays) if known.sample_of else arrays
        cache.write(SAMPLES / f"{name}.npz", arrays, small=name in TEXTS)
        print(name, convert.digest(arrays))


if __name__ == "__main__":
    main()
