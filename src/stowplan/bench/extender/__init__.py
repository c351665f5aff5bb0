"""Benchmarks of extenders: Stowplan's and a plain one in Go, with the same requests from the same client.

Belongs here: requests as kube-scheduler writes them, the two extenders as processes, the timing client, and the
comparison of replies. Does not belong here: code paths that only a benchmark uses, and printing of results (`cli`).
"""

from stowplan.bench.extender.report import ExtenderReport
from stowplan.bench.extender.runner import ExtenderRunner
from stowplan.bench.extender.workload import NAMES, WORKLOADS, ExtenderWorkload

__all__ = ["NAMES", "WORKLOADS", "ExtenderReport", "ExtenderRunner", "ExtenderWorkload"]
