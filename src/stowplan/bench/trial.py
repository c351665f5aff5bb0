"""The timed loop: pods are decided and placed one after another, and some decisions are made again without caches."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from time import perf_counter_ns, process_time_ns
from typing import Any

from stowplan import api
from stowplan.bench.pods import pods
from stowplan.bench.scenario import Scenario
from stowplan.bench.scenario_cluster import DeciderOutcome, ScenarioCluster
from stowplan.framework import Pod
from stowplan.runtime.gc_tuning import settle_heap

CHECKS = 200
_BATCH = 1000


class Trial:
    """One scenario on one stage.

    The clock runs while a pod is interned, decided and placed. It stands still while pods are decoded, batch by batch,
    and while a decision is checked. The garbage collector runs as it does in a scheduler after its first lists.
    """

    def __init__(self, scenario: Scenario, stage: ScenarioCluster, count: int, seed: int, checks: int = CHECKS) -> None:
        self.scenario = scenario
        self.latencies: list[int] = []
        """Nanoseconds by pod."""
        self.cpu = 0
        self.unplaced = 0
        self.placements: list[str] = []
        """Where each pod went, by pod; empty for one that went nowhere."""
        self.disagreements: list[str] = []
        self._stage = stage
        self._pods: Iterator[api.Pod] = pods(scenario.incoming, scenario.warm + count)
        self._sampled = frozenset(Random(seed).sample(range(count), min(checks, count)))
        self.checked = 0
        self._decide(list(islice(self._pods, scenario.warm)), clocked=False)
        settle_heap()

    def advance(self, count: int) -> None:
        """Decide so many more pods."""
        while count > 0:
            batch = list(islice(self._pods, min(_BATCH, count)))
            if not batch:
                return
            self._decide(batch)
            count -= len(batch)

    def _decide(self, batch: list[api.Pod], clocked: bool = True) -> None:
        intern, decide, place = self._stage.cluster.pod, self._stage.profile.decide, self._stage.place
        latencies: list[int] = []
        luck: Any = None
        start = process_time_ns()
        for number, source in enumerate(batch, len(self.latencies)):
            sampled = clocked and number in self._sampled
            if sampled:
                luck = self._stage.random.getstate()
            begin = perf_counter_ns()
            pod = intern(source)
            decision = decide(pod)
            if sampled:
                wall, cpu = self._check(pod, decision, luck)
                begin += wall
                start += cpu
            if not place(pod, decision):
                self.unplaced += 1
            latencies.append(perf_counter_ns() - begin)
            self.placements.append(pod.node_name)
        if clocked:
            self.cpu += process_time_ns() - start
            self.latencies += latencies

    def _check(self, pod: Pod, decision: DeciderOutcome, luck: Any) -> tuple[int, int]:
        """Decide again with all caches off and the same random numbers; (wall time, CPU time) that it took."""
        wall, cpu = perf_counter_ns(), process_time_ns()
        random = self._stage.random
        later = random.getstate()
        random.setstate(luck)
        kept, again = _essence(decision), _essence(self._stage.profile.decide_afresh(pod))
        random.setstate(later)
        self.checked += 1
        if again != kept:
            self.disagreements.append(f"{self.scenario.name}: pod {pod.key}: {kept} with caches, {again} without")
        return perf_counter_ns() - wall, process_time_ns() - cpu


def _essence(decision: DeciderOutcome) -> str:
    """What a decision comes to: a node, or a node with those to be evicted from it, or nothing."""
    proposal = decision.preemption
    if decision.node_name or proposal is None:
        return decision.node_name or "no node"
    return f"{proposal.node_name} instead of {' '.join(victim.key for victim in proposal.victims)}"
