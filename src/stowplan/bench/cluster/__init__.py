"""Benchmarks of schedulers on a real control plane, one after the other in one run.

Belongs here: workloads as YAML data, creating and deleting their objects, the schedulers as processes, the watch that
counts bound pods, and reports. Does not belong here: scheduling itself, and printing of results (`cli`).
May import: the rooms that `bench` may import, `cluster` and `testing`.
"""

from stowplan.bench.cluster.report import ClusterReport
from stowplan.bench.cluster.runner import ClusterRunner
from stowplan.bench.cluster.workload import NAMES, PEERS, VISITED, load_workload

__all__ = ["NAMES", "PEERS", "VISITED", "ClusterReport", "ClusterRunner", "load_workload"]
