"""Benchmarks of decisions, schedulers and extenders.

Belongs here: scenarios as YAML data, their objects, the timed loop, the comparison of cached decisions with decisions
made without caches, the openb experiments (`bench.openb`), and results. Decisions are made in process, through the
entry points that a live scheduler calls; schedulers run as processes on a real control plane (`bench.cluster`), and
extenders as processes (`bench.extender`). Does not belong here: code paths that only a benchmark uses, and printing of
results (`cli`).
May import all rooms below it. Only `cli` imports this room.
"""

from stowplan.bench.machine import calibrate
from stowplan.bench.result import Result
from stowplan.bench.runner import Runner
from stowplan.bench.scenario import NAMES, Scenario, load_scenario

__all__ = ["NAMES", "Result", "Runner", "Scenario", "calibrate", "load_scenario"]
