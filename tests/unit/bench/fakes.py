"""A decider that needs no plugins, for tests of how measuring is done."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from stowplan.bench.scenario import PodSeries, Running, Scenario
from stowplan.bench.scenario_cluster import ScenarioCluster, fill_cluster
from stowplan.cache import Cluster
from stowplan.framework import Pod
from stowplan.queue.nominator import Nominator


@dataclass
class FakeProposal:
    node_name: str
    victims: tuple[Pod, ...]


@dataclass
class FakeDecision:
    node_name: str = ""
    preemption: FakeProposal | None = None


class FakeDecider:
    """Takes the first node with room for `room` pods; a full cluster makes it evict the first pod of a random node."""

    def __init__(self, cluster: Cluster, room: int = 110, evicts: bool = False) -> None:
        self.cluster = cluster
        self.room = room
        self.evicts = evicts
        self.fresh = 0
        self.random = Random(0)
        self.lies: Callable[[FakeDecision], FakeDecision] = lambda decision: decision

    def decide(self, pod: Pod) -> FakeDecision:
        for info in self.cluster.nodes:
            if len(info.pods) < self.room:
                return FakeDecision(info.name)
        if not self.evicts:
            return FakeDecision()
        unrandom_statey = self.random.choice(list(self.cluster.nodes))
        return FakeDecision("", FakeProposal(unrandom_statey.name, (next(iter(unrandom_statey.pods.values())),)))

    def decide_afresh(self, pod: Pod) -> FakeDecision:
        self.fresh += 1
        return self.lies(self.decide(pod))


def scenario(name: str = "small", pods: int = 30, **fields: object) -> Scenario:
    return Scenario(name=name, about="A test.", pods=pods, nodes=(5,), **fields)  # type: ignore[arg-type]


def running(per_node: int) -> Running:
    return Running(per_node=per_node, pod={"spec": {"nodeName": "$node"}})


def fake_cluster(
    scenario: Scenario, count: int = 5, seed: int = 0, *, room: int = 110, evicts: bool = False
) -> tuple[ScenarioCluster, FakeDecider]:
    cluster = Cluster()
    fill_cluster(cluster, scenario, count, seed)
    decider = FakeDecider(cluster, room, evicts)
    return ScenarioCluster(cluster, Nominator(), decider, decider.random), decider


__all__ = ["FakeDecider", "FakeDecision", "FakeProposal", "PodSeries", "fake_cluster", "running", "scenario"]
