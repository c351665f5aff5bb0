"""The API objects of a trace's records. Pods with equal requests share their spec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from stowplan import api
from stowplan.traces.records import Arrival, TraceNode

JOB_LABEL = "stowplan.io/job"
TENANT_LABEL = "stowplan.io/tenant"

_MAX_NAME = 63
_MEMBER_CHARS = 7
"""Of the number of a gang's member, with its dash."""
_DIGEST_BYTES = 4
_DEFAULT_PODS = 110
MAX_SHARED_SPECS = 4096
"""Different specs that are kept for the next pods with equal requests."""


class TraceObjects:
    """Makes nodes and pods."""

    def __init__(self, namespace: str = "default", scheduler_name: str = "default-scheduler") -> None:
        self._namespace = namespace
        self._scheduler_name = scheduler_name
        self._specs: dict[Any, api.PodSpec] = {}

    def node(self, node: TraceNode) -> api.Node:
        if node.node is not None:
            return node.node
        name = object_name(node.name)
        amounts = quantities({"pods": _DEFAULT_PODS, **node.allocatable})
        labels = {"kubernetes.io/hostname": name, **node.labels}
        return api.Node(
            metadata=api.ObjectMeta(name=name, labels=labels),
            status=api.NodeStatus(capacity=amounts, allocatable=amounts),
        )

    def pods(self, arrival: Arrival) -> Iterator[api.Pod]:
        """The pods of an arrival: one, or one for each member of the gang."""
        if arrival.pod is not None:
            yield arrival.pod
            return
        spec, labels = self._spec(arrival), dict(arrival.labels)
        if arrival.gang > 1:
            labels[JOB_LABEL] = object_name(arrival.job)
        if arrival.tenant:
            labels[TENANT_LABEL] = object_name(arrival.tenant)
        name = object_name(arrival.key, _MAX_NAME if arrival.gang == 1 else _MAX_NAME - _MEMBER_CHARS)
        for member in range(arrival.gang):
            full = name if arrival.gang == 1 else f"{name}-{member}"
            yield api.Pod(metadata=api.ObjectMeta(name=full, namespace=self._namespace, labels=labels), spec=spec)

    def _spec(self, arrival: Arrival) -> api.PodSpec:
        requests, affinity = tuple(arrival.requests.items()), tuple(arrival.affinity.items())
        key = (requests, affinity, arrival.priority)
        spec = self._specs.get(key)
        if spec is None:
            if len(self._specs) >= MAX_SHARED_SPECS:
                self._specs.clear()
            amounts = quantities(arrival.requests)
            resources = api.ResourceRequirements(requests=amounts, limits=amounts)
            spec = self._specs[key] = api.PodSpec(
                scheduler_name=self._scheduler_name,
                priority=arrival.priority,
                containers=(api.Container(name="main", image="trace", resources=resources),),
                affinity=node_affinity(arrival.affinity),
            )
        return spec


def node_affinity(allowed: Mapping[str, tuple[str, ...]]) -> api.Affinity | None:
    """Required node affinity for labels with allowed values."""
    if not allowed:
        return None
    expressions = tuple(
        api.NodeSelectorRequirement(key=key, operator="In", values=values) for key, values in allowed.items()
    )
    selector = api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_expressions=expressions),))
    return api.Affinity(node_affinity=api.NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


def quantities(amounts: Mapping[str, int]) -> dict[str, api.Quantity]:
    """A resource list from milli-cores, bytes and units, without zeros of resources other than cpu and memory."""
    return {
        name: f"{amount}m" if name == "cpu" else str(amount)
        for name, amount in amounts.items()
        if amount or name in ("cpu", "memory")
    }


def object_name(text: str, most: int = _MAX_NAME) -> str:
    """The text as a name that Kubernetes accepts. A longer one keeps its end, with a digest of the whole text."""
    name = re.sub(r"[^a-z0-9-]+", "-", text.lower())
    if len(name) > most:
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
        name = f"{name[len(digest) + 1 - most :]}-{digest}"
    return name.strip("-") or "x"
