"""Search and comparison with data and a model of one's own."""
