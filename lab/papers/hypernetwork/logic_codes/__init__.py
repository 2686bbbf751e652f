"""Latent codes of models that learned fuzzy logic."""
