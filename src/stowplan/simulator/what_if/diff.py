"""The difference between two runs of the same input: configurations, plugin versions, or recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from stowplan.cache import Cluster
from stowplan.simulator.what_if.difference import PlacedPod, compare
from stowplan.simulator.what_if.recorded_run import RecordedRun
from stowplan.simulator.what_if.records import WHAT_IF_VERSION, DiffAnswer, PodDifference, Totals, Why


class ComparedRun(NamedTuple):
    """One of the two runs."""

    name: str
    """For people: a file, or `default configuration`."""
    pods: Sequence[PlacedPod]
    totals: Totals | None = None
    zones: Mapping[str, str] = {}
    """The zone, or another label, by node."""
    reasons: Mapping[str, Why] = {}
    """Why workloads wait, if it is known."""
    cluster: Cluster | None = None
    """The nodes at the end of a simulation."""
    plugin_bugs: Mapping[str, str] = {}
    """The first bug of each plugin that has shown one."""


def recorded(run: RecordedRun) -> ComparedRun:
    """A recorded run; zones are those of its nodes or pods."""
    zones = {pod.node: pod.zone for pod in run.pods if pod.zone}
    zones |= {node.node: node.zone for node in run.nodes if node.zone}
    return ComparedRun(run.name, run.pods, _totals(run), zones)


def diff(before: ComparedRun, after: ComparedRun) -> DiffAnswer:
    """Who moves, who waits now, and what changes in scores and use."""
    zones = {**before.zones, **after.zones}
    found = compare(before.pods, after.pods, group=lambda node: zones.get(node, ""))
    changed = {pod.workload for pods in (found.moved, found.now_waiting, found.now_placed) for pod in pods}
    old = {pod.pod: pod for pod in before.pods}
    scored = [
        (earlier.score, pod.score, earlier.node == pod.node)
        for pod in after.pods
        if (earlier := old.get(pod.pod)) is not None and earlier.score is not None and pod.score is not None
    ]
    answer = DiffAnswer(
        version=WHAT_IF_VERSION,
        before=before.name,
        after=after.name,
        sentence="",
        pods=len(old.keys() & {pod.pod for pod in after.pods}),
        moved=tuple(found.moved),
        now_waiting=tuple(found.now_waiting),
        now_placed=tuple(found.now_placed),
        only_before=tuple(sorted(found.only_before)),
        only_after=tuple(sorted(found.only_after)),
        score_changes=sum(one != other for one, other, same_node in scored if same_node),
        score_before=sum(one or 0 for one, _, _ in scored),
        score_after=sum(other or 0 for _, other, _ in scored),
        workloads=tuple(
            replace(each, why=after.reasons.get(each.workload)) for each in found.workloads if each.workload in changed
        ),
        totals_before=before.totals,
        totals_after=after.totals,
    )
    return replace(answer, sentence=_sentence(answer))


def _sentence(answer: DiffAnswer) -> str:
    parts = []
    for pods, what in (
        (answer.moved, "on another node"),
        (answer.now_waiting, "waiting that had a node"),
        (answer.now_placed, "placed that waited"),
    ):
        if pods:
            parts.append(f"{len(pods):,} {what}")
    only = len(answer.only_before) + len(answer.only_after)
    parts += [f"{only:,} in one run only"] if only else []
    total = f"{answer.pods:,} pod{'' if answer.pods == 1 else 's'} in both runs"
    return f"Of {total}: {', '.join(parts)}." if parts else f"No difference: {total}, all on the same nodes."


def _totals(run: RecordedRun) -> Totals | None:
    """Sums over the nodes of a report."""
    if not run.nodes:
        return None
    requested: dict[str, int] = {}
    allocatable: dict[str, int] = {}
    for node in run.nodes:
        for sums, amounts in ((requested, node.requested), (allocatable, node.allocatable)):
            for name, amount in amounts.items():
                sums[name] = sums.get(name, 0) + amount
    placed = sum(bool(pod.node) for pod in run.pods)
    names = [name for name in allocatable if name != "pods" and requested.get(name)]
    return Totals(
        placed=placed,
        pending=len(run.pods) - placed,
        nodes=len(run.nodes),
        requested={name: requested[name] for name in names},
        allocatable={name: allocatable[name] for name in names},
        use=(),
    )


def largest_differences(answer: DiffAnswer) -> list[PodDifference]:
    """All pods that differ: those that wait now first, then those that moved, then those that are placed now."""
    return [*answer.now_waiting, *answer.moved, *answer.now_placed]
