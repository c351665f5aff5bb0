"""The timed loop: pods are decided and placed one after another; a sample is decided again without caches."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from time import perf_counter_ns, process_time_ns
from typing import Any

from stowplan import api
from stowplan.bench.object_series import pods
from stowplan.bench.scenario import Scenario
from stowplan.bench.scenario_cluster import DeciderOutcome, ScenarioCluster
from stowplan.framework import Pod
from stowplan.runtime.gc_tuning import settle_heap

CHECKED_DECISIONS = 200
_BATCH_PODS = 1000


class DecisionTrial:
    """One scenario on one cluster.

    The timer covers interning, deciding and placing a pod. It excludes decoding of pods, batch by batch, and the check
    of decisions. The garbage collector runs as it does in a scheduler after its first lists.
    """

    def __init__(
        self,
        scenario: Scenario,
        scenario_cluster: ScenarioCluster,
        count: int,
        seed: int,
        checks: int = CHECKED_DECISIONS,
    ) -> None:
        self.scenario = scenario
        self.latencies: list[int] = []
        """Nanoseconds by pod."""
        self.cpu = 0
        self.unplaced = 0
        self.placements: list[str] = []
        """The node of each pod; "" for a pod without one."""
        self.disagreements: list[str] = []
        self._cluster = scenario_cluster
        self._pods: Iterator[api.Pod] = pods(scenario.incoming, scenario.warm + count)
        self._sampled = frozenset(Random(seed).sample(range(count), min(checks, count)))
        self.checked = 0
        self._decide(list(islice(self._pods, scenario.warm)), timed=False)
        settle_heap()

    def advance(self, count: int) -> None:
        """Decide `count` more pods."""
        while count > 0:
            batch = list(islice(self._pods, min(_BATCH_PODS, count)))
            if not batch:
                return
            self._decide(batch)
            count -= len(batch)

    def _decide(self, batch: list[api.Pod], timed: bool = True) -> None:
        intern, decide, place = self._cluster.cluster.pod, self._cluster.profile.decide, self._cluster.place
        latencies: list[int] = []
        random_state: Any = None
        start = process_time_ns()
        for number, source in enumerate(batch, len(self.latencies)):
            sampled = timed and number in self._sampled
            if sampled:
                random_state = self._cluster.random.getstate()
            begin = perf_counter_ns()
            pod = intern(source)
            decision = decide(pod)
            if sampled:
                wall, cpu = self._check(pod, decision, random_state)
                begin += wall
                start += cpu
            if not place(pod, decision):
                self.unplaced += 1
            latencies.append(perf_counter_ns() - begin)
            self.placements.append(pod.node_name)
        if timed:
            self.cpu += process_time_ns() - start
            self.latencies += latencies

    def _check(self, pod: Pod, decision: DeciderOutcome, random_state: Any) -> tuple[int, int]:
        """Decide again with all caches off and the same random numbers; (wall time, CPU time) that it took."""
        wall, cpu = perf_counter_ns(), process_time_ns()
        random = self._cluster.random
        later = random.getstate()
        random.setstate(random_state)
        kept, again = _summary(decision), _summary(self._cluster.profile.decide_afresh(pod))
        random.setstate(later)
        self.checked += 1
        if again != kept:
            self.disagreements.append(f"{self.scenario.name}: pod {pod.key}: {kept} with caches, {again} without")
        return perf_counter_ns() - wall, process_time_ns() - cpu


def _summary(decision: DeciderOutcome) -> str:
    """A decision as text: a node, or a node with its victims, or no node."""
    proposal = decision.preemption
    if decision.node_name or proposal is None:
        return decision.node_name or "no node"
    return f"{proposal.node_name} instead of {' '.join(victim.key for victim in proposal.victims)}"
