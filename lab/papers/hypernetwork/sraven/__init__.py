"""SRAVEN: accuracy with the number of problems, and latent codes."""
