"""openb experiments as runs of a sweep: `runner: stowplan.bench.openb.sweep_runner:run_openb`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from stowplan.bench.openb.experiment import OpenbExperiment, run_experiment
from stowplan.bench.openb.published import PublishedResults
from stowplan.errors import InputError

_CURVES = ("allocation", "fragmentation")
_ALLOCATION_LOADS, _FRAGMENTATION_LOADS = (60, 90, 100, 130), (20, 60, 90, 130)


def run_openb(parameters: dict[str, Any]) -> dict[str, float]:
    """Run the experiment with these fields; returns points of both curves, and, where the folder has the published
    results, `equal.allocation` and `equal.fragmentation`: how many of the 131 points are the same."""
    try:
        experiment = msgspec.convert(parameters, OpenbExperiment)
    except msgspec.ValidationError as problem:
        raise InputError(f"openb: {problem}") from None
    result = run_experiment(experiment)
    published = _published(experiment.data)
    compared = None if published is None else published.compare(result)
    equal = {} if compared is None else {f"equal.{name}": getattr(compared, name) for name in _CURVES}
    return {
        **equal,
        "placed": result.placed,
        "failed": result.pods - result.placed,
        **{f"allocation.{load}": result.allocation[load] for load in _ALLOCATION_LOADS},
        **{f"fragmentation.{load}": result.fragmentation[load] for load in _FRAGMENTATION_LOADS},
    }


@cache
def _published(folder: str) -> PublishedResults | None:
    try:
        return PublishedResults.load(Path(folder))
    except InputError:
        return None
