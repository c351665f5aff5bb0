"""Invariants of every run: pods are conserved, and Little's law holds. A violation is a bug."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from stowplan.simulator.scenario import ScenarioSimulation
from stowplan.study.recording import RunRecording

_TOLERANCE = 1e-6


def check_invariants(recording: RunRecording, simulation: ScenarioSimulation, areas: Mapping[str, float]) -> None:
    """Raise AssertionError if the recording of a run contradicts itself."""
    alive = sum(life.ended is None for life in simulation.kubelet.lives.values())
    assert recording.created == recording.ended + alive, "created pods are ended, running or pending"
    assert len(recording.pods) == recording.created, "each pod has one row"
    value = recording.integrals.value
    assert value("pending") + value("running") == alive, "pods that exist are pending or running"
    _check_littles_law(recording, simulation.now, areas)


def _check_littles_law(recording: RunRecording, end: float, areas: Mapping[str, float]) -> None:
    """L = lambda W: the integral of the number of pods is the sum of their times in the cluster."""
    pods, area = recording.pods, areas.get("pods", 0.0)
    times = sum(
        float((np.where(np.isnan(ended), end, ended) - submitted).sum())
        for submitted, ended in pods.arrays(("submitted", "ended"))
    )
    assert math.isclose(times, area, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE * len(pods)), "Little's law"
