"""Jobs: what one call trains, a search or a fleet of runs; a file for each kind of it.

Each kind registers itself with `lab.jobs.job.work`, in every process that imports the package: workers, too.
"""

from lab.jobs import episodes, finetuning, runs, two_losses  # noqa: F401
