"""The store: finished runs and searches on disk, each a folder named by the key of its spec.

| folder | what lies in it |
|---|---|
| `runs/`, `searches/` | a folder for each result: `spec.json`, `history.npz`, `weights.safetensors`, `done.json` |
| `checkpoints/` | the state of each fleet in training, a file |
| `courses/` | a file for each result of which checkpoints were asked for: what was learned by some of its steps |
| `leases/` | which process trains what, while it does |
| `forced/` | what `--force` has forgotten and is not trained again yet |

`done.json` is written last, with the digest of each of the other files. Folders are written under a temporary name on
the same file system and renamed in: nothing half-written ever looks finished, and several processes may share a store.
A key is of a spec, not of its numbers: these depend on the processor and on the lab's arithmetic, too, whose revision
(`lab.versions.ARITHMETIC`) and whose rounding here (`lab.jobs.job.numerics`) the notes in `done.json` have.
Whatever else lies in these folders is foreign: it is reported, and never changed.
"""

from lab.store.results import DamagedError
from lab.store.store import Spec, Store, as_store
from lab.versions import UNNOTED, MixedRevisionsError

__all__ = ["UNNOTED", "DamagedError", "MixedRevisionsError", "Spec", "Store", "as_store"]
