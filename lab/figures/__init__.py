"""The catalogue of figures: what each needs, how it is measured, how it is drawn."""
