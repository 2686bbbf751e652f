"""One function for several algorithmic tasks at once, against one for each."""
