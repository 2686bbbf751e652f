"""Training on more machines: the scheduler and the workers are Dask's (`dask.distributed`).

A `distributed.Client` is all that is taken, so whatever makes one will do: `dask-jobqueue`, `dask-kubernetes`, a
scheduler that runs somewhere. A search or a fleet of runs is one task, and Dask knows which waits for which. Results
go through the store, which every worker must see; nothing but specs and progress travels through Dask.
"""

from lab.cluster.connection import connected
from lab.cluster.dispatch import in_cluster
from lab.cluster.workers import Members

__all__ = ["Members", "connected", "in_cluster"]
