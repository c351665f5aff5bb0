"""The input: a cluster and one pending pod."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import CASE_LISTS
from stowplan.api.validation import validate
from stowplan.errors import InputError

_FINISHED = ("Succeeded", "Failed")


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One question. Every object is as the API server stores it: no defaulting is left to do."""

    id: str | int | None = None
    config: dict[str, Any] | None = None
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
        """The objects that plugins look up, that is, all but nodes and pods."""
        for field in CASE_LISTS:
            if field not in ("nodes", "pods"):
                yield from getattr(self, field)

    def running(self) -> list[api.Pod]:
        """Pods that take part, in the order in which an API server lists them, which decides ties between victims."""
        alive = (pod for pod in self.pods if pod.status.phase not in _FINISHED)
        return sorted(alive, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))


def read_case(line: bytes) -> Case:
    """Decode and check one case; everything that is wrong with it is told in one line."""
    case = codec.decode(Case, line)
    problems = list(_problems(case))
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise InputError("; ".join(problems[:3]) + more)
    return case


def case_id(line: bytes) -> Any:
    """The id of a case that may otherwise be broken; None where there is none to be found."""
    try:
        return msgspec.json.decode(line, type=_Identified).id
    except msgspec.MsgspecError:
        found = re.search(rb'"id"\s*:\s*"([^"\\]{1,200})"', line[:4096])
        return found[1].decode(errors="replace") if found else None


class _Identified(msgspec.Struct):
    id: str | int | None = None


def _problems(case: Case) -> Iterator[str]:
    yield from validate("Pod", case.pod, "$.pod")
    for field, kind in CASE_LISTS.items():
        names: set[tuple[str, str]] = set()
        for index, item in enumerate(getattr(case, field)):
            path = f"$.{field}[{index}]"
            yield from validate(kind.name, item, path)
            name = (item.metadata.namespace, item.metadata.name)
            if name in names:
                yield f'{path}.metadata.name: duplicate {kind.name} "{"/".join(filter(None, name))}"'
            names.add(name)
    for index, pod in enumerate(case.pods):
        if not pod.spec.node_name:
            yield f"$.pods[{index}].spec.nodeName: required, since these pods run"
    for index, pod in enumerate(case.nominated_pods):
        yield from validate("Pod", pod, f"$.nominatedPods[{index}]")
        if pod.spec.node_name or not pod.status.nominated_node_name:
            yield f"$.nominatedPods[{index}]: must have status.nominatedNodeName and no spec.nodeName"
