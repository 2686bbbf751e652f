"""Models whose every parameter has the run axis R first. Axis names: R runs, B batch, T tokens, C channels, V vocabulary."""
