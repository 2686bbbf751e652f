"""Scalar functions φ: ℝ→ℝ used inside a network: splines and their kernels, named functions, the zoo."""
