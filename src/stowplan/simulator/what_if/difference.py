"""The difference between two runs, workload by workload and pod by pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from stowplan.simulator.what_if.records import PodDifference, WorkloadDifference


class PlacedPod(Protocol):
    """A pod of a report, or of the JSON of one."""

    @property
    def pod(self) -> str: ...

    @property
    def workload(self) -> str: ...

    @property
    def node(self) -> str: ...

    @property
    def zone(self) -> str: ...

    @property
    def score(self) -> int | None: ...


class Difference(NamedTuple):
    """Two runs compared."""

    workloads: list[WorkloadDifference]
    moved: list[PodDifference]
    """Pods that have a node in both runs, and not the same."""
    now_waiting: list[PodDifference]
    now_placed: list[PodDifference]
    only_before: list[str]
    only_after: list[str]


class _Counts:
    """The pods of one workload in both runs."""

    __slots__ = ("after", "before", "moved", "moved_from", "moved_to", "pending", "waiting", "zones", "zones_before")

    def __init__(self) -> None:
        self.before = self.after = self.pending = self.waiting = self.moved = 0
        self.zones_before: Counter[str] = Counter()
        self.zones: Counter[str] = Counter()
        self.moved_from: Counter[str] = Counter()
        self.moved_to: Counter[str] = Counter()


def key_of_pod(pod: PlacedPod) -> str:
    """`namespace/Kind/name` of the pod's workload."""
    namespace, _, name = pod.pod.partition("/")
    return f"{namespace}/{pod.workload or f'Pod/{name}'}"


def compare(
    before: Iterable[PlacedPod],
    after: Iterable[PlacedPod],
    *,
    displaced: Mapping[str, int] | None = None,
    scaled: Collection[str] = (),
    group: Callable[[str], str] = lambda node: "",
) -> Difference:
    """Compare the pods of two runs by name. `group` returns the zone or label value of a node."""
    counts: dict[str, _Counts] = {}
    found = Difference([], [], [], [], [], [])
    old = {pod.pod: pod for pod in before}
    for pod in old.values():
        count = counts.setdefault(key_of_pod(pod), _Counts())
        count.before += 1
        count.pending += not pod.node
        if pod.node:
            count.zones_before[pod.zone] += 1
    names: set[str] = set()
    for pod in after:
        names.add(pod.pod)
        count = counts.setdefault(key_of_pod(pod), _Counts())
        count.after += 1
        count.waiting += not pod.node
        if pod.node:
            count.zones[pod.zone] += 1
        _compare_pod(old.get(pod.pod), pod, count, found, group)
    found.only_before.extend(name for name in old if name not in names)
    for key in sorted(counts):
        found.workloads.append(_workload(key, counts[key], (displaced or {}).get(key, 0), scaled))
    return found


def _compare_pod(
    old: PlacedPod | None, new: PlacedPod, count: _Counts, found: Difference, group: Callable[[str], str]
) -> None:
    if old is None:
        found.only_after.append(new.pod)
        return
    if old.node == new.node:
        return
    moved = PodDifference(
        pod=new.pod,
        workload=key_of_pod(new),
        before=old.node,
        after=new.node,
        score_before=old.score,
        score_after=new.score,
    )
    if old.node and new.node:
        count.moved += 1
        count.moved_from[group(old.node)] += 1
        count.moved_to[group(new.node)] += 1
        found.moved.append(moved)
    else:
        (found.now_placed if new.node else found.now_waiting).append(moved)


def _workload(key: str, count: _Counts, displaced: int, scaled: Collection[str]) -> WorkloadDifference:
    missing = 0 if key in scaled or not displaced else max(0, count.before - count.after)
    left = count.waiting + missing
    placed = max(0, count.pending - left)
    if key in scaled:
        placed = max(0, (count.after - count.waiting) - (count.before - count.pending))
    return WorkloadDifference(
        workload=key,
        pods=count.before,
        pods_after=count.after,
        pending=count.pending,
        placed=placed,
        left=left,
        displaced=displaced,
        moved=count.moved,
        moved_from=_most(count.moved_from),
        moved_to=_most(count.moved_to),
        zones_before=_known(count.zones_before),
        zones=_known(count.zones),
    )


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda value: (-counts[value], value), default="")


def _known(zones: Counter[str]) -> dict[str, int]:
    return {zone: zones[zone] for zone in sorted(zones) if zone}
