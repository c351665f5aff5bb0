"""Checks that counters and columns equal a recount, and that a decision leaves room on the node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from weakref import WeakSet

from stowplan.cache import Cluster, Footprint, SlotCounts
from stowplan.cache.device_classes import backing_device_class
from stowplan.cache.nodes import HANDICAP, HANDICAP_LIMIT, PODS_PER_HANDICAP
from stowplan.cache.ports import ANY_IP, HostPort
from stowplan.cache.requests import is_extended_resource
from stowplan.framework import NodeInfo, Pod
from stowplan.runtime import Decision

_FIT = "NodeResourcesFit"


class Accounting:
    """Recounts everything, and remembers counters seen before: they must reach zero when their last pod is gone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counts: WeakSet[SlotCounts] = WeakSet()
        self._ports: set[HostPort] = set()

    def miscounted(self) -> Iterator[str]:
        cluster = self._cluster
        if cluster.journal.active:
            yield "a what-if is still open"
        for info in cluster.nodes:
            yield from self._wrong_columns(info)
        yield from self._wrong_residents()
        yield from self._wrong_counts()
        yield from self._wrong_ports()

    def _wrong_columns(self, info: NodeInfo) -> Iterator[str]:
        nodes, slot = self._cluster.nodes, info.slot
        there: dict[str, int] = {}
        cpu = memory = 0
        for pod in info.pods.values():
            requests, non_zero = _used(pod)
            for name, amount in requests.items():
                there[name] = there.get(name, 0) + amount
            cpu += non_zero[0]
            memory += non_zero[1]
        counted = [(name, column, there.get(name, 0)) for name, column in nodes.requested.items()]
        counted += [(name, nodes.resource(name)[1], there[name]) for name in there if name not in nodes.requested]
        counted.append(("pods", nodes.pod_count, len(info.pods)))
        counted.append(("cpu with defaults", nodes.non_zero_cpu, cpu))
        counted.append(("memory with defaults", nodes.non_zero_memory, memory))
        for name, column, amount in counted:
            kept = column.values[slot]
            if kept != amount or column.array[slot] != float(kept):
                yield f"node {info.name}: {name} is {kept} ({column.array[slot]}), but its pods come to {amount}"
        handicap = len(info.pods) // PODS_PER_HANDICAP * HANDICAP & HANDICAP_LIMIT
        if nodes.handicap[slot] != handicap:
            yield f"node {info.name}: its handicap is {nodes.handicap[slot]}, but its pods come to {handicap}"

    def _wrong_residents(self) -> Iterator[str]:
        cluster = self._cluster
        for info in cluster.nodes:
            for uid, pod in info.pods.items():
                if pod.node_name != info.name or cluster.pods.get(uid) is not pod:
                    yield f"node {info.name} holds pod {uid}, which is elsewhere or has another version"
        for uid, pod in cluster.pods.items():
            home = cluster.nodes.get(pod.node_name)
            if home is not None and uid not in home.pods:
                yield f"pod {uid} is on node {pod.node_name}, which does not hold it"
        claims = Counter(
            claim for info in cluster.nodes for pod in info.pods.values() for claim in _footprint(cluster, pod).claims
        )
        if cluster.claim_users != claims:
            yield f"users of claims are {cluster.claim_users}, but the pods come to {dict(claims)}"

    def _wrong_counts(self) -> Iterator[str]:
        """The counts that PodTopologySpread and InterPodAffinity read."""
        there: dict[SlotCounts, Counter[int]] = {counts: Counter() for counts in self._counts}
        for info in self._cluster.nodes:
            for pod in info.pods.values():
                footprint = _footprint(self._cluster, pod)
                counted = [
                    counts
                    for selector, live in footprint.pod_class.selectors
                    if (counts := live()) is not None
                    and selector.settled
                    and (selector.terminating or not pod.terminating)
                ]
                for counts in (*counted, *footprint.terms):
                    there.setdefault(counts, Counter())[info.slot] += 1
        for counts, by_slot in there.items():
            if counts.total != by_slot.total() or any(counts.values[slot] != n for slot, n in by_slot.items()):
                yield f"pods that a selector or a term counts are {counts.total}, but there are {by_slot.total()}"
        self._counts.update(there)

    def _wrong_ports(self) -> Iterator[str]:
        taken = {
            info.slot: {port for pod in info.pods.values() for port in _footprint(self._cluster, pod).ports}
            for info in self._cluster.nodes
        }
        self._ports.update(*taken.values())
        for port in self._ports:
            for info in self._cluster.nodes:
                conflicts = any(_conflict(port, other) for other in taken[info.slot])
                if self._cluster.ports.conflicts(port, info.slot) != conflicts:
                    expected = "taken" if conflicts else "free"
                    yield f"node {info.name}: port {port} is {expected}, and counted as the opposite"


def _conflict(one: HostPort, other: HostPort) -> bool:
    same = (one.protocol, one.port) == (other.protocol, other.port)
    return same and (one.ip == other.ip or ANY_IP in (one.ip, other.ip))


def _footprint(cluster: Cluster, pod: Pod) -> Footprint:
    return cluster.footprint(pod.template)


def _used(pod: Pod) -> tuple[Mapping[str, int], tuple[int, int]]:
    return (pod.template.requests, pod.template.non_zero_requests) if pod.used is None else pod.used


def overfilled(cluster: Cluster, decision: Decision) -> Iterator[str]:
    """Resources that a decision overcommits. Other schedulers and shrinking nodes may overfill a node; a decision
    must not."""
    info = cluster.nodes.get(decision.node_name)
    if info is None:
        yield f"pod {decision.pod.uid} goes to node {decision.node_name}, which does not exist"
        return
    fit = next((plugin for plugin in decision.profile.filters if plugin.name == _FIT), None)
    if fit is None:
        return
    taken = Counter({"pods": len(info.pods)})
    for pod in info.pods.values():
        taken.update(_used(pod)[0])
    wanted = Counter({"pods": 1})
    wanted.update({name: amount for name, amount in decision.pod.template.requests.items() if amount > 0})
    for name, amount in wanted.items():
        if is_extended_resource(name) and (fit.args.ignored_resources or fit.args.ignored_resource_groups):
            continue
        if backing_device_class(cluster, name) is not None:
            continue
        offered = info.allocatable.get(name, 0)
        if taken[name] + amount > offered:
            yield (
                f"pod {decision.pod.uid} wants {amount} {name} of node {info.name}, "
                f"where {taken[name]} of {offered} are taken"
            )
