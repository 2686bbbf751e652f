"""Training of the user's own torch modules: several seeds side by side, with functions in the place of activations."""

from lab.training.modules import fleet, side_by_side  # noqa: F401  each registers its kinds
