"""Learned non-linearities and simplicity bias: images, tables, shortcuts, modular operations."""
