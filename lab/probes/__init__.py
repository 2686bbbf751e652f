"""Probes: functions from a model, a function or activations to a frozen dataclass of arrays."""

from lab.probes.complexity import fourier_complexity, total_variation
from lab.probes.slices import slice_1d, slice_2d

__all__ = ["fourier_complexity", "slice_1d", "slice_2d", "total_variation"]
