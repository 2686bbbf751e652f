"""Probes: functions from a model, a function or activations to a frozen dataclass of arrays."""
