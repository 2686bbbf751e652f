"""SRAVEN with more layers."""
