"""A NodeResourceTopology as numbers: zones, and the settings of the kubelet's topology manager.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/nodeconfig, pluginhelpers.go
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from stowplan import api, logs
from stowplan.api.quantity import QuantityError
from stowplan.optional_plugins.base.requests import Amounts, amounts

CONTAINER_SCOPE, POD_SCOPE = "container", "pod"
SINGLE_NUMA_NODE = "single-numa-node"
FINGERPRINT = "nodeTopologyPodsFingerprint"
FINGERPRINT_METHOD = "nodeTopologyPodsFingerprintMethod"
FINGERPRINT_ANNOTATION = "topology.node.k8s.io/fingerprint"
MAX_NUMA_NODES_LIMIT = 1024
MAX_ZONE_ID = 64
_DEFAULT_MAX_NUMA_NODES = 8
_MAX_DIGITS = 9
_POLICIES = ("none", "best-effort", "restricted", SINGLE_NUMA_NODE)
_DEPRECATED_POLICIES = {"SingleNUMANode": SINGLE_NUMA_NODE, "BestEffort": "best-effort", "Restricted": "restricted"}
_ZONE_NAME = re.compile(r"node-([0-9]{1,3})", re.ASCII)

log = logs.get(__name__)


class NumaZone(NamedTuple):
    """A NUMA node."""

    id: int
    available: Mapping[str, int]
    costs: Mapping[int, int]
    """Distances by the id of the other zone."""


class NodeTopology(NamedTuple):
    """The zones of a node, by id, and how its kubelet aligns pods."""

    zones: tuple[NumaZone, ...]
    policy: str
    scope: str
    max_numa_nodes: int
    fingerprint: str
    fingerprint_method: str

    @property
    def is_strict(self) -> bool:
        """Whether the kubelet rejects pods that do not fit in one zone."""
        return self.policy == SINGLE_NUMA_NODE

    @property
    def resources(self) -> set[str]:
        """The resources that any zone lists."""
        return {name for zone in self.zones for name in zone.available}

    def less(self, used: Mapping[str, int]) -> NodeTopology:
        """With amounts taken from every zone, since the zone is not known; at least 0 is left."""
        zones = tuple(
            zone._replace(available={name: max(have - used.get(name, 0), 0) for name, have in zone.available.items()})
            for zone in self.zones
        )
        return self._replace(zones=zones)


def parse_topology(item: api.NodeResourceTopology) -> NodeTopology:
    """The topology of an object. Zones and values that cannot be read are left out, with one line in the log."""
    zones: dict[int, NumaZone] = {}
    problems: list[str] = []
    for zone in item.zones:
        number = _zone_id(zone.name)
        if zone.type != "Node":
            continue
        if number is None or number in zones:
            problems.append(f"zone {zone.name!r}")
            continue
        costs = {other: cost.value for cost in zone.costs if (other := _zone_id(cost.name)) is not None}
        zones[number] = NumaZone(number, _available(zone, problems), costs)
    if problems:
        log.warning(
            "Parts of a NodeResourceTopology cannot be read and are ignored",
            node=item.metadata.name,
            first=problems[0],
            number=len(problems),
        )
    return _with_settings(tuple(zones[number] for number in sorted(zones)), item)


def _zone_id(name: str) -> int | None:
    match = _ZONE_NAME.fullmatch(name)
    return int(match[1]) if match is not None and int(match[1]) <= MAX_ZONE_ID else None


def _available(zone: api.TopologyZone, problems: list[str]) -> Amounts:
    available: Amounts = {}
    for resource in zone.resources:
        try:
            available.update(amounts({resource.name: resource.available}))
        except QuantityError as problem:
            problems.append(f"{zone.name} {resource.name}: {problem}")
    return available


def _with_settings(zones: tuple[NumaZone, ...], item: api.NodeResourceTopology) -> NodeTopology:
    scope, policy, most = CONTAINER_SCOPE, "none", _DEFAULT_MAX_NUMA_NODES
    for text in item.topology_policies[:1]:
        for prefix, name in _DEPRECATED_POLICIES.items():
            if text.startswith(prefix):
                policy, scope = name, POD_SCOPE if text.endswith("PodLevel") else CONTAINER_SCOPE
    attributes = {attribute.name: attribute.value for attribute in item.attributes}
    if attributes.get("topologyManagerScope") in (CONTAINER_SCOPE, POD_SCOPE):
        scope = attributes["topologyManagerScope"]
    if attributes.get("topologyManagerPolicy") in _POLICIES:
        policy = attributes["topologyManagerPolicy"]
    given = attributes.get("topologyManagerMaxNUMANodes", "")
    if given.isascii() and given.isdigit() and int(given[:_MAX_DIGITS]) > 1:
        most = min(int(given[:_MAX_DIGITS]), MAX_NUMA_NODES_LIMIT)
    fingerprint = attributes.get(FINGERPRINT) or item.metadata.annotations.get(FINGERPRINT_ANNOTATION, "")
    return NodeTopology(zones, policy, scope, most, fingerprint, attributes.get(FINGERPRINT_METHOD, ""))
