"""The lab: learn non-linearities, train with them, look at what they do."""
