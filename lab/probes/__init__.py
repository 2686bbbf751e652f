"""Probes: functions from a model, a function or activations to a frozen dataclass of arrays.

A model is read as in evaluation mode, also inside a function that calls it, and left as it was (`reading`).
"""

from lab.probes.calling import alignment, function_of, slice_1d, slice_2d
from lab.probes.codes import codes_by_layer, latent_codes
from lab.probes.complexity import Frequency, Variation, fourier_complexity, total_variation
from lab.probes.connectivity import connectivity
from lab.probes.cost import cost, listings
from lab.probes.decoding import contrast, decode
from lab.probes.embedding import code_similarity, embed
from lab.probes.landscape import landscape
from lab.probes.language import continuation, token_losses
from lab.probes.loss import Loss
from lab.probes.spectrum import spectrum

__all__ = [
    "Frequency",
    "Loss",
    "Variation",
    "alignment",
    "code_similarity",
    "codes_by_layer",
    "connectivity",
    "continuation",
    "contrast",
    "cost",
    "decode",
    "embed",
    "fourier_complexity",
    "function_of",
    "landscape",
    "latent_codes",
    "listings",
    "slice_1d",
    "slice_2d",
    "spectrum",
    "token_losses",
    "total_variation",
]
