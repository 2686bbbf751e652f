"""Models whose every parameter has the run axis R first. R runs, B batch, T tokens, C channels, V vocabulary."""
