"""JSON of API objects, as an API server stores it, and the typed objects made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SCHEDULER = "default-scheduler"
METADATA = ("labels", "annotations", "uid", "deletionTimestamp", "generateName", "owner", "metadata")
"""Keywords of `pod` and `make` that go to the metadata; `owner` is the controller, `metadata` are any other fields."""


def node(
    name: str,
    cpu: str | int = "4",
    memory: str | int = "8Gi",
    pods: int = 110,
    *,
    zone: str = "",
    hostname: bool = True,
    **more: Any,
) -> Json:
    """A node. Keywords: the spec, except `labels`, `annotations`, `images`, `status` and `extra` (allocatable)."""
    labels = {**_if_set(**{HOSTNAME: name if hostname else "", ZONE: zone}), **more.pop("labels", {})}
    metadata = {"name": name, "labels": labels, "annotations": more.pop("annotations", {})}
    allocatable = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods), **more.pop("extra", {})}
    status = {"allocatable": allocatable, "images": more.pop("images", []), **more.pop("status", {})}
    return {"metadata": metadata, "spec": more, "status": status}


def container(name: str = "c", image: str = "app:1", ports: Iterable[Json] = (), **requests: str | int) -> Json:
    """`cpu`, `memory` and other requests; underscores stand for dashes."""
    amounts = {key.replace("_", "-"): str(amount) for key, amount in requests.items()}
    return {"name": name, "image": image, "ports": list(ports), "resources": {"requests": amounts}}


def pod(name: str, on: str = "", *, namespace: str = "default", labels: Json | None = None, **more: Any) -> Json:
    """A pod, bound if `on` names a node. Keywords: the spec, except `METADATA`, `requests`, `nominated`, `status`"""
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}}
    metadata |= _metadata(more)
    requests, nominated, status = more.pop("requests", {}), more.pop("nominated", ""), more.pop("status", {})
    spec = {"schedulerName": SCHEDULER, "containers": [container(**requests)], **_if_set(nodeName=on), **more}
    return {"metadata": metadata, "spec": spec, "status": {**_if_set(nominatedNodeName=nominated), **status}}


def member(name: str, group: str = "g", on: str = "", **more: Any) -> Json:
    """A pod of a pod group."""
    return pod(name, on, schedulingGroup={"podGroupName": group}, **more)


def pod_group(name: str = "g", min_count: int | None = None, *, rack: str = "", **spec: Any) -> Json:
    """A PodGroup; a gang with `min_count`; all members in one domain of the label `rack`."""
    policy: Json = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    constraints = {"schedulingConstraints": {"topology": [{"key": rack}]}} if rack else {}
    metadata = {"name": name, "namespace": "default", "uid": f"group {name}"}
    return {"metadata": metadata, "spec": {"schedulingPolicy": policy, **constraints, **spec}}


def selector(**labels: str) -> Json:
    return {"matchLabels": labels}


def term(key: str = ZONE, app: str = "a", **more: Any) -> Json:
    """An affinity term towards pods labelled app=`app`."""
    return {"topologyKey": key, "labelSelector": selector(app=app), **more}


def near(*terms: Json, preferred: Iterable[Json] = ()) -> Json:
    """Pod affinity, required and (weighted terms) preferred."""
    return {"podAffinity": {REQUIRED: list(terms), PREFERRED: list(preferred)}}


def away(*terms: Json, preferred: Iterable[Json] = ()) -> Json:
    """Pod anti-affinity."""
    return {"podAntiAffinity": {REQUIRED: list(terms), PREFERRED: list(preferred)}}


def weighted(weight: int, term: Json) -> Json:
    return {"weight": weight, "podAffinityTerm": term}


def spread(key: str = ZONE, skew: int = 1, *, hard: bool = True, app: str = "a", **more: Any) -> Json:
    action = "DoNotSchedule" if hard else "ScheduleAnyway"
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": action,
        "labelSelector": selector(app=app),
        **more,
    }


def node_affinity(*terms: Json, preferred: Iterable[Json] = ()) -> Json:
    """Required node selector terms, and preferred ones ({weight, preference})."""
    required = {REQUIRED: {"nodeSelectorTerms": list(terms)}} if terms else {}
    return {"nodeAffinity": {**required, PREFERRED: list(preferred)}}


def expressions(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def fields(*names: str, operator: str = "In") -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(names)}]}


def profile_config(plugins: Json | None = None, args: Mapping[str, Json] | None = None, **more: Any) -> Json:
    """A KubeSchedulerConfiguration with one profile: its plugin sets, and args by plugin."""
    entries = [{"name": name, "args": values} for name, values in (args or {}).items()]
    profile = {"schedulerName": SCHEDULER, "plugins": plugins or {}, "pluginConfig": entries, **more}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def only(point: str, *names: str) -> Json:
    """Plugin sets that run these plugins alone at a point."""
    return {point: {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in names]}}


def typed(item: Json) -> Any:
    """The `api.Pod` or `api.Node` that a pod's or node's JSON describes."""
    return codec.convert(api.Pod if "containers" in item["spec"] else api.Node, item)


def make(kind: str, name: str, namespace: str = "", **fields: Any) -> Any:
    """A typed object of any kind; the keywords of `METADATA` are merged into its metadata."""
    metadata = {"name": name, "namespace": namespace, **_metadata(fields)}
    return codec.convert(KINDS[kind].struct, {"metadata": metadata, **fields})  # type: ignore[type-var]


def _metadata(fields: Json) -> Json:
    """Take the fields of the metadata out of an object's keywords."""
    taken = {key: fields.pop(key) for key in METADATA if key in fields}
    if owner := taken.pop("owner", None):
        taken["ownerReferences"] = [{**owner, "controller": True}]
    return taken | taken.pop("metadata", {})


def _if_set(**fields: str) -> Json:
    return {name: value for name, value in fields.items() if value}
