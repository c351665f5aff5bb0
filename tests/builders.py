"""Terse JSON objects for tests, and a cluster with a profile to ask about them.

Builders give plain JSON, as an API server stores it, so that the same object serves a `World`, a case for `evaluate`,
and whoever wants to change it first.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.cache import Cluster
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.evaluation.case import Case
from stowplan.framework import Pod
from stowplan.plugins.registry import REGISTRY
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Decision, Factory, Profile, build_profiles, enable_everywhere
from stowplan.runtime.decide.diagnosis import Diagnosis

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SCHEDULER = "default-scheduler"


def node(
    name: str, cpu: str | int = "4", memory: str | int = "8Gi", pods: int = 110, *, zone: str = "", **more: Any
) -> Json:
    """`labels`, `annotations`, `taints`, `unschedulable`, `images` and `extra` (allocatable) are understood as well."""
    labels = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **more.pop("labels", {})}
    metadata = {"name": name, "labels": labels, "annotations": more.pop("annotations", {})}
    allocatable = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods), **more.pop("extra", {})}
    status = {"allocatable": allocatable, "images": more.pop("images", []), **more.pop("status", {})}
    return {"metadata": metadata, "spec": more, "status": status}


def container(name: str = "c", image: str = "app:1", ports: Iterable[Json] = (), **requests: str | int) -> Json:
    """`cpu`, `memory` and other requests; underscores stand for dashes."""
    amounts = {key.replace("_", "-"): str(amount) for key, amount in requests.items()}
    return {"name": name, "image": image, "ports": list(ports), "resources": {"requests": amounts}}


def pod(name: str, on: str = "", *, namespace: str = "default", labels: Json | None = None, **spec: Any) -> Json:
    """A pod, running if a node is given. `requests`, `nominated`, `status` and `metadata` are no fields of a spec."""
    requests, nominated, status = spec.pop("requests", {}), spec.pop("nominated", ""), spec.pop("status", {})
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}}
    spec = {
        "schedulerName": SCHEDULER,
        "containers": [container(**requests)],
        **({"nodeName": on} if on else {}),
        **spec,
    }
    if nominated:
        status = {"nominatedNodeName": nominated, **status}
    return {"metadata": {**metadata, **spec.pop("metadata", {})}, "spec": spec, "status": status}


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


class World:
    """A cluster, nominated pods, and profiles over them."""

    def __init__(
        self,
        nodes: Iterable[Json] = (),
        pods: Iterable[Json] = (),
        *,
        config: Json | None = None,
        plugins: Mapping[str, Factory] | None = None,
        seed: int = 0,
    ) -> None:
        factories: dict[str, Any] = dict(plugins or {})
        self.cluster = Cluster(keep_objects=any(getattr(f, "needs_objects", False) for f in factories.values()))
        self.nominator = Nominator()
        self.rng = random.Random(seed)
        settings = default_configuration()
        if config is not None:
            settings = from_builtins(config, "config", frozenset(IN_TREE_PLUGINS) | frozenset(factories))
        settings = enable_everywhere(settings, factories)
        self.profiles = build_profiles(settings, {**REGISTRY, **factories}, self.cluster, self.nominator, self.rng)
        for item in nodes:
            self.put_node(item)
        for item in pods:
            self.add_pod(item)

    @classmethod
    def of_case(cls, case: Case, seed: int = 0) -> tuple[World, Pod]:
        """The cluster of a case, in the order in which an API server would list it, and the pending pod."""
        world = cls(config=case.config, seed=seed)
        for item in case.lookups():
            world.cluster.put(item)
        for item in sorted(case.nodes, key=lambda item: item.metadata.name):
            world.cluster.put_node(item)
        for item in case.running():
            world.cluster.add_pod(world.cluster.pod(item))
        for item in case.nominated_pods:
            world.nominator.add(world.cluster.pod(item))
        return world, world.cluster.pod(case.pod)

    @property
    def profile(self) -> Profile:
        return next(iter(self.profiles.values()))

    def plugin(self, name: str) -> Any:
        """The plugin of that name, wherever the profile runs it."""
        return next(p for plugins in self.profile.points.values() for p in plugins if p.name == name)

    def put_node(self, item: Json) -> None:
        self.cluster.put_node(codec.convert(api.Node, item), item if self.cluster.keep_objects else None)

    def put(self, kind: str, **fields: Any) -> None:
        """Any object but a node or a pod; `name` and `namespace` go to its metadata."""
        metadata = {key: fields.pop(key) for key in ("name", "namespace", "labels", "annotations") if key in fields}
        metadata |= fields.pop("metadata", {})
        self.cluster.put(codec.convert(KINDS[kind].struct, {"metadata": metadata, **fields}))  # type: ignore[arg-type]

    def pod(self, item: Json) -> Pod:
        """A pod that counts nowhere yet."""
        return self.cluster.pod(codec.convert(api.Pod, item), item if self.cluster.keep_objects else None)

    def add_pod(self, item: Json) -> Pod:
        made = self.pod(item)
        self.cluster.add_pod(made)
        return made

    def nominate(self, item: Json) -> Pod:
        made = self.pod(item)
        self.nominator.add(made)
        return made

    def decide(self, item: Json | Pod) -> Decision:
        return self.profile.decide(item if isinstance(item, Pod) else self.pod(item))

    def afresh(self, item: Json | Pod) -> Decision:
        return self.profile.decide_afresh(item if isinstance(item, Pod) else self.pod(item))

    def survey(self, item: Json | Pod) -> Diagnosis:
        survey = Diagnosis(self.profile, item if isinstance(item, Pod) else self.pod(item)).run()
        return survey.score() if len(survey.feasible) else survey
