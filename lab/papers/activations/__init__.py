"""Activations in small language models: GPT-Neo and RoBERTa."""

# Names of the entries, in their order
FIGURES = "fig_functions table1"

# Modules with the entries of a section or more
MODULES = ("functions", "small_models")
