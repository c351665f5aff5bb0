"""The part of the PV controller that a scheduler waits for: completes bindings, and provisions volumes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.builders import HOSTNAME

from stowplan import api
from stowplan.api import codec
from stowplan.cache.volumes import BIND_COMPLETED, SELECTED_NODE
from stowplan.simulator.api_server import ApiServer


def reconcile(world: ApiServer, *, provisioning_fails: bool = False) -> None:
    """One round over all claims."""
    for claim in list(world.all(api.PersistentVolumeClaim)):
        if BIND_COMPLETED in claim.metadata.annotations:
            continue
        storage_class = world.get(api.StorageClass, claim.spec.storage_class_name or "")
        selected = claim.metadata.annotations.get(SELECTED_NODE, "")
        reserved = next((volume for volume in world.all(api.PersistentVolume) if _is_for(volume, claim)), None)
        if reserved is not None:
            _bind(world, claim, reserved)
        elif storage_class is None:
            continue
        elif selected and provisioning_fails:
            annotations = dict(claim.metadata.annotations)
            del annotations[SELECTED_NODE]
            _put_annotations(world, claim, annotations)
        elif selected or storage_class.volume_binding_mode == "Immediate":
            _bind(world, claim, world.put(_made_for(claim, selected)))


def _is_for(volume: api.PersistentVolume, claim: api.PersistentVolumeClaim) -> bool:
    ref = volume.spec.claim_ref
    return ref is not None and ref.uid == claim.metadata.uid


def _made_for(claim: api.PersistentVolumeClaim, node_name: str) -> api.PersistentVolume:
    ref = {"namespace": claim.metadata.namespace, "name": claim.metadata.name, "uid": claim.metadata.uid}
    spec: dict[str, Any] = {
        "storageClassName": claim.spec.storage_class_name,
        "capacity": {"storage": "1Gi"},
        "accessModes": list(claim.spec.access_modes),
        "claimRef": ref,
    }
    if node_name:
        expressions = [{"key": HOSTNAME, "operator": "In", "values": [node_name]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    metadata = {"name": f"pvc-{claim.metadata.uid}"}
    return codec.convert(api.PersistentVolume, {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}})


def _bind(world: ApiServer, claim: api.PersistentVolumeClaim, volume: api.PersistentVolume) -> None:
    spec = replace(claim.spec, volume_name=volume.metadata.name)
    bound = replace(claim, spec=spec, status=replace(claim.status, phase="Bound"))
    _put_annotations(world, bound, {**claim.metadata.annotations, BIND_COMPLETED: "yes"})


def _put_annotations(world: ApiServer, claim: api.PersistentVolumeClaim, annotations: dict[str, str]) -> None:
    world.put(replace(claim, metadata=replace(claim.metadata, annotations=annotations)))
