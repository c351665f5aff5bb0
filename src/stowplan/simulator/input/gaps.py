"""Objects to which the input refers and which it lacks: each is an assumption, or in strict mode an error.

Owners, claims, volumes and classes are assumed to exist, since the API server had them when the pods were created. The
assumed objects restrict pods as little as possible: a controller recreates the pods that it loses, every node can use a
volume, a storage class provisions everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.input.gap import Gap, missing, specs_to_place
from stowplan.simulator.input.owner_gaps import owner_gaps
from stowplan.simulator.input.ownership import Objects, Ownership, describe
from stowplan.simulator.input.storage_gaps import storage_gaps
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.quotas import unsupported_resources, unsupported_scopes

_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def find_gaps(ownership: Ownership) -> Iterator[Gap]:
    """All gaps of an input of files. Each missing object is found once, at the first reference to it."""
    yield from owner_gaps(ownership)
    yield from storage_gaps(ownership.objects)
    yield from _priority_gaps(ownership.objects)
    yield from _device_gaps(ownership.objects)
    yield from _node_gaps(ownership.objects)
    yield from _snapshot_gaps(ownership.objects)


def _priority_gaps(objects: Objects) -> Iterator[Gap]:
    known = {item.metadata.name for item, _ in objects if isinstance(item, api.PriorityClass)}
    pods = [item.spec for item, _ in objects if isinstance(item, api.Pod) and item.spec.priority is not None]
    resolved = {spec.priority_class_name: spec for spec in pods}
    for _, origin, spec, path in specs_to_place(objects):
        name = spec.priority_class_name
        if not name or spec.priority is not None or name in known or name in _SYSTEM_CLASSES:
            continue
        known.add(name)
        example = resolved.get(name)
        value = 0 if example is None or example.priority is None else example.priority
        assumed = api.PriorityClass(
            metadata=api.ObjectMeta(name=name),
            value=value,
            preemption_policy=None if example is None else example.preemption_policy,
        )
        text = f"value {value}" + (", as in pods of the input" if example is not None else "")
        problem = f"{path}.priorityClassName: no PriorityClass with name {name} was found"
        yield Gap("PriorityClass", name, text, origin.locate(problem), assumed=(assumed,))


def _device_gaps(objects: Objects) -> Iterator[Gap]:
    """ResourceClaims and templates that pods refer to; devices cannot be assumed."""
    known = {
        (type(item), key_of(item.metadata))
        for item, _ in objects
        if isinstance(item, api.ResourceClaim | api.ResourceClaimTemplate)
    }
    for item, origin, spec, path in specs_to_place(objects):
        for index, entry in enumerate(spec.resource_claims):
            is_template = entry.resource_claim_name is None
            name = entry.resource_claim_template_name if is_template else entry.resource_claim_name
            kind: type[Any] = api.ResourceClaimTemplate if is_template else api.ResourceClaim
            key = f"{item.metadata.namespace}/{name}"
            if name and (kind, key) not in known:
                known.add((kind, key))
                problem = f"{path}.resourceClaims[{index}]: {describe(item)} needs {kind.__name__} {key}"
                yield Gap(kind.__name__, key, "none: its pods stay pending", missing(origin, problem))


def _node_gaps(objects: Objects) -> Iterator[Gap]:
    known = {item.metadata.name for item, _ in objects if isinstance(item, api.Node)}
    for item, origin in objects:
        if isinstance(item, api.Pod) and item.spec.node_name and not is_finished(item):
            name = item.spec.node_name
            if name not in known:
                known.add(name)
                problem = f"$.spec.nodeName: {describe(item)} runs on node {name}"
                yield Gap("Node", name, "no pod can be placed on it", missing(origin, problem))


def _snapshot_gaps(objects: Objects) -> Iterator[Gap]:
    """Kinds that every cluster has, and that a snapshot of a cluster lacks."""
    snapshot = next((each for each in objects if _is_stored(each[0])), None)
    if snapshot is None:
        return
    item, origin = snapshot
    if not any(isinstance(each, api.Service) for each, _ in objects):
        problem = f"$: {describe(item)} is an object of a cluster, and the input has no Services: add them"
        yield Gap(
            "Service", "", "none: pods are spread by the selectors of their controllers only", origin.locate(problem)
        )
    if any(_selects_namespaces(spec) for _, _, spec, _ in specs_to_place(objects, running=True)):
        known = {each.metadata.name for each, _ in objects if isinstance(each, api.Namespace)}
        for each, where in objects:
            name = each.metadata.namespace
            if name and name not in known:
                known.add(name)
                problem = f"$.metadata.namespace: {describe(each)} is in Namespace {name}"
                yield Gap("Namespace", name, "no labels, for namespaceSelectors", missing(where, problem))


def _is_stored(item: Any) -> bool:
    return bool(item.metadata.resource_version) and isinstance(item, api.Pod | api.Node)


def limit_gaps(objects: Objects) -> Iterator[Gap]:
    """Limits that are not enforced."""
    for item, _ in objects:
        name = key_of(item.metadata)
        if isinstance(item, api.ResourceQuota):
            ignored = [f"scope {each}" for each in unsupported_scopes(item)] or unsupported_resources(item)
            if ignored:
                what = "the quota" if unsupported_scopes(item) else ", ".join(ignored)
                why = f" ({', '.join(ignored)})" if unsupported_scopes(item) else ""
                yield Gap("ResourceQuota", name, f"{what} is not enforced{why}", "")
        elif isinstance(item, api.LimitRange) and any(
            each.min or each.max or each.max_limit_request_ratio for each in item.spec.limits
        ):
            yield Gap("LimitRange", name, "defaults are applied; minima, maxima and ratios are not enforced", "")


def _selects_namespaces(spec: api.PodSpec) -> bool:
    affinity = spec.affinity
    for part in () if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity):
        if part is not None:
            preferred = part.preferred_during_scheduling_ignored_during_execution
            terms = (
                *part.required_during_scheduling_ignored_during_execution,
                *(each.pod_affinity_term for each in preferred),
            )
            if any(each.namespace_selector not in (None, api.LabelSelector()) for each in terms):
                return True
    return False
