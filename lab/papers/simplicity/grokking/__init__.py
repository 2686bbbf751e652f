"""Modular operations: how long generalization comes after memorization (Section 3.5)."""
