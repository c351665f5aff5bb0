"""Notes on an input that can be simulated, but perhaps not with the result that somebody hopes for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.ownership import listed
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.pod_templates import pod_spec_of


def notes(items: list[Any]) -> Iterator[str]:
    """What to tell about these objects."""
    if claims := dict.fromkeys(_missing_claims(items)):
        yield f"not in the input, though pods refer to them: {listed('PersistentVolumeClaim', claims)}"
    for kind in (api.ResourceClaim, api.ResourceClaimTemplate):
        if missing := dict.fromkeys(_missing_device_claims(items, kind)):
            yield f"not in the input, though pods refer to them: {listed(kind.__name__, missing)}"
    nodes = {item.metadata.name: item for item in items if isinstance(item, api.Node)}
    used = dict.fromkeys(item.spec.node_name for item in items if isinstance(item, api.Pod))
    if strange := [name for name in used if name and name not in nodes]:
        yield f"not in the input, though pods run there: {listed('node', strange)}"
    if full := [
        name for name, node in nodes.items() if "pods" not in (node.status.allocatable or node.status.capacity)
    ]:
        yield f'no room for pods, since status.allocatable does not tell of "pods": {listed("node", full)}'


def _missing_claims(items: list[Any]) -> Iterator[str]:
    present = {
        (item.metadata.namespace, item.metadata.name) for item in items if isinstance(item, api.PersistentVolumeClaim)
    }
    for item in items:
        for name in _claims_needed(item):
            if (item.metadata.namespace, name) not in present:
                yield f"{item.metadata.namespace}/{name}"


def _missing_device_claims(items: list[Any], kind: type[Any]) -> Iterator[str]:
    """Claims, or templates of claims, on devices that pods which are to be placed name in vain."""
    present = {(item.metadata.namespace, item.metadata.name) for item in items if isinstance(item, kind)}
    for item in items:
        for entry in () if (spec := _spec_to_place(item)) is None else spec.resource_claims:
            made = entry.resource_claim_name is None
            name = entry.resource_claim_template_name if made else entry.resource_claim_name
            wanted = api.ResourceClaimTemplate if made else api.ResourceClaim
            if name and wanted is kind and (item.metadata.namespace, name) not in present:
                yield f"{item.metadata.namespace}/{name}"


def _spec_to_place(item: Any) -> api.PodSpec | None:
    """What the pods of an object ask for, if they are to be placed."""
    spec = pod_spec_of(item)
    return None if spec is None or spec.node_name or (isinstance(item, api.Pod) and is_finished(item)) else spec


def _claims_needed(item: Any) -> Iterator[str]:
    """The claims that pods which are to be placed refer to, other than those that come to be with them."""
    spec = _spec_to_place(item)
    if spec is None:
        return
    own = {each.metadata.name for each in getattr(item.spec, "volume_claim_templates", ())}
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None and volume.name not in own:
            yield volume.persistent_volume_claim.claim_name
