"""Workload controllers, one class for each kind.

Belongs here: the objects that a workload lacks (all its pods when it is new, pods that a snapshot does not have, the
replacement of an evicted pod), and every fact about a workload kind that other modules need, as attributes of its
controller. A new kind is a struct in `api`, with a row in `api.kinds` and in `api.workload_checks`, and a
controller class here, with a row in `table`. May import the simulator's
API server and admission.
"""

from stowplan.simulator.workloads.reconciler import NotCreated, WorkloadReconciler
from stowplan.simulator.workloads.table import CONTROLLERS, find_template, is_recreated, pod_spec_of

__all__ = ["CONTROLLERS", "NotCreated", "WorkloadReconciler", "find_template", "is_recreated", "pod_spec_of"]
