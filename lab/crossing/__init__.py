"""What crosses the papers: functions of one in the models of others. Papers do not know each other; this knows all."""

# Sections, each with its entries in figures.py
MODULES = ("compatibility", "multitask", "hyla_phi")
