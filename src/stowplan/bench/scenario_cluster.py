"""The cluster of a scenario, with a profile that decides on it."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from random import Random
from typing import Any, Protocol

from stowplan import api, config
from stowplan.api import codec
from stowplan.bench.object_series import FIRST_RUNNING_POD_NUMBER, node_name, nodes, pods
from stowplan.bench.scenario import Scenario
from stowplan.cache import Cluster
from stowplan.framework import Pod
from stowplan.plugins.registry import REGISTRY
from stowplan.queue.nominator import Nominator
from stowplan.runtime import build_profiles

PROFILE = "default-scheduler"


class EvictionProposal(Protocol):
    """The victims and node of a preemption."""

    @property
    def node_name(self) -> str: ...

    @property
    def victims(self) -> Sequence[Pod]: ...


class DeciderOutcome(Protocol):
    """The part of a decision that the benchmark reads."""

    @property
    def node_name(self) -> str: ...

    @property
    def preemption(self) -> EvictionProposal | None: ...


class Decider(Protocol):
    """The part of a profile that the benchmark calls."""

    def decide(self, pod: Pod) -> DeciderOutcome: ...

    def decide_afresh(self, pod: Pod) -> DeciderOutcome: ...


class ScenarioCluster:
    """A cluster and a profile. `place` applies a decision as a live scheduler does, without the API server."""

    def __init__(self, cluster: Cluster, nominator: Nominator, profile: Decider, random: Random) -> None:
        self.cluster = cluster
        self.nominator = nominator
        self.profile = profile
        self.random = random
        """The profile's source of randomness."""

    def place(self, pod: Pod, decision: DeciderOutcome) -> bool:
        """Apply a decision; for a preemption, remove the victims at once and decide the pod again."""
        proposal = decision.preemption
        if proposal is not None and not decision.node_name:
            for victim in proposal.victims:
                self.cluster.remove_pod(victim.uid)
            pod.nominated_node_name = proposal.node_name
            self.nominator.add(pod)
            decision = self.profile.decide(pod)
            self.nominator.remove(pod)
        if not decision.node_name:
            return False
        self.cluster.assume(pod, decision.node_name)
        return True


def fill_cluster(cluster: Cluster, scenario: Scenario, count: int, seed: int) -> None:
    """Add the objects that exist before the first decision."""
    for node in nodes(count, scenario.cluster, seed):
        cluster.put_node(node)
    for item in scenario.objects:
        struct: type[Any] = api.KINDS[item["kind"]].struct
        cluster.put(codec.convert(struct, item))
    running = scenario.running
    if running is not None:
        for pod in pods(
            running, running.per_node * count, FIRST_RUNNING_POD_NUMBER, lambda number: node_name(number % count)
        ):
            cluster.add_pod(cluster.pod(pod))


def build_scenario_cluster(scenario: Scenario, count: int, seed: int) -> ScenarioCluster:
    """The scenario's cluster with `count` nodes, and a real profile."""
    cluster, nominator, random = Cluster(), Nominator(), Random(seed)
    fill_cluster(cluster, scenario, count, seed)
    registry: Mapping[str, Any] = REGISTRY
    if scenario.plugin:
        module, _, attribute = scenario.plugin.partition(":")
        plugin = getattr(import_module(module), attribute)
        registry = {**registry, plugin.name: plugin}
    settings = config.from_builtins(scenario.config) if scenario.config else config.default_configuration()
    profiles = build_profiles(settings, registry, cluster, nominator, rng=random)
    return ScenarioCluster(cluster, nominator, profiles[PROFILE], random)
