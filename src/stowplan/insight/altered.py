"""Exact checks of changes: an altered pod or node, filtered by the profile's own plugins.

An altered pod is interned under a template of its own and counts nowhere. An altered or further node is put into the
cache for the time of the check, and the original is put back; the change logs record both, so answers that the check
reads are repaired, and answers that it does not read stay valid (`NodeTable.temporary_changes`). PreFilter runs anew
each time: nothing that was computed for the unaltered pod is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec
from stowplan.errors import StowplanError
from stowplan.framework import Code, CycleState, NodeInfo, PatchOperation, Pod, Status
from stowplan.insight.json_patch import apply_patch
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.filtering import filter_node, run_pre_filters
from stowplan.runtime.points.cycle_error import CycleError
from stowplan.runtime.profile.profile import Profile

NOT_LEFT_BY_PRE_FILTER = Status(Code.UnschedulableAndUnresolvable, "node(s) left out by PreFilter")


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
    whole = codec.whole(codec.encode({"metadata": metadata, "spec": pod.spec, "status": status}))
    if pod.node_name:
        whole["spec"]["nodeName"] = pod.node_name
    return whole


def altered_pod(profile: Profile, pod: Pod, patch: Sequence[PatchOperation]) -> Pod:
    """The pod with a patch applied."""
    return profile.cluster.pod(codec.convert(api.Pod, apply_patch(document(pod), patch)))


def diagnose_altered(profile: Profile, pod: Pod, patch: Sequence[PatchOperation]) -> Diagnosis | None:
    """All nodes for the altered pod; None where the patch is invalid or a plugin fails."""
    try:
        return Diagnosis(profile, altered_pod(profile, pod, patch)).run()
    except (CycleError, StowplanError):
        return None


def best_node(diagnosis: Diagnosis) -> str:
    """The node that the scheduler would choose of the feasible ones."""
    from stowplan.runtime.decide.decision import best_slots

    infos = diagnosis.profile.cluster.nodes.infos
    slots = diagnosis.feasible if len(diagnosis.feasible) == 1 else best_slots(diagnosis.score())
    info = infos[int(slots[0])]
    assert info is not None
    return info.name


def status_on(profile: Profile, pod: Pod, info: NodeInfo) -> Status | None:
    """PreFilter and all filters on one node; None if the pod fits there."""
    state = CycleState()
    pre_filtered = run_pre_filters(profile.pre_filters, state, pod, profile.cluster.nodes.everything())
    if pre_filtered.status is not None:
        return pre_filtered.status
    if pre_filtered.names is not None and info.name not in pre_filtered.names:
        return NOT_LEFT_BY_PRE_FILTER
    return filter_node(profile, state, pod, info)


@contextmanager
def altered_node(profile: Profile, info: NodeInfo, patch: Sequence[PatchOperation]) -> Iterator[NodeInfo]:
    """The node with a patch applied, for the time of the check."""
    cluster, before, source = profile.cluster, info.node, info.source
    changed = codec.convert(api.Node, apply_patch(codec.whole(codec.encode(before)), patch))
    # Equal images must be the same object: the cache takes others for a change.
    changed = replace(changed, status=replace(changed.status, images=before.status.images))
    with cluster.nodes.temporary_changes():
        try:
            yield cluster.put_node(changed, source)
        finally:
            cluster.put_node(before, source)


@contextmanager
def further_node(profile: Profile, like: NodeInfo, name: str) -> Iterator[NodeInfo]:
    """One more node with the labels, taints and amounts of another, for the time of the check."""
    node = codec.whole(codec.encode(like.node))
    node["metadata"] |= {"name": name, "uid": name}
    labels = node["metadata"].setdefault("labels", {})
    if "kubernetes.io/hostname" in labels:
        labels["kubernetes.io/hostname"] = name
    node["status"].pop("images", None)  # No filter reads them, and scores of all nodes depend on them.
    with profile.cluster.nodes.temporary_changes():
        try:
            yield profile.cluster.put_node(codec.convert(api.Node, node))
        finally:
            profile.cluster.remove_node(name)
