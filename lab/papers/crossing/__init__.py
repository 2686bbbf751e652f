"""What crosses the papers: functions of one in the models of others. Papers do not know each other; this knows all."""

# Names of the entries, in their order
FIGURES = "compatibility multitask hyla_phi league connectivity grokking"

# Modules with the entries of a section or more
MODULES = ("compatibility", "multitask", "hyla_phi", "league", "connectivity", "grokking")
