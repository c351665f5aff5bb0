"""Checks of the input as a whole: references to missing objects, its size, and notes on surprising inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.input.ownership import Objects, Ownership, describe, listed
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.workloads import CONTROLLERS, pod_spec_of

MAX_PODS = 200_000


def daemons_without_nodes(objects: Objects) -> Iterator[str]:
    """DaemonSets of an input without nodes."""
    if not any(isinstance(item, api.Node) for item, _ in objects):
        for item, origin in objects:
            if _is_one_per_node(item):
                yield origin.locate(
                    f"$: {describe(item)} has a pod for each node, and the input has no nodes: add some"
                )


def _is_one_per_node(item: Any) -> bool:
    controller = CONTROLLERS.get(type(item))
    return controller is not None and controller.one_per_node


def too_many_pods(ownership: Ownership) -> Iterator[str]:
    """Workloads that want more pods than can be simulated, alone or together."""
    nodes = sum(isinstance(item, api.Node) for item, _ in ownership.objects)
    total = 0
    for item, origin in ownership.objects:
        controller = CONTROLLERS.get(type(item))
        path, wanted = "$", int(isinstance(item, api.Pod))
        if controller is not None and controller.one_per_node:
            wanted = nodes
        elif controller is not None:
            path, wanted = controller.replicas_path, controller.desired_pods(item)
        if wanted > MAX_PODS:
            yield origin.locate(f"{path}: {wanted} pods, and no more than {MAX_PODS} can be simulated")
        elif ownership.owner_of(item) is None:
            total += wanted
            if total > MAX_PODS >= total - wanted:
                too_many = f"with {describe(item)} the input has more than the {MAX_PODS} pods that can be simulated"
                yield origin.locate(f"{path}: {too_many}")


def notes(objects: Objects, *, from_cluster: bool = False) -> Iterator[str]:
    """Notes on an input that can be simulated, but may have an unexpected result.

    References of a cluster's objects to missing ones are noted only: the cluster does not have them either.
    """
    items = [item for item, _ in objects]
    if from_cluster:
        yield from _missing_in_cluster(items)
    nodes = [item for item in items if isinstance(item, api.Node)]
    if full := [
        node.metadata.name for node in nodes if "pods" not in (node.status.allocatable or node.status.capacity)
    ]:
        yield f'no pod fits, since status.allocatable has no "pods": {listed("node", full)}'


def _missing_in_cluster(items: list[Any]) -> Iterator[str]:
    if claims := dict.fromkeys(_missing_claims(items)):
        yield f"pods refer to objects that are not in the input: {listed('PersistentVolumeClaim', claims)}"
    for kind in (api.ResourceClaim, api.ResourceClaimTemplate):
        if missing := dict.fromkeys(_missing_device_claims(items, kind)):
            yield f"pods refer to objects that are not in the input: {listed(kind.__name__, missing)}"
    nodes = {item.metadata.name for item in items if isinstance(item, api.Node)}
    used = dict.fromkeys(item.spec.node_name for item in items if isinstance(item, api.Pod))
    if strange := [name for name in used if name and name not in nodes]:
        yield f"pods run on nodes that are not in the input: {listed('node', strange)}"


def _missing_claims(items: list[Any]) -> Iterator[str]:
    present = {
        (item.metadata.namespace, item.metadata.name) for item in items if isinstance(item, api.PersistentVolumeClaim)
    }
    for item in items:
        for name in _claims_needed(item):
            if (item.metadata.namespace, name) not in present:
                yield f"{item.metadata.namespace}/{name}"


def _missing_device_claims(items: list[Any], kind: type[Any]) -> Iterator[str]:
    """ResourceClaims, or ResourceClaimTemplates, that pending pods refer to and the input lacks."""
    present = {(item.metadata.namespace, item.metadata.name) for item in items if isinstance(item, kind)}
    for item in items:
        for entry in () if (spec := _spec_to_place(item)) is None else spec.resource_claims:
            made = entry.resource_claim_name is None
            name = entry.resource_claim_template_name if made else entry.resource_claim_name
            wanted = api.ResourceClaimTemplate if made else api.ResourceClaim
            if name and wanted is kind and (item.metadata.namespace, name) not in present:
                yield f"{item.metadata.namespace}/{name}"


def _spec_to_place(item: Any) -> api.PodSpec | None:
    """The spec of an object's pods, if they are to be scheduled."""
    spec = pod_spec_of(item)
    return None if spec is None or spec.node_name or (isinstance(item, api.Pod) and is_finished(item)) else spec


def _claims_needed(item: Any) -> Iterator[str]:
    """PersistentVolumeClaims that pending pods refer to, without those created with the pods."""
    spec = _spec_to_place(item)
    if spec is None:
        return
    own = {each.metadata.name for each in getattr(item.spec, "volume_claim_templates", ())}
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None and volume.name not in own:
            yield volume.persistent_volume_claim.claim_name
