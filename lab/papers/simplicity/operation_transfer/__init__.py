"""Functions learned on one operation, used on another."""
