"""A case: a cluster and one pending pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import CASE_LISTS
from stowplan.api.pod import FINISHED_PHASES
from stowplan.api.validation import validate
from stowplan.config.errors import InvalidConfigurationError
from stowplan.config.releases import RELEASES, Release, release_of
from stowplan.config.strict_decoding import suggestion
from stowplan.config.text import parse as parse_config
from stowplan.errors import InputError
from stowplan.evaluation.fields import fields_of

_MAX_REPORTED_PROBLEMS = 3
_MAX_NAME_LENGTH = 100
_MAX_CONFIG_BYTES = 1 << 20


class Case(msgspec.Struct, kw_only=True):
    """One case. Objects are as the API server stores them, with all defaults."""

    id: str | int | None = None
    config: dict[str, Any] | None = None
    release: Release | None = None
    pod: api.Pod
    nodes: tuple[api.Node, ...] = ()
    pods: tuple[api.Pod, ...] = ()
    nominated_pods: tuple[api.Pod, ...] = msgspec.field(default=(), name="nominatedPods")
    namespaces: tuple[api.Namespace, ...] = ()
    services: tuple[api.Service, ...] = ()
    replicasets: tuple[api.ReplicaSet, ...] = ()
    replicationcontrollers: tuple[api.ReplicationController, ...] = ()
    statefulsets: tuple[api.StatefulSet, ...] = ()
    pvcs: tuple[api.PersistentVolumeClaim, ...] = ()
    pvs: tuple[api.PersistentVolume, ...] = ()
    storageclasses: tuple[api.StorageClass, ...] = ()
    csinodes: tuple[api.CSINode, ...] = ()
    csidrivers: tuple[api.CSIDriver, ...] = ()
    csistoragecapacities: tuple[api.CSIStorageCapacity, ...] = ()
    volumeattachments: tuple[api.VolumeAttachment, ...] = ()
    pdbs: tuple[api.PodDisruptionBudget, ...] = ()
    resourceclaims: tuple[api.ResourceClaim, ...] = ()
    resourceclaimtemplates: tuple[api.ResourceClaimTemplate, ...] = ()
    deviceclasses: tuple[api.DeviceClass, ...] = ()
    resourceslices: tuple[api.ResourceSlice, ...] = ()

    def lookups(self) -> Iterator[Any]:
        """All objects other than nodes and pods."""
        for field in CASE_LISTS:
            if field not in ("nodes", "pods"):
                yield from getattr(self, field)

    def running(self) -> list[api.Pod]:
        """Unfinished pods in the API server's list order, which decides ties between victims."""
        alive = (pod for pod in self.pods if pod.status.phase not in FINISHED_PHASES)
        return sorted(alive, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))


_FIELDS = {field.encode_name: field for field in msgspec.structs.fields(Case)}


def read_case(line: bytes) -> Case:
    """Decode and validate one case. Raises InputError with the first problems, on one line."""
    try:
        given = _decode_fields(line)
    except RecursionError as error:
        raise InputError("nested too deeply") from error
    if "pod" not in given:
        raise InputError("$.pod: required")
    case = Case(**given)
    problems = list(islice(_problems(case), _MAX_REPORTED_PROBLEMS + 1))
    if problems:
        raise InputError(
            "; ".join(problems[:_MAX_REPORTED_PROBLEMS] + ["and more"] * (len(problems) > _MAX_REPORTED_PROBLEMS))
        )
    case.pod = _with_uid(case.pod)
    case.pods = tuple(map(_with_uid, case.pods))
    case.nominated_pods = tuple(map(_with_uid, case.nominated_pods))
    return case


def _decode_fields(line: bytes) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in fields_of(line).items():
        if name not in _FIELDS:
            raise InputError(f"$.{name}: unknown field{suggestion(name[:_MAX_NAME_LENGTH], _FIELDS)}")
        read = _READERS.get(name)
        given[_FIELDS[name].name] = _decode(name, value) if read is None else read(value)
    return given


def _decode(name: str, value: Any) -> Any:
    try:
        return codec.decode(_FIELDS[name].type, value)
    except codec.DecodeError as error:
        raise InputError(str(error).replace("$", f"$.{name}", 1)) from error


def _decode_config(value: Any) -> dict[str, Any]:
    text = bytes(value)
    if len(text) > _MAX_CONFIG_BYTES:
        raise InputError("$.config: larger than 1 MiB")
    config, repeated = parse_config(text, "config")
    if repeated:
        raise InvalidConfigurationError("config", repeated)
    return config


def _decode_release(value: Any) -> Release:
    version = _decode_text(value)
    try:
        release = release_of(version)
    except ValueError as error:
        raise InputError(f"$.release: {error}") from error
    if not version.removeprefix("v").startswith(release.version):
        raise InputError(f'$.release: must be one of {", ".join(RELEASES)}, got "{version}"')
    return release


def _decode_text(value: Any) -> str:
    try:
        return msgspec.json.decode(bytes(value), type=str)
    except msgspec.ValidationError as error:
        raise InputError(f"$.release: {error}") from error


_READERS = {"config": _decode_config, "release": _decode_release}


def _with_uid(pod: api.Pod) -> api.Pod:
    """The pod with a uid; hand-written cases often omit it."""
    meta = pod.metadata
    return pod if meta.uid else replace(pod, metadata=replace(meta, uid=f"{meta.namespace}/{meta.name}"))


def _problems(case: Case) -> Iterator[str]:
    yield from validate("Pod", case.pod, "$.pod")
    for index, pod in enumerate(case.nominated_pods):
        yield from validate("Pod", pod, f"$.nominatedPods[{index}]")
        if pod.spec.node_name or not pod.status.nominated_node_name:
            yield f"$.nominatedPods[{index}]: must have status.nominatedNodeName and no spec.nodeName"
    for field, kind in CASE_LISTS.items():
        names: set[tuple[str, str]] = set()
        for index, item in enumerate(getattr(case, field)):
            path = f"$.{field}[{index}]"
            yield from validate(kind.name, item, path)
            name = (item.metadata.namespace, item.metadata.name)
            if name in names and name[1]:
                yield f'{path}.metadata.name: duplicate {kind.name} "{"/".join(filter(None, name))}"'
            names.add(name)
    for index, pod in enumerate(case.pods):
        if not pod.spec.node_name:
            yield f"$.pods[{index}].spec.nodeName: required, since these pods run"
    yield from _repeated_uids(case)


def _repeated_uids(case: Case) -> Iterable[str]:
    seen: set[str] = set()
    for field, pods in (("pods", case.pods), ("nominatedPods", case.nominated_pods)):
        for index, pod in enumerate(pods):
            uid = pod.metadata.uid
            if uid in seen:
                yield f'$.{field}[{index}].metadata.uid: duplicate "{uid}"'
            elif uid:
                seen.add(uid)
    if case.pod.metadata.uid in seen:
        yield f'$.pod.metadata.uid: duplicate "{case.pod.metadata.uid}"'
