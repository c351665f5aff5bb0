"""Kubernetes' own benchmark, test/integration/scheduler_perf, with schedulers as processes on a real control plane.

Belongs here: reading the suite's `performance-config.yaml` files and templates as they are, its operations, its
definition of throughput, and reports. Does not belong here: workloads of our own (`bench.cluster`), and printing of
results (`cli`). May import: the rooms that `bench` may import, `bench.cluster` and `testing`.
"""

from stowplan.bench.scheduler_perf.report import PerfReport, PerfTurn
from stowplan.bench.scheduler_perf.runner import PerfRunner
from stowplan.bench.scheduler_perf.suite import PerfWorkload, load_suite

__all__ = ["PerfReport", "PerfRunner", "PerfTurn", "PerfWorkload", "load_suite"]
