"""The Python library: `import stowplan`; a cluster as a value, runs of the scheduler on it, and answers.

`Cluster` is an immutable description of a cluster: `from_files`, `from_objects`, `from_cluster` and `from_snapshot`
read it; `without`, `add_nodes`, `scale` and `apply` return changed copies. `simulate` schedules its pods and returns a
`Run`; `explain`, `why_not` and `what_if` answer questions about it.

Belongs here: these values, their conversion to data frames (`records`) and their display as HTML (`html`).
Does not belong here: what a simulation or an answer computes (`simulator`, `insight`), options and terminal output
(`cli`). `stowplan.cache.Cluster` is the scheduler's cache of one cluster, which this room only uses through the
simulator.
May import: all rooms below `cli`.
"""

from stowplan.library.changes import UnknownObjectError
from stowplan.library.cluster import Cluster
from stowplan.library.records import MissingPackageError, Records
from stowplan.library.run import RecordedAttempt, Run
from stowplan.library.run_diff import RunDiff

__all__ = [
    "Cluster",
    "MissingPackageError",
    "RecordedAttempt",
    "Records",
    "Run",
    "RunDiff",
    "UnknownObjectError",
]
