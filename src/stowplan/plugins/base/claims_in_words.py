"""PersistentVolumeClaims in explanations: the problems of a pod's claims, and the places of their volumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.near_names import near_names
from stowplan.api.selector_words import listed, topology_in_words
from stowplan.cache import Cluster
from stowplan.cache.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, claim_name, not_owner, storage_class_of

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_IN_TREE_PREFIX = "kubernetes.io/"


_ORDER = ("claim.missing", "claim.lost", "claim.deleting", "claim.not-owned", "claim.unbound")
"""The order in which plugins look for problems: VolumeRestrictions for missing claims, VolumeBinding for the rest."""


def explain_claims(cluster: Cluster, pod: fwk.Pod, now: float) -> list[fwk.Refusal]:
    """The claims that keep the pod from every node."""
    return sorted(_claims_with_problems(cluster, pod, now), key=lambda refusal: _ORDER.index(refusal.id))


def _claims_with_problems(cluster: Cluster, pod: fwk.Pod, now: float) -> Iterator[fwk.Refusal]:
    claims = cluster.stores.of(api.PersistentVolumeClaim)
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            continue
        claim = claims.get(name, pod.namespace)
        if claim is None:
            yield _missing(cluster, pod, volume, name)
        else:
            yield from _problems(cluster, pod, volume, claim, now)


def location_refusal(
    volume: str, claim: str, reachable: str, keys: Iterable[str], node: fwk.NodeInfo, reasons: tuple[str, ...]
) -> fwk.Refusal:
    """A volume that cannot be reached from a node; `keys` are the node labels that decide it."""
    names = sorted(keys)
    words = []
    for key in names:
        word, value = topology_in_words(key), node.labels.get(key)
        if value is None:
            words.append(f"has no label {key}")
        else:
            words.append(f"is in {value}" if word in ("zone", "region") else f"has {key}={value}")
    there = listed(words) or "has no name that matches"
    return fwk.Refusal(
        id="volume.location",
        reasons=reasons,
        text=f"its volume {volume} (claim {claim}) can be reached from {reachable} only; the node {there}",
        wanted=f"reaches volume {volume} ({reachable})",
        there=there,
        rule=f"reaches volume {volume}",
        lasting=True,
        facts={"volume": volume, "claim": claim, "reachable": reachable, "keys": names},
    )


def _missing(cluster: Cluster, pod: fwk.Pod, volume: api.Volume, name: str) -> fwk.Refusal:
    return fwk.Refusal(
        id="claim.missing",
        text=f"Claim {name} does not exist in namespace {pod.namespace}",
        facts={"claim": name, "namespace": pod.namespace},
        notes=tuple(_notes_of_missing(cluster, pod, volume, name)),
    )


def _notes_of_missing(cluster: Cluster, pod: fwk.Pod, volume: api.Volume, name: str) -> Iterator[str]:
    owner = pod.template.controller
    if volume.persistent_volume_claim is None:
        yield f"The ephemeral volume controller creates it for volume {volume.name}, and has not done so."
    elif owner is not None and owner.kind == "StatefulSet" and name.endswith(f"-{pod.name}"):
        yield f"StatefulSet/{owner.name} creates it from a claim template, and has not done so."
    claims = list(cluster.stores.of(api.PersistentVolumeClaim))
    own = [claim.metadata.name for claim in claims if claim.metadata.namespace == pod.namespace]
    if near := near_names(name, own):
        yield f"Namespace {pod.namespace} has a claim {near[0]}."
    elsewhere = sorted(claim.metadata.namespace for claim in claims if claim.metadata.name == name)
    if elsewhere:
        yield f"Namespace {listed(elsewhere[:3])} {'has' if len(elsewhere) == 1 else 'have'} a claim {name}."


def _problems(
    cluster: Cluster, pod: fwk.Pod, volume: api.Volume, claim: api.PersistentVolumeClaim, now: float
) -> Iterator[fwk.Refusal]:
    name, bound_to = claim.metadata.name, claim.spec.volume_name
    facts: dict[str, Any] = {"claim": name, "namespace": pod.namespace}
    if bound_to:
        facts["volume"] = bound_to
    complete = bool(bound_to) and BIND_COMPLETED in claim.metadata.annotations
    gone = bool(bound_to) and cluster.stores.of(api.PersistentVolume).get(bound_to) is None
    if claim.status.phase == "Lost" or (complete and gone):
        text = f"Claim {name} is bound to volume {bound_to}, which does not exist"
        yield fwk.Refusal(id="claim.lost", text=text, lasting=True, facts=facts)
    elif claim.metadata.deletion_timestamp is not None:
        yield fwk.Refusal(id="claim.deleting", text=f"Claim {name} is being deleted", lasting=True, facts=facts)
    elif volume.persistent_volume_claim is None and not_owner(pod, claim):
        text = f"Claim {name} has the name that the ephemeral volume {volume.name} needs, and was not made for this pod"
        yield fwk.Refusal(id="claim.not-owned", text=text, lasting=True, facts=facts)
    elif not complete:
        yield from _unbound(cluster, claim, facts, now)


def _unbound(
    cluster: Cluster, claim: api.PersistentVolumeClaim, facts: dict[str, Any], now: float
) -> Iterator[fwk.Refusal]:
    classes = cluster.stores.of(api.StorageClass)
    class_name = storage_class_of(claim)
    storage_class = classes.get(class_name) if class_name else None
    delays = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    if delays and not claim.spec.volume_name:
        return
    text = f"Claim {claim.metadata.name} is not bound"
    notes: list[str] = []
    if class_name:
        facts["class"] = class_name
    if claim.spec.volume_name:
        text = f"Claim {claim.metadata.name} is being bound to volume {claim.spec.volume_name}"
    elif storage_class is not None:
        made = f"nothing has made a volume for it{_since(claim, now)}"
        text += f", and its class {class_name} binds at once: {made}"
        notes += _driver_notes(cluster, storage_class)
    elif class_name:
        text += f", and its class {class_name} does not exist"
        near = near_names(class_name, [each.metadata.name for each in classes])
        notes += [f"There is a class {near[0]}."] if near else []
    elif claim.spec.storage_class_name is None:
        text += ", and it names no storage class"
        defaults = sorted(c.metadata.name for c in classes if c.metadata.annotations.get(_DEFAULT_CLASS) == "true")
        notes.append(f"{defaults[0]} is the default class." if defaults else "No storage class is the default class.")
    else:
        text += ": it asks for a volume without a class, and no such volume is bound to it"
    yield fwk.Refusal(id="claim.unbound", text=text, facts=facts, notes=tuple(notes))


def _driver_notes(cluster: Cluster, storage_class: api.StorageClass) -> list[str]:
    provisioner = storage_class.provisioner
    if not provisioner or provisioner.startswith(_IN_TREE_PREFIX):
        return []
    if cluster.stores.of(api.CSIDriver).get(provisioner) is not None:
        return []
    return [f"There is no CSIDriver {provisioner}, the provisioner of class {storage_class.metadata.name}."]


def _since(claim: api.PersistentVolumeClaim, now: float) -> str:
    """`in 12 min`, since the claim was created."""
    if not claim.metadata.creation_timestamp:
        return ""
    seconds = int(now - datetime.fromisoformat(claim.metadata.creation_timestamp).timestamp())
    if seconds < 0:
        return ""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f" in {seconds // length:,} {unit}"
    return f" in {seconds} s"
