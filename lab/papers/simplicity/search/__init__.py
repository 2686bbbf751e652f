"""What searches find with other settings (App. D and E.3)."""
