"""Tables of the modular operations."""
