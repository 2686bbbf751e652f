"""What crosses the papers."""
