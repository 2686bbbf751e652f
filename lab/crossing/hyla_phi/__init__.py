"""A function learned as HYLA's φ, by two losses."""
