"""The part of a report that differs from the snapshot: new pods, and pods whose state changed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.report.report import PENDING, RUNNING, PodReport, SimulationReport


def states_before(items: Iterable[object], preexisting: frozenset[str]) -> dict[str, str]:
    """The states of the snapshot's pods, by uid."""
    return {
        item.metadata.uid: RUNNING if item.spec.node_name else PENDING
        for item in items
        if isinstance(item, api.Pod) and item.metadata.uid in preexisting
    }


def changed_pods(report: SimulationReport, *, include_still_pending: bool) -> SimulationReport:
    """The report with only the pods that are new, or were pending before and are placed now.

    With `include_still_pending`, pods that were pending before and still are included.
    """
    pods = tuple(pod for pod in report.pods if _is_changed(pod, include_still_pending))
    names = {pod.pod for pod in pods}
    pending = []
    for group in report.pending:
        members = tuple(name for name in group.pods if name in names)
        if members:
            pending.append(replace(group, pods=members))
    return replace(report, pods=pods, pending=tuple(pending))


def _is_changed(pod: PodReport, include_still_pending: bool) -> bool:
    return not pod.before or (pod.before == PENDING and (include_still_pending or bool(pod.node)))
