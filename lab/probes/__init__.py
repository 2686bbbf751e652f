"""Probes: functions from a model, a function or activations to a frozen dataclass of arrays."""

from lab.probes.codes import codes_by_layer, latent_codes
from lab.probes.decoding import decode
from lab.probes.embedding import embed
from lab.probes.similarity import code_similarity

__all__ = ["code_similarity", "codes_by_layer", "decode", "embed", "latent_codes"]
