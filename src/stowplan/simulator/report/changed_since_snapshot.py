"""What a simulation that started from a cluster brings to light: pods that are new, and those that fare otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.report.report import PENDING, RUNNING, PodReport, SimulationReport


def states_before(items: Iterable[object], standing: frozenset[str]) -> dict[str, str]:
    """How the pods of a cluster fare before anything is simulated, by uid."""
    return {
        item.metadata.uid: RUNNING if item.spec.node_name else PENDING
        for item in items
        if isinstance(item, api.Pod) and item.metadata.uid in standing
    }


def news_of(report: SimulationReport, *, all_that_waited: bool) -> SimulationReport:
    """The report with only those pods that were not there before, or waited and are placed now.

    Those that waited and still do are among them if they are what was asked about.
    """
    pods = tuple(pod for pod in report.pods if _is_news(pod, all_that_waited))
    names = {pod.pod for pod in pods}
    pending = []
    for group in report.pending:
        members = tuple(name for name in group.pods if name in names)
        if members:
            pending.append(replace(group, pods=members))
    return replace(report, pods=pods, pending=tuple(pending))


def _is_news(pod: PodReport, all_that_waited: bool) -> bool:
    return not pod.before or (pod.before == PENDING and (all_that_waited or bool(pod.node)))
