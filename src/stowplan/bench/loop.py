"""Pods through the whole scheduling loop: event, queue, decision, assume, Bind instruction."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from time import perf_counter_ns, process_time_ns, time

from stowplan import api, config
from stowplan.bench.object_series import nodes, pods
from stowplan.bench.scenario import Scenario
from stowplan.engine import Engine
from stowplan.framework import Bind
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime.gc_tuning import settle_heap

_EVENTS_PER_BATCH = 50
"""Pods per batch of watch events; cycles run back to back after it. Latencies are means over a batch."""


class LoopTrial:
    """One scenario through an engine. Time is measured from the event of a pod to its Bind instruction.

    Answers to bindings are not measured, since other threads and machines handle them in a live scheduler.
    """

    def __init__(self, scenario: Scenario, size: int, count: int, seed: int) -> None:
        self.latencies: list[int] = []
        self.cpu = 0
        self._engine = Engine(config.default_configuration(), REGISTRY, clock=time, rng=Random(seed))
        for node in nodes(size, scenario.cluster, seed):
            self._engine.put(node)
        self._pods: Iterator[api.Pod] = pods(scenario.incoming, scenario.warm + count)
        self._run(list(islice(self._pods, scenario.warm)))
        self.latencies.clear()
        self.cpu = 0
        settle_heap()

    def advance(self, count: int) -> None:
        """Schedule `count` more pods."""
        self._run(list(islice(self._pods, count)))

    def _run(self, batch: list[api.Pod]) -> None:
        engine = self._engine
        for at in range(0, len(batch), _EVENTS_PER_BATCH):
            events = batch[at : at + _EVENTS_PER_BATCH]
            start, begin = process_time_ns(), perf_counter_ns()
            for source in events:
                engine.put(source)
            while engine.schedule_one():
                pass
            given = engine.take()
            took = perf_counter_ns() - begin
            self.cpu += process_time_ns() - start
            self.latencies += [took // len(events)] * len(events)
            for instruction in given:
                if isinstance(instruction, Bind):
                    engine.answer(instruction, None)
            engine.take()
