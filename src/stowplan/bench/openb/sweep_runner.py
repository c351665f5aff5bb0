"""openb experiments as runs of a sweep: `runner: stowplan.bench.openb.sweep_runner:run_openb`."""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.bench.openb.experiment import OpenbExperiment, run_experiment
from stowplan.errors import InputError

_ALLOCATION_LOADS, _FRAGMENTATION_LOADS = (60, 90, 100, 130), (20, 60, 90, 130)


def run_openb(parameters: dict[str, Any]) -> dict[str, float]:
    """Run the experiment with these fields; returns points of both curves."""
    try:
        experiment = msgspec.convert(parameters, OpenbExperiment)
    except msgspec.ValidationError as problem:
        raise InputError(f"openb: {problem}") from None
    result = run_experiment(experiment)
    return {
        "placed": result.placed,
        "failed": result.pods - result.placed,
        **{f"allocation.{load}": result.allocation[load] for load in _ALLOCATION_LOADS},
        **{f"fragmentation.{load}": result.fragmentation[load] for load in _FRAGMENTATION_LOADS},
    }
