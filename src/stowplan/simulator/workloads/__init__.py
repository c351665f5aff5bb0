"""Workloads: what their controllers make of them, one module a kind.

`MAKERS` is the table of kinds. A maker says what an object of its kind lacks, be it all its pods when it is new, those
that a snapshot of a cluster does not have yet, or one that was evicted.
"""

from stowplan.simulator.workloads.reconciler import WorkloadReconciler
from stowplan.simulator.workloads.table import MAKERS

__all__ = ["MAKERS", "WorkloadReconciler"]
