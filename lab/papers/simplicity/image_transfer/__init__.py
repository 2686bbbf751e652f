"""Functions learned on one image set, used on another."""
