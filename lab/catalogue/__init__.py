"""The catalogue of all papers' figures: what there is, how it is made, what it says of the papers' claims."""
