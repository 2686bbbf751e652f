"""How many problems and tasks SRAVEN has, and how many are ambiguous."""
