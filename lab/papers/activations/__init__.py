"""Activations in small language models: GPT-Neo and RoBERTa."""

# Sections, each with its entries in figures.py
MODULES = ("small_models",)
