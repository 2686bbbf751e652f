"""Language modelling with softmax, linear attention and HYLA (hypernetwork paper, Section 5)."""
