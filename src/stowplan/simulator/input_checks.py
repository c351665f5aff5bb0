"""What an input must have, beyond objects that are right one by one, for a simulation to make sense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.simulator.api_server import controller_of
from stowplan.simulator.documents import Origin
from stowplan.simulator.manifests import Manifests, refuse
from stowplan.simulator.ownership import Ownership, describe
from stowplan.simulator.pod_status import is_finished
from stowplan.simulator.pod_templates import find_template, pod_spec_of


def check(manifests: Manifests) -> None:
    """Raise an InputError that tells what is missing, and what to do about it, a line each."""
    refuse(list(problems(manifests.objects)))


def problems(objects: list[tuple[Any, Origin]]) -> Iterator[str]:
    """All that is missing from an input."""
    claims = {key_of(item.metadata) for item, _ in objects if isinstance(item, api.PersistentVolumeClaim)}
    has_nodes = any(isinstance(item, api.Node) for item, _ in objects)
    ownership = Ownership(objects)
    for item, origin in ownership.objects:
        if isinstance(item, api.DaemonSet) and not has_nodes:
            yield origin.tell(f"$: {describe(item)} has a pod for each node, and the input has no nodes: add some")
        elif isinstance(item, api.Pod):
            yield from _owner_problems(item, origin, ownership)
        yield from _claim_problems(item, origin, claims)


def _owner_problems(pod: api.Pod, origin: Origin, ownership: Ownership) -> Iterator[str]:
    """A pod that is to be placed is made anew when it is evicted, so there must be somebody who does that."""
    owner = controller_of(pod)
    if owner is None or owner.kind not in api.KINDS or _is_settled(pod) or ownership.owner_of(pod) is not None:
        return
    index = pod.metadata.owner_references.index(owner)
    yield origin.tell(
        f"$.metadata.ownerReferences[{index}]: {describe(pod)} is pending and the {owner.kind} "
        f'"{owner.name}" that controls it is not in the input: add it, or take out the reference'
    )


def _claim_problems(item: Any, origin: Origin, claims: set[str]) -> Iterator[str]:
    spec = pod_spec_of(item)
    if spec is None or (isinstance(item, api.Pod) and _is_settled(item)):
        return
    found = find_template(item)
    path = f"${found.path}.spec" if found is not None else "$.spec"
    made = {each.metadata.name for each in getattr(item.spec, "volume_claim_templates", ())}
    for index, volume in enumerate(spec.volumes):
        source = volume.persistent_volume_claim
        if source is None or volume.name in made:
            continue
        name = f"{item.metadata.namespace}/{source.claim_name}"
        if name not in claims:
            yield origin.tell(
                f"{path}.volumes[{index}].persistentVolumeClaim.claimName: "
                f"{describe(item)} needs PersistentVolumeClaim {name}, which is not in the input: add it"
            )


def _is_settled(pod: api.Pod) -> bool:
    """Whether there is nothing left to decide about a pod."""
    return bool(pod.spec.node_name) or is_finished(pod)
