"""The objects that changes refer to: nodes by name or label, workloads, pods and other objects by kind and name."""

from __future__ import annotations

import difflib
from typing import Any, NamedTuple

from stowplan import api
from stowplan.cache.stores import key_of
from stowplan.cache.volumes import ZONE
from stowplan.errors import InputError
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.custom_workload import CustomWorkload, kind_of
from stowplan.simulator.report.use import label_key
from stowplan.simulator.workloads import CONTROLLERS

_SHORT_NAMES = {
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "cj": "CronJob",
    "po": "Pod",
    "no": "Node",
    "ns": "Namespace",
    "pdb": "PodDisruptionBudget",
    "pvc": "PersistentVolumeClaim",
    "pv": "PersistentVolume",
    "sc": "StorageClass",
    "pc": "PriorityClass",
}


class TargetReference(NamedTuple):
    """A kind and a key, as in `shop/Deployment/web`."""

    kind: str
    name: str
    namespace: str

    @property
    def workload(self) -> str:
        return f"{self.namespace}/{self.kind}/{self.name}"


class FoundNodes(NamedTuple):
    """Nodes that a change is about, and a phrase for them."""

    nodes: list[api.Node]
    phrase: str


def find_nodes(api_server: ApiServer, text: str) -> FoundNodes:
    """A node by name, or all nodes with a label: `zone=eu-west-1c`."""
    if "=" not in text:
        return FoundNodes([find_node(api_server, text)], f"node {text}")
    given, _, value = text.partition("=")
    nodes = list(api_server.all(api.Node))
    key = label_key(given, (node.metadata.labels for node in nodes))
    found = [node for node in nodes if node.metadata.labels.get(key) == value]
    if not found:
        values = sorted({node.metadata.labels[key] for node in nodes if key in node.metadata.labels})
        known = f"; its values are {_some(values)}" if values else "; no node has this label"
        raise InputError(f"no node has the label {key}={value}{known}")
    number = f"{len(found):,} node{'' if len(found) == 1 else 's'}"
    phrase = f"zone {value} ({number})" if key == ZONE else f"the {number} with {key}={value}"
    return FoundNodes(found, phrase)


def find_node(api_server: ApiServer, name: str) -> api.Node:
    found = api_server.get(api.Node, name)
    if found is None:
        names = [node.metadata.name for node in api_server.all(api.Node)]
        raise InputError(f"node {name} is not known{_close(name, names)}")
    return found


def parse_reference(text: str, namespace: str) -> TargetReference:
    """`[NAMESPACE/]KIND/NAME`, with kubectl's names for kinds; `[NAMESPACE/]NAME` is a pod."""
    parts = text.split("/")
    if len(parts) > 3 or not all(parts):
        raise InputError(f"{text}: [NAMESPACE/]KIND/NAME is expected")
    if len(parts) == 1 or (len(parts) == 2 and _kind(parts[0]) is None):
        return TargetReference("Pod", parts[-1], parts[0] if len(parts) == 2 else namespace)
    kind = _kind(parts[-2])
    known = api.KINDS.get(kind or "")
    namespaced = known is None or known.namespaced
    space = parts[0] if len(parts) == 3 else namespace
    return TargetReference(kind or parts[-2], parts[-1], space if namespaced else "")


def find_object(api_server: ApiServer, text: str, namespace: str) -> Any:
    reference = parse_reference(text, namespace)
    known = api.KINDS.get(reference.kind)
    struct: type[Any] = CustomWorkload if known is None else known.struct
    found = api_server.get(struct, reference.name, reference.namespace)
    if found is None or (known is None and found.kind != reference.kind):
        raise InputError(_not_found(api_server, struct, reference))
    return found


def find_workload(api_server: ApiServer, text: str, namespace: str) -> Any:
    """A workload by kind and name."""
    found = find_object(api_server, text, namespace)
    if type(found) not in CONTROLLERS:
        raise InputError(f"{text}: a workload is expected, such as Deployment/web")
    return found


def pods_of(api_server: ApiServer, owner: Any) -> list[api.Pod]:
    """All pods below a workload, also those of its ReplicaSets and Jobs, in the order of creation."""
    found: list[api.Pod] = []
    for kind, name in api_server.all_dependents(owner.metadata.uid):
        item = api_server.get(kind, name, owner.metadata.namespace)
        if isinstance(item, api.Pod):
            found.append(item)
        elif item is not None:
            found += pods_of(api_server, item)
    return found


def workload_key(api_server: ApiServer, pod: api.Pod) -> str:
    """`namespace/Kind/name` of the topmost owner; `namespace/Pod/name` for a pod without one."""
    item: Any = pod
    owner, found = controller_of(pod), f"Pod/{pod.metadata.name}"
    while owner is not None:
        found = f"{owner.kind}/{owner.name}"
        item = api_server.owner_of(item)
        owner = None if item is None else controller_of(item)
    return f"{pod.metadata.namespace}/{found}"


def describe(item: Any) -> str:
    """`Deployment/web`, as kubectl names objects."""
    return f"{kind_of(item).name}/{item.metadata.name}"


def _kind(text: str) -> str | None:
    lower = text.lower()
    if lower in _SHORT_NAMES:
        return _SHORT_NAMES[lower]
    return next((kind.name for kind in api.KINDS.values() if lower in (kind.name.lower(), kind.resource)), None)


def _not_found(api_server: ApiServer, struct: type[Any], reference: TargetReference) -> str:
    items = list(api_server.all(struct))
    others = sorted(
        {item.metadata.namespace for item in items if item.metadata.name == reference.name and item.metadata.namespace}
    )
    shown = f"{reference.kind} {key_of(api.ObjectMeta(name=reference.name, namespace=reference.namespace))}"
    if others:
        return f"{shown} is not known; there is one in namespace {', '.join(others)}"
    for kind in CONTROLLERS if struct is api.Pod else ():
        found = api_server.get(kind, reference.name, reference.namespace)
        if found is not None:
            return f"{shown} is not known; {describe(found)} has this name"
    names = [item.metadata.name for item in items if item.metadata.namespace == reference.namespace]
    return f"{shown} is not known{_close(reference.name, names)}"


def _close(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _some(names: list[str], limit: int = 5) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
