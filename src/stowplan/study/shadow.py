"""A shadow of a scheduler: decides about each pod that another scheduler binds, on the state just before the binding.

The other scheduler's bindings are followed, so one difference does not cause the next. A node with the same total as
the best one is a tie, since schedulers break ties at random.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from stowplan import api
from stowplan.config import KubeSchedulerConfiguration
from stowplan.engine import Engine
from stowplan.runtime import Registry
from stowplan.simulator.clock import to_microseconds

SAME, TIE, ELSEWHERE, WAITS, CHANGED = "same", "tie", "elsewhere", "waits", "state changed"
_FINISHED = ("Succeeded", "Failed")


class ShadowDecision(NamedTuple):
    """A binding, and the decision of the shadow."""

    time: float
    pod: str
    bound: str
    """The node to which the other scheduler bound the pod."""
    chosen: str
    """The node that the shadow chooses; empty if none fits."""
    verdict: str
    """same, tie, elsewhere, waits (no node fits) or state changed (the other scheduler's node does not fit)."""
    points: int = 0
    """How many points the other node is behind."""
    message: str = ""


class Shadow:
    """Receives the changes of a cluster in order."""

    def __init__(self, config: KubeSchedulerConfiguration, registry: Registry, clock: Callable[[], float]) -> None:
        self.engine = Engine(config, registry, clock=clock, rng=random.Random(0))
        self.counts: Counter[str] = Counter()
        self.decisions: list[ShadowDecision] = []
        """Those that differ."""
        self._clock = clock
        self._pending: set[str] = set()

    def put(self, item: Any) -> None:
        if isinstance(item, api.Pod):
            self._pod(item)
        self.engine.put(item)
        self._drop_instructions()

    def remove(self, item: Any) -> None:
        if isinstance(item, api.Pod):
            self._pending.discard(item.metadata.uid)
        self.engine.remove(item)
        self._drop_instructions()

    def _drop_instructions(self) -> None:
        self.engine.take()

    def _pod(self, pod: api.Pod) -> None:
        uid = pod.metadata.uid
        if not pod.spec.node_name and pod.status.phase not in _FINISHED:
            self._pending.add(uid)
        elif uid in self._pending:
            self._pending.discard(uid)
            known = self.engine.pending.get(uid)
            if known is not None and pod.spec.node_name:
                self._decide(known.pod, pod.spec.node_name)

    def _decide(self, pod: Any, bound: str) -> None:
        profile = self.engine.profiles.get(pod.template.spec.scheduler_name)
        if profile is None:
            return
        decision = self.engine.examine(lambda: profile.explain_decision(pod))
        chosen, points, message = decision.node_name, 0, ""
        if chosen == bound:
            verdict = SAME
        elif not chosen:
            verdict, message = WAITS, decision.message
        else:
            totals = self.engine.examine(decision.record).totals
            if bound not in totals and len(totals) > 0:
                verdict = CHANGED
            else:
                points = totals.get(chosen, 0) - totals.get(bound, 0)
                verdict = ELSEWHERE if points else TIE
        self.counts[verdict] += 1
        if verdict not in (SAME, TIE):
            self.decisions.append(
                ShadowDecision(to_microseconds(self._clock()), pod.key, bound, chosen, verdict, points, message)
            )
