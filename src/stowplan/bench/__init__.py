"""Measuring how fast decisions are made, and how fast schedulers and extenders are.

Belongs here: scenarios as YAML data, the objects they are made of, the timed loop, the check that kept answers are the
right ones, and the record of a result. Decisions are made in process, on the entry points that a live scheduler calls;
schedulers run as processes on a real control plane, in `bench.cluster`, and extenders as processes by themselves, in
`bench.extender`.
Does not belong here: any way to decide that only a benchmark takes, and how results are printed (`cli` does).
May import: `engine`, `extender`, `cluster`, `runtime`, `plugins`, `queue`, `cache`, `config`, `framework`, `testing`,
`api`. Only `cli` imports this room.
"""

from stowplan.bench.machine import calibrate
from stowplan.bench.result import Result
from stowplan.bench.runner import Runner
from stowplan.bench.scenario import NAMES, Scenario, load_scenario

__all__ = ["NAMES", "Result", "Runner", "Scenario", "calibrate", "load_scenario"]
