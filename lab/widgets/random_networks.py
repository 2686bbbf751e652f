"""Networks with random weights, as the page reads them: there they stand with whatever function is shown."""

from __future__ import annotations

from functools import cache
from typing import Any

from torch import nn

from lab.probes.paths import draw
from lab.probes.portrait import POINTS, random_network, square
from lab.widgets.perceptrons import perceptron
from lab.widgets.slices import GREYS

SEEDS, PATHS, SAMPLES = 3, 200, 100  # paths and samples as `probes.total_variation` has by default


@cache
def random_networks() -> dict[str, Any]:
    """Layers of the networks of `probes.portrait`, by seed, and the paths on which their total variation is measured.

    >>> found = random_networks()
    >>> len(found["seeds"]), [layer["outputs"] for layer in found["seeds"][0]], len(found["paths"])
    (3, [64, 64, 64, 1], 200)
    """
    made = [perceptron(random_network(nn.Identity(), seed)) for seed in range(SEEDS)]
    paths, _ = draw(square(POINTS), None, PATHS, SAMPLES, 0)
    ends = [[*start, *end] for start, end in zip(paths.start.tolist(), paths.end.tolist(), strict=True)]
    return {"seeds": [one["layers"] for one in made if one], "paths": ends, "samples": SAMPLES, "greys": list(GREYS)}
