"""A cluster and its nominated pods, with the profiles that decide about pods on it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from tests.builders.objects import Json, make

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.config.releases import LATEST, Release
from stowplan.evaluation.case import Case
from stowplan.framework import Pod, PodGroupInfo
from stowplan.framework.plugin import need_objects
from stowplan.plugins.registry import REGISTRY
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Decision, Factory, Profile, build_profiles, enable_everywhere
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.groups import GroupCycle, GroupDecision
from stowplan.runtime.groups.cycle import in_order


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
        release: Release = LATEST,
    ) -> None:
        factories: dict[str, Any] = dict(plugins or {})
        keep = need_objects(factories.values())
        self.cluster = Cluster(keep_objects=keep, release=release)
        self.nominator = Nominator()
        self.rng = random.Random(seed)
        settings = default_configuration(release)
        if config is not None:
            settings = from_builtins(config, "config", frozenset(IN_TREE_PLUGINS) | frozenset(factories), release)
        settings = enable_everywhere(settings, factories)
        self.profiles = build_profiles(settings, {**REGISTRY, **factories}, self.cluster, self.nominator, self.rng)
        for item in nodes:
            self.put_node(item)
        for item in pods:
            self.add_pod(item)

    @classmethod
    def of_case(cls, case: Case, seed: int = 0) -> tuple[World, Pod]:
        """The cluster of a case, its objects in the order of an API server's list, and the pending pod."""
        world = cls(config=case.config, seed=seed, release=case.release or LATEST)
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
        """The plugin of that name, at any extension point."""
        return next(p for plugins in self.profile.points.values() for p in plugins if p.name == name)

    def put_node(self, item: Json) -> None:
        self.cluster.put_node(codec.convert(api.Node, item), item if self.cluster.keep_objects else None)

    def put(self, kind: str, **fields: Any) -> None:
        """Add an object of another kind; `name`, `namespace`, `labels` and `annotations` go to its metadata."""
        self.cluster.put(make(kind, **{"name": "", **fields}))

    def pod(self, item: Json) -> Pod:
        """A pod that is not in the cluster."""
        return self.cluster.pod(codec.convert(api.Pod, item), item if self.cluster.keep_objects else None)

    def add_pod(self, item: Json) -> Pod:
        made = self.pod(item)
        self.cluster.add_pod(made)
        return made

    def nominate(self, item: Json) -> Pod:
        made = self.pod(item)
        self.nominator.add(made)
        return made

    def add_member(self, item: Json) -> Pod:
        """A member of a pod group: pending, or running if it has a node."""
        made = self.add_pod(item) if item["spec"].get("nodeName") else self.pod(item)
        self.cluster.pod_groups.add(made)
        return made

    def decide_group(self, name: str, members: Iterable[Pod], **how: bool) -> GroupDecision:
        """A pod group cycle in namespace default, for members in the order of the queue."""
        rules = self.cluster.pod_groups.rules("default", name)
        group = PodGroupInfo("default", name, rules, in_order(members))
        return GroupCycle(self.profile, group, **how).decide()

    def decide(self, item: Json | Pod) -> Decision:
        return self.profile.decide(item if isinstance(item, Pod) else self.pod(item))

    def afresh(self, item: Json | Pod) -> Decision:
        return self.profile.decide_afresh(item if isinstance(item, Pod) else self.pod(item))

    def diagnosis(self, item: Json | Pod) -> Diagnosis:
        diagnosis = Diagnosis(self.profile, item if isinstance(item, Pod) else self.pod(item)).run()
        return diagnosis.score() if len(diagnosis.feasible) else diagnosis
