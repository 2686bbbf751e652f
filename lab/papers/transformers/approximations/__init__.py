"""Learned functions made symmetric, or replaced by polynomials (Figure 12)."""
