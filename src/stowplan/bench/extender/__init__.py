"""Measuring extenders: ours beside a plain one in Go, asked the same by the same client.

Belongs here: requests as kube-scheduler writes them, the two extenders, the client with its clock, and the comparison
of their answers. Does not belong here: any way to answer that only a benchmark takes, and how results are printed.
"""

from stowplan.bench.extender.report import ExtenderReport
from stowplan.bench.extender.runner import ExtenderRunner
from stowplan.bench.extender.workload import NAMES, WORKLOADS, ExtenderWorkload

__all__ = ["NAMES", "WORKLOADS", "ExtenderReport", "ExtenderRunner", "ExtenderWorkload"]
