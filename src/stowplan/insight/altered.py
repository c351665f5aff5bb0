"""Exact checks of changes: an altered pod, filtered by the profile's own plugins.

The altered pod is interned under a template of its own and counts nowhere. PreFilter runs anew: nothing that was
computed for the unaltered pod is trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.framework import PatchOperation, Pod, Slots
from stowplan.insight.json_patch import apply_patch
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.profile.profile import Profile


def document(pod: Pod) -> dict[str, Any]:
    """The pod as JSON, as far as scheduling reads it."""
    owner = pod.template.controller
    metadata = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "labels": dict(pod.labels),
        "ownerReferences": [] if owner is None else [owner],
    }
    status = {"resourceClaimStatuses": pod.template.claim_statuses}
    return codec.whole(codec.encode({"metadata": metadata, "spec": pod.spec, "status": status}))


def altered_pod(profile: Profile, pod: Pod, patch: Sequence[PatchOperation]) -> Pod:
    """The pod with a patch applied."""
    return profile.cluster.pod(codec.convert(api.Pod, apply_patch(document(pod), patch)))


def feasible_with(profile: Profile, pod: Pod, patch: Sequence[PatchOperation]) -> Slots:
    """The nodes on which the altered pod fits."""
    return Diagnosis(profile, altered_pod(profile, pod, patch), plain=True).run().feasible
