"""The contents of a cluster's columns and counts by name instead of by slot, to compare two clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.builders import HOSTNAME, ZONE, Json, World
from tests.property.vocabulary import PODS, make_pod

from stowplan import api
from stowplan.api import codec
from stowplan.api.selectors import EVERYTHING, compile_label_selector, selector_from_map
from stowplan.cache import ABSENT, Clause, Cluster, PodSelector, SlotCounts
from stowplan.cache.ports import HostPort
from stowplan.cache.selection import TermKind, carried_terms

Facts = dict[str, Any]

KEYS = (ZONE, HOSTNAME, "disk", "rack")
PORTS = [HostPort(proto, 80, ip) for proto in ("TCP", "UDP") for ip in ("0.0.0.0", "10.0.0.1", "10.0.0.2")]


def selectors() -> list[PodSelector]:
    """Selectors that plugins register."""
    default, both = frozenset({"default"}), frozenset({"default", "other"})
    app = [selector_from_map({"app": name}) for name in "ab"]
    indexed = selector_from_map({"apps.kubernetes.io/pod-index": "1"})
    not_a: Json = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}
    not_in = compile_label_selector(codec.convert(api.LabelSelector, not_a))
    return [
        PodSelector((Clause(default, app[0]),), terminating=False),
        PodSelector((Clause(both, app[0]),), terminating=True),
        PodSelector((Clause(None, app[1]), Clause(default, app[1])), terminating=True),
        PodSelector((Clause(None, EVERYTHING),), terminating=False),
        PodSelector((Clause(None, EVERYTHING),), terminating=False, settled=False),
        PodSelector((Clause(default, indexed),), terminating=True),
        PodSelector((Clause(None, not_in),), terminating=True),
    ]


class Interests:
    """Counts that are kept alive, so that they are live counts and not made on the spot."""

    def __init__(self, world: World) -> None:
        self.cluster: Cluster = world.cluster
        self.selectors = [(selector, self.cluster.counts_for(selector)) for selector in selectors()]
        kinds: dict[TermKind, None] = {}
        for shape in range(len(PODS)):
            kinds.update(dict.fromkeys(carried_terms(world.pod(make_pod("probe", shape)).template)))
        self.terms = [(kind, self.cluster.selection.term_counts(kind)) for kind in kinds]
        self.domains = [counts.by_domain(self.cluster.nodes.label(key)) for counts in self._all() for key in KEYS]

    def _all(self) -> list[SlotCounts]:
        return [counts for _, counts in (*self.selectors, *self.terms)]

    def facts(self) -> Facts:
        """By node where counts are meant; sums by domain where those are."""
        slots = self.cluster.nodes.slot_of
        told: Facts = {}
        for i, counts in enumerate(self._all()):
            assert list(counts.values) == counts.array.tolist()
            assert counts.total == counts.array.sum()
            told[f"counts {i}"] = {name: counts.array[slot] for name, slot in slots.items() if counts.array[slot]}
        for i, domains in enumerate(self.domains):
            domains.refresh(None)
            texts = domains.column.texts
            assert list(domains.values) == domains.array.tolist()
            told[f"sums {i}"] = (
                {texts[d]: n for d, n in enumerate(domains.array[:-1].tolist()) if n},
                domains.counted,
                domains.least,
                domains.total,
                sorted(texts[d] for d in range(len(texts)) if domains.occupied >> d & 1),
            )
        return told


def columns(cluster: Cluster) -> Facts:
    """The node table, ports and claims."""
    nodes = cluster.nodes
    assert nodes.alive.sum() == len(nodes) == len(list(nodes))
    check_bounds(cluster)
    told: Facts = {"claim users": dict(cluster.claim_users)}
    for name, slot in nodes.slot_of.items():
        info = nodes.infos[slot]
        assert info is not None
        assert (info.name, info.slot) == (name, slot)
        single = {
            "allowed": nodes.allowed_pods,
            "pods": nodes.pod_count,
            "cpu": nodes.non_zero_cpu,
            "memory": nodes.non_zero_memory,
        }
        many = {f"{sort} {key}": c for sort in ("allocatable", "requested") for key, c in getattr(nodes, sort).items()}
        assert all(column.array[slot] == column.values[slot] for column in (*single.values(), *many.values()))
        told[name] = {
            **{key: column.values[slot] for key, column in single.items()},
            **{key: column.values[slot] for key, column in many.items() if column.values[slot]},
            "unschedulable": bool(nodes.unschedulable[slot]),
            "taints": nodes.taint_sets[nodes.taint_set[slot]],
            "labels": {key: label_of(cluster, key, slot) for key in KEYS},
            "ports": [cluster.ports.conflicts(port, slot) for port in PORTS],
            "residents": list(info.pods),
            "allocatable": dict(info.allocatable),
            "requested": dict(info.requested),
        }
    for port in PORTS:
        taken = {slot for slot in nodes.slot_of.values() if cluster.ports.conflicts(port, slot)}
        assert set(cluster.ports.conflicting_slots(port).tolist()) == taken
    return told


def check_bounds(cluster: Cluster) -> None:
    """The sizes of the node table's columns and interning tables are bounded by the nodes and pods that are there."""
    nodes = cluster.nodes
    keys = {key for info in nodes for key in info.labels}
    assert all(key in nodes.labels for key in keys)
    assert len(nodes.labels) <= len(keys)
    offered = {name for info in nodes for name, amount in info.allocatable.items() if amount and name != "pods"}
    pods = [pod for info in nodes for pod in info.pods.values()]
    used = [pod.template.requests if pod.used is None else pod.used[0] for pod in pods]
    requested = {name for amounts in used for name, amount in amounts.items() if amount}
    native = {"cpu", "memory", "ephemeral-storage"}
    assert set(nodes.allocatable) == native | offered
    assert set(nodes.requested) == native | requested
    assert len(nodes.taint_sets) <= 2 * len(nodes) + 16
    images = [image for info in nodes for image in info.node.status.images]
    assert len(nodes.images) == len({name for image in images for name in image.names})
    for key in KEYS:
        assert len(nodes.label(key).texts) <= nodes.high + 1


def label_of(cluster: Cluster, key: str, slot: int) -> str | None:
    """A node's value by the label column, whose statistics must be right too."""
    column = cluster.nodes.label(key)
    assert column.array.tolist() == column.values
    present = column.array[column.array != ABSENT]
    assert column.present == len(present)
    assert column.occupied == len(np.unique(present))
    assert column.sizes == np.bincount(present, minlength=len(column.texts)).tolist()
    return None if column.values[slot] == ABSENT else column.texts[column.values[slot]]
