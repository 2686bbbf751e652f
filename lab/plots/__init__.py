"""Drawing that belongs to no paper."""
