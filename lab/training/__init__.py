"""Training: the loop of a fleet, its schedule and batches, and the searches for non-linearities."""
