"""How complexity is measured: total variation and Fourier complexity (App. F)."""
