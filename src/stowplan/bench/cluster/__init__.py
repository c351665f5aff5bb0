"""Measuring schedulers on a real control plane, one after the other in one run.

Belongs here: workloads as YAML data, how their objects get into an API server and out again, the schedulers as
processes, the watch that counts bound pods, and what is made of the figures. Does not belong here: anything that a
scheduler does, and how results are printed (`cli` does).
May import: what `bench` may, and `cluster` and `testing`.
"""

from stowplan.bench.cluster.report import ClusterReport
from stowplan.bench.cluster.runner import ClusterRunner
from stowplan.bench.cluster.workload import NAMES, PEERS, load_workload

__all__ = ["NAMES", "PEERS", "ClusterReport", "ClusterRunner", "load_workload"]
