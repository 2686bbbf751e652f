"""Functions that were learned in one paper's setting, inside the models of the others."""
