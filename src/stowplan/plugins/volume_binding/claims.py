"""PersistentVolumeClaims of a pod: problems, and the state of their binding.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (GetPodVolumeClaims)
"""

from __future__ import annotations

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.quantity import Exact, parse
from stowplan.cache import Store
from stowplan.cache.volumes import BIND_COMPLETED, SELECTED_NODE, claim_name, not_found, not_owner


def find_problem(pod: fwk.Pod, claims: Store[api.PersistentVolumeClaim]) -> str | None:
    """The first problem of the pod's claims that keeps it from every node, None if there is none."""
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            continue
        ephemeral = volume.persistent_volume_claim is None
        claim = claims.get(name, pod.namespace)
        if claim is None:
            if ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return not_found("persistentvolumeclaim", name)
        if claim.status.phase == "Lost":
            volume_name = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume_name}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and (problem := not_owner(pod, claim)):
            return problem
    return None


def is_bound(claim: api.PersistentVolumeClaim) -> bool:
    """Whether the binding is complete in both directions."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def selected_node(claim: api.PersistentVolumeClaim) -> str | None:
    """The node that the claim is being provisioned for (annotation selected-node)."""
    return claim.metadata.annotations.get(SELECTED_NODE)


def requested_size(claim: api.PersistentVolumeClaim) -> Exact:
    return parse(claim.spec.resources.requests.get("storage", 0))
