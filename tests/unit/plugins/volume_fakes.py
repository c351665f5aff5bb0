"""A cluster with storage objects for tests of volume plugins."""

from types import SimpleNamespace
from typing import Any, TypeVar, cast

from tests.builders import HOSTNAME, node, typed
from tests.builders.plugin_rig import filter_statuses

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.config.args import ARGS
from stowplan.framework import Code, CycleState, Pod, Status
from stowplan.plugins.base import InTreePlugin

P = TypeVar("P", bound=InTreePlugin)

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


class StorageCluster:
    """A cluster with storage objects, and the answers of volume plugins about a pending pod."""

    def __init__(self, *items: Any) -> None:
        self.cluster = Cluster()
        self.put(*items)

    def put(self, *items: Any) -> "StorageCluster":
        for item in items:
            self.cluster.put_node(item) if isinstance(item, api.Node) else self.cluster.put(item)
        return self

    def pod(self, *volumes: dict[str, Any], name: str = "p", on: str = "", namespace: str = "ns") -> Pod:
        """A pod with these volumes; on a node if one is named."""
        named = [{"name": f"v{i}", **volume} for i, volume in enumerate(volumes)]
        raw = {
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
            "spec": {"volumes": named, "nodeName": on},
        }
        pod = self.cluster.pod(codec.convert(api.Pod, raw))
        if on:
            self.cluster.add_pod(pod)
        return pod

    def plugin(self, kind: type[P]) -> P:
        return kind(ARGS.get(kind.name, lambda: None)(), cast(Any, SimpleNamespace(cluster=self.cluster)))

    def judge(self, plugin: InTreePlugin, pod: Pod, state: CycleState | None = None) -> Status | dict[str, Status]:
        """PreFilter's answer where it has one, else Filter's by node; the vector form must agree."""
        state = CycleState() if state is None else state
        nodes = self.cluster.nodes.everything()
        answer = plugin.pre_filter(state, pod, nodes)
        if answer is not None:
            assert isinstance(answer, Status)
            return answer
        return self.filter(plugin, pod, state)

    def filter(self, plugin: InTreePlugin, pod: Pod, state: CycleState) -> dict[str, Status]:
        """Filter's statuses by node, whether PreFilter ran or not."""
        return filter_statuses(plugin, self.cluster, pod, state)


def reasons(answer: Status | dict[str, Status]) -> Any:
    """Texts alone, to compare answers tersely."""
    return answer.reasons if isinstance(answer, Status) else {name: s.reasons for name, s in answer.items()}


def rejected_forever(answer: Status | dict[str, Status]) -> bool:
    statuses = [answer] if isinstance(answer, Status) else answer.values()
    return all(status.code is Code.UnschedulableAndUnresolvable for status in statuses)


def labelled(name: str, **labels: str) -> api.Node:
    made: api.Node = typed(node(name, labels=labels))
    return made


def claim(name: str, volume: str = "", *, bound: bool = True, **changes: Any) -> api.PersistentVolumeClaim:
    """A claim of 1Gi; bound if it has a volume and `bound` is true. `metadata` and `spec` are merged."""
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "annotations": BOUND if volume and bound else {}}
    spec = {"volumeName": volume, "storageClassName": "wait", "resources": {"requests": {"storage": "1Gi"}}}
    return codec.convert(api.PersistentVolumeClaim, _merge(metadata, spec, changes))


def volume(name: str, **changes: Any) -> api.PersistentVolume:
    """A free volume of 1Gi. `metadata` and `spec` are merged; `on` names the nodes that reach it."""
    spec: dict[str, Any] = {"capacity": {"storage": "1Gi"}, "storageClassName": "wait", "accessModes": []}
    if (hosts := changes.pop("on", None)) is not None:
        spec["nodeAffinity"] = affinity({"key": HOSTNAME, "operator": "In", "values": hosts})
    return codec.convert(
        api.PersistentVolume, {"status": {"phase": "Available"}, **_merge({"name": name}, spec, changes)}
    )


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}


def storage_class(name: str = "wait", mode: str | None = "WaitForFirstConsumer", **fields: Any) -> api.StorageClass:
    raw = {"metadata": {"name": name}, "provisioner": "csi.example.com", "volumeBindingMode": mode, **fields}
    return codec.convert(api.StorageClass, raw)


def csi_node(name: str, limits: dict[str, int] | None = None, migrated: str = "") -> api.CSINode:
    drivers = [{"name": driver, "allocatable": {"count": count}} for driver, count in (limits or {}).items()]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    return codec.convert(
        api.CSINode, {"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}
    )


def pvc(name: str) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": name}}


EPHEMERAL: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def owned_by(pod_name: str) -> dict[str, Any]:
    """Metadata of a claim that was made for a pod's ephemeral volume."""
    return {"ownerReferences": [{"kind": "Pod", "name": pod_name, "uid": f"uid-ns-{pod_name}", "controller": True}]}


def _merge(metadata: dict[str, Any], spec: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    metadata = {**metadata, **changes.pop("metadata", {})}
    return {"metadata": metadata, "spec": {**spec, **changes.pop("spec", {})}, **changes}
