"""Image sets: classification and regression (Sections 3.1 and 3.2)."""
