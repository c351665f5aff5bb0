"""Claims, volumes and storage classes that an input refers to and lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.cache.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, storage_class_of
from stowplan.simulator.admission import DEFAULT_CLASS_ANNOTATION
from stowplan.simulator.identity import make_uid
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.gap import Gap, missing, specs_to_place
from stowplan.simulator.input.ownership import Objects, describe

_BOUND = "bound to a volume that every node can use"
_USABLE = "every node can use it"
_PROVISIONS = "it provisions volumes on every node, once a pod is placed"
_DEFAULT_CLASS_NAME = "assumed-default"


def storage_gaps(objects: Objects) -> Iterator[Gap]:
    """Missing claims of pods, running ones too since they may be evicted; volumes of claims; classes of new claims."""
    yield from _claim_gaps(objects)
    yield from _volume_gaps(objects)
    yield from _class_gaps(objects)


def _claim_gaps(objects: Objects) -> Iterator[Gap]:
    known = {key_of(item.metadata) for item, _ in objects if isinstance(item, api.PersistentVolumeClaim)}
    for item, origin, spec, path in specs_to_place(objects, running=True):
        created = {each.metadata.name for each in getattr(item.spec, "volume_claim_templates", ())}
        for index, volume in enumerate(spec.volumes):
            source = volume.persistent_volume_claim
            if source is None or volume.name in created:
                continue
            key = f"{item.metadata.namespace}/{source.claim_name}"
            if key not in known:
                known.add(key)
                field = f"{path}.volumes[{index}].persistentVolumeClaim.claimName"
                problem = missing(origin, f"{field}: {describe(item)} needs PersistentVolumeClaim {key}")
                assumed = _bound_claim(item.metadata.namespace, source.claim_name)
                yield Gap("PersistentVolumeClaim", key, _BOUND, problem, assumed=assumed)


def _bound_claim(namespace: str, name: str) -> tuple[Any, ...]:
    volume_name = f"assumed-{namespace}-{name}"
    metadata = api.ObjectMeta(
        name=name,
        namespace=namespace,
        uid=make_uid("PersistentVolumeClaim", f"{namespace}/{name}", 0),
        annotations={BIND_COMPLETED: "yes"},
    )
    claim = api.PersistentVolumeClaim(
        metadata=metadata,
        spec=api.PersistentVolumeClaimSpec(volume_name=volume_name, storage_class_name=""),
        status=api.PersistentVolumeClaimStatus(phase="Bound"),
    )
    return claim, _volume(volume_name, claim)


def _volume(name: str, claim: api.PersistentVolumeClaim) -> api.PersistentVolume:
    """A volume without node affinity, bound to the claim."""
    metadata, spec = claim.metadata, claim.spec
    reference = api.ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
    )
    return api.PersistentVolume(
        metadata=api.ObjectMeta(name=name),
        spec=api.PersistentVolumeSpec(
            capacity=spec.resources.requests,
            access_modes=spec.access_modes,
            storage_class_name=storage_class_of(claim),
            volume_mode=spec.volume_mode,
            claim_ref=reference,
        ),
        status=api.PersistentVolumeStatus(phase="Bound"),
    )


def _volume_gaps(objects: Objects) -> Iterator[Gap]:
    known = {item.metadata.name for item, _ in objects if isinstance(item, api.PersistentVolume)}
    for item, origin in objects:
        if isinstance(item, api.PersistentVolumeClaim) and item.spec.volume_name:
            name = item.spec.volume_name
            if name not in known:
                known.add(name)
                problem = f"$.spec.volumeName: {describe(item)} is bound to PersistentVolume {name}"
                yield Gap("PersistentVolume", name, _USABLE, missing(origin, problem), assumed=(_volume(name, item),))


def _class_gaps(objects: Objects) -> Iterator[Gap]:
    """Classes of claims without a volume. A class without an object is enough for volumes that have it."""
    classes = {item.metadata.name for item, _ in objects if isinstance(item, api.StorageClass)}
    known: set[str | None] = {
        *classes,
        "",
        *(storage_class_of(item) for item, _ in objects if isinstance(item, api.PersistentVolume)),
    }
    if classes or any(isinstance(item, api.PersistentVolume) and not storage_class_of(item) for item, _ in objects):
        known.add(None)
    for claim, origin, path in _new_claims(objects):
        name = storage_class_of(claim) or claim.spec.storage_class_name
        if name in known:
            continue
        known.add(name)
        if name is None:
            problem = origin.locate(
                f"{path}.storageClassName: not set, and the input has no default StorageClass: add it"
            )
            yield Gap("StorageClass", "", f"a default class; {_PROVISIONS}", problem, assumed=(_default_class(),))
        else:
            problem = missing(origin, f"{path}.storageClassName: a claim needs StorageClass {name}")
            yield Gap("StorageClass", name, _PROVISIONS, problem, assumed=(_storage_class(name),))


def _new_claims(objects: Objects) -> Iterator[tuple[Any, Origin, str]]:
    """Claims and claim templates without a volume, with the path of the claim's spec."""
    for item, origin in objects:
        if isinstance(item, api.PersistentVolumeClaim) and not item.spec.volume_name:
            yield item, origin, "$.spec"
        for index, template in enumerate(getattr(getattr(item, "spec", None), "volume_claim_templates", ())):
            yield template, origin, f"$.spec.volumeClaimTemplates[{index}].spec"
    for _, origin, spec, path in specs_to_place(objects):
        for index, volume in enumerate(spec.volumes):
            template = None if volume.ephemeral is None else volume.ephemeral.volume_claim_template
            if template is not None:
                yield template, origin, f"{path}.volumes[{index}].ephemeral.volumeClaimTemplate.spec"


def _storage_class(name: str, **annotations: str) -> api.StorageClass:
    return api.StorageClass(
        metadata=api.ObjectMeta(name=name, annotations=annotations),
        provisioner="assumed",
        volume_binding_mode=WAIT_FOR_FIRST_CONSUMER,
    )


def _default_class() -> api.StorageClass:
    return _storage_class(_DEFAULT_CLASS_NAME, **{DEFAULT_CLASS_ANNOTATION: "true"})
