"""The closest nodes: those that the smallest changes make feasible, each change checked on its node.

Nodes are searched best-first by the bounds of `bounds`. A node that is still rejected after its changes gets the change
for the new refusal as well, up to three changes; after that it is given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heapify, heappop
from typing import NamedTuple

import numpy as np

from stowplan import api
from stowplan.cache import Cluster
from stowplan.cache.journal import Journal
from stowplan.framework import Change, Code, NodeInfo, Pod, Refusal, Status
from stowplan.framework.explanation import ClosestNode
from stowplan.insight.altered import altered_node, altered_pod, status_on
from stowplan.insight.bounds import IMPOSSIBLE_EFFORT, effort_bounds
from stowplan.insight.json_patch import PatchError, merged
from stowplan.insight.leaving import leaving_pods
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.slices import Slices
from stowplan.runtime.profile.profile import Profile

MAX_CHECKED_CANDIDATES = 64
CONTRADICTION = Status(Code.UnschedulableAndUnresolvable, "changes exclude each other")
_MAX_ALTERNATIVES = 3


class _Candidate(NamedTuple):
    effort: float
    name: str
    slot: int


def closest_nodes(matrix: FilterMatrix, top: int) -> Slices[tuple[list[ClosestNode], int]]:
    """(the nodes that need the smallest changes, the number of checks)."""
    bounds = effort_bounds(matrix)
    slots = np.flatnonzero(matrix.alive & matrix.refused() & (bounds < IMPOSSIBLE_EFFORT))
    order = slots[np.argsort(bounds[slots], kind="stable")][: 4 * MAX_CHECKED_CANDIDATES]
    infos = [info for slot in order.tolist() if (info := _info(matrix, slot)) is not None]
    heap = [_Candidate(float(bounds[info.slot]), info.name, info.slot) for info in infos]
    heapify(heap)
    yield
    found: list[tuple[float, ClosestNode]] = []
    checks = 0
    while (
        heap
        and checks < MAX_CHECKED_CANDIDATES
        and (len(found) < top or heap[0].effort < max(each[0] for each in found))
    ):
        info = _info(matrix, heappop(heap).slot)
        if info is None:  # The node is gone since the last slice.
            continue
        refusals = matrix.refusals_of(info)
        yield
        ways = yield from ways_of(matrix, info, refusals)
        passed = []
        for way in ways[:_MAX_ALTERNATIVES]:
            checks += 1
            if check(matrix.profile, matrix.pod, info, way) is None:
                passed.append(way)
            yield
        if passed:
            effort = min(sum(change.effort for change in way) for way in passed)
            changes = tuple(way[0] if len(way) == 1 else joined(way) for way in passed)
            found.append((effort, ClosestNode(node=info.name, refusals=tuple(refusals), changes=changes)))
    found.sort(key=lambda each: (each[0], each[1].node))
    return [each for _, each in found[:top]], checks


def joined(changes: tuple[Change, ...]) -> Change:
    """Several changes that are needed together."""
    same = len({change.on for change in changes}) == 1
    return Change(
        kind=changes[0].kind,
        on=changes[0].on if same else "cluster",
        text=" and ".join(change.text for change in changes),
        effort=sum(change.effort for change in changes),
        # The patch is of the closest node; pods that leave name theirs.
        node=max(changes, key=lambda change: (bool(change.node), bool(change.patch))).node,
        patch=merged(operation for change in changes for operation in change.patch) if same else (),
        pods=tuple(pod for change in changes for pod in change.pods),
        starts=tuple(start for change in changes for start in change.starts),
        parts=() if same else tuple(_by_object(changes)),
    )


def _by_object(changes: tuple[Change, ...]) -> Iterator[Change]:
    """One change for the pod, one for the node, one for the cluster: patches of one object are merged."""
    for on in dict.fromkeys(change.on for change in changes):
        same = tuple(change for change in changes if change.on == on)
        yield same[0] if len(same) == 1 else joined(same)


def _info(matrix: FilterMatrix, slot: int) -> NodeInfo | None:
    return matrix.table.infos[slot]


def ways_of(matrix: FilterMatrix, info: NodeInfo, refusals: list[Refusal]) -> Slices[list[tuple[Change, ...]]]:
    """Sets of changes that could make the node feasible: one change for each refusal; or pods that leave."""
    ways = []
    if all(refusal.changes for refusal in refusals):
        ways.append(tuple(_distinct([refusal.changes[0] for refusal in refusals])))
        if len(refusals) == 1:
            ways += [(change,) for change in refusals[0].changes[1:]]
    leaving = yield from leaving_pods(matrix, info)
    if leaving is not None:
        ways.append((leaving,))
    ways.sort(key=lambda way: sum(change.effort for change in way))
    return list({tuple(change.text for change in way): way for way in reversed(ways)}.values())[::-1]


def _distinct(changes: list[Change]) -> list[Change]:
    return list({(change.kind, change.text): change for change in changes}.values())


def _move_others(journal: Journal, cluster: Cluster, info: NodeInfo, changes: tuple[Change, ...]) -> None:
    """Take off the pods that leave, and put the pods that start on their nodes; only their labels matter."""
    for each in [each for change in changes for each in change.pods]:
        where = cluster.nodes.get(each.node) if each.node else info
        for other in [pod for pod in (() if where is None else where.pods.values()) if pod.key == each.pod]:
            journal.remove(other, where or info)
    for start in [each for change in changes for each in change.starts]:
        where = cluster.nodes.get(start.node)
        for number in range(start.number) if where is not None else ():
            name = f"started-{number}"
            metadata = api.ObjectMeta(
                name=name, namespace=start.namespace, uid=f"{start.node}/{name}", labels=start.labels
            )
            journal.add(cluster.pod(api.Pod(metadata=metadata)), where or info)


def check(profile: Profile, pod: Pod, info: NodeInfo, changes: tuple[Change, ...]) -> Status | None:
    """The status of the node after all changes; None if the pod fits."""
    try:
        with applied(profile, pod, info, changes) as (altered, changed):
            return status_on(profile, altered, changed)
    except PatchError:  # Changes that exclude each other.
        return CONTRADICTION


@contextmanager
def applied(profile: Profile, pod: Pod, info: NodeInfo, changes: tuple[Change, ...]) -> Iterator[tuple[Pod, NodeInfo]]:
    """(the pod, the node) after all changes, for the time of the block."""
    pod_patch = merged(operation for change in changes if change.on == "pod" for operation in change.patch)
    node_patch = merged(operation for change in changes if change.on == "node" for operation in change.patch)
    altered = altered_pod(profile, pod, pod_patch) if pod_patch else pod
    cluster = profile.cluster
    with cluster.what_if() as journal:
        _move_others(journal, cluster, info, changes)
        if not node_patch:
            yield altered, info
            return
        with altered_node(profile, info, node_patch) as changed:
            yield altered, changed
