"""SRAVEN with other numbers of heads and features, and other held-out shares."""
