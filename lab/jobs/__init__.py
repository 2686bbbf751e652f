"""Jobs: what one call trains, a search or a fleet of runs, by a table of trainers."""

from lab.jobs import trainers  # noqa: F401  it fills the table, in every process that imports the package
