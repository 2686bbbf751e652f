"""Activations in small language models: GPT-Neo and RoBERTa."""

# Modules with the entries of a section or more
MODULES = ("functions", "small_models")
