"""Functions learned on one table, used on another (Figures 8 and 21)."""
