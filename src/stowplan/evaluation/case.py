"""A case: a cluster and one pending pod, or the pending members of one pod group."""

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
from stowplan.evaluation.fields import Fields, fields_of

_MAX_REPORTED_PROBLEMS = 3
_MAX_NAME_LENGTH = 100
_MAX_CONFIG_BYTES = 1 << 20


class ClusterCase(msgspec.Struct, kw_only=True):
    """The cluster of a case. Objects are as the API server stores them, with all defaults."""

    id: str | int | None = None
    config: dict[str, Any] | None = None
    release: Release | None = None
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
    priorityclasses: tuple[api.PriorityClass, ...] = ()
    coschedulingpodgroups: tuple[api.CoschedulingPodGroup, ...] = ()
    elasticquotas: tuple[api.ElasticQuota, ...] = ()
    noderesourcetopologies: tuple[api.NodeResourceTopology, ...] = ()

    def lookups(self) -> Iterator[Any]:
        """All objects other than nodes and pods."""
        for field in CASE_LISTS:
            if field not in ("nodes", "pods"):
                yield from getattr(self, field)

    def running(self) -> list[api.Pod]:
        """Unfinished pods in the API server's list order, which decides ties between victims."""
        alive = (pod for pod in self.pods if pod.status.phase not in FINISHED_PHASES)
        return sorted(alive, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))


class Case(ClusterCase, kw_only=True):
    """One pending pod."""

    pod: api.Pod


class GroupName(msgspec.Struct, kw_only=True):
    """The group of a case."""

    namespace: str = ""
    name: str = ""


class GroupCase(ClusterCase, kw_only=True):
    """The pending members of one pod group, in the order of the queue."""

    gates: str = "gang"
    """Words joined by "+": generic, gang, tas, wap, claims."""
    ties: str = ""
    """"name": of nodes and placements that are equal by all criteria, the first by name is chosen."""
    group: GroupName
    pod_groups: tuple[api.PodGroup, ...] = msgspec.field(default=(), name="podGroups")
    group_pods: tuple[api.Pod, ...] = msgspec.field(default=(), name="groupPods")


_FIELDS: dict[type[ClusterCase], dict[str, msgspec.structs.FieldInfo]] = {
    kind: {field.encode_name: field for field in msgspec.structs.fields(kind)} for kind in (Case, GroupCase)
}
_GROUP_FIELDS = _FIELDS[GroupCase].keys() - _FIELDS[Case].keys()


def read_case(line: bytes) -> Case:
    """Decode and validate a case about one pod. Raises InputError with the first problems, on one line."""
    case = read_any_case(line)
    if not isinstance(case, Case):
        raise InputError("$.pod: required")
    return case


def read_any_case(line: bytes) -> Case | GroupCase:
    """Decode and validate one case. A case with a field of group cases is one. Raises InputError."""
    try:
        fields = fields_of(line)
        kind = Case if _GROUP_FIELDS.isdisjoint(fields) else GroupCase
        given = _decode_fields(kind, fields)
    except RecursionError as error:
        raise InputError("nested too deeply") from error
    for field in ("pod",) if kind is Case else ("group", "group_pods"):
        if field not in given:
            raise InputError(f"$.{'groupPods' if field == 'group_pods' else field}: required")
    case: Case | GroupCase = kind(**given)
    problems = list(islice(_problems(case), _MAX_REPORTED_PROBLEMS + 1))
    if problems:
        raise InputError(
            "; ".join(problems[:_MAX_REPORTED_PROBLEMS] + ["and more"] * (len(problems) > _MAX_REPORTED_PROBLEMS))
        )
    if isinstance(case, Case):
        case.pod = _with_uid(case.pod)
    else:
        case.group_pods = tuple(map(_with_uid, case.group_pods))
    case.pods = tuple(map(_with_uid, case.pods))
    case.nominated_pods = tuple(map(_with_uid, case.nominated_pods))
    return case


def _decode_fields(kind: type[ClusterCase], fields: Fields) -> dict[str, Any]:
    given: dict[str, Any] = {}
    known = _FIELDS[kind]
    for name, value in fields.items():
        if name not in known:
            raise InputError(f"$.{name}: unknown field{suggestion(name[:_MAX_NAME_LENGTH], known)}")
        read = _READERS.get(name)
        given[known[name].name] = _decode(known[name], value) if read is None else read(value)
    return given


def _decode(field: msgspec.structs.FieldInfo, value: Any) -> Any:
    name = field.encode_name
    try:
        return codec.decode(field.type, value)
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


def _problems(case: Case | GroupCase) -> Iterator[str]:
    if isinstance(case, Case):
        yield from validate("Pod", case.pod, "$.pod")
    else:
        yield from _group_problems(case)
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


def _group_problems(case: GroupCase) -> Iterator[str]:
    if case.ties not in ("", "name"):
        yield '$.ties: must be "name" or absent'
    if not case.group_pods:
        yield "$.groupPods: must not be empty"
    for index, group in enumerate(case.pod_groups):
        yield from validate("PodGroup", group, f"$.podGroups[{index}]")
    for index, pod in enumerate(case.group_pods):
        path = f"$.groupPods[{index}]"
        yield from validate("Pod", pod, path)
        name = pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group is not None else None
        if (pod.metadata.namespace, name) != (case.group.namespace, case.group.name) or pod.spec.node_name:
            yield f"{path}: not a pending member of group {case.group.namespace}/{case.group.name}"


def _repeated_uids(case: Case | GroupCase) -> Iterable[str]:
    seen: set[str] = set()
    members = case.group_pods if isinstance(case, GroupCase) else ()
    for field, pods in (("pods", case.pods), ("nominatedPods", case.nominated_pods), ("groupPods", members)):
        for index, pod in enumerate(pods):
            uid = pod.metadata.uid
            if uid in seen:
                yield f'$.{field}[{index}].metadata.uid: duplicate "{uid}"'
            elif uid:
                seen.add(uid)
    if isinstance(case, Case) and case.pod.metadata.uid in seen:
        yield f'$.pod.metadata.uid: duplicate "{case.pod.metadata.uid}"'
