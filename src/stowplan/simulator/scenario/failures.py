"""Failures of a scenario: nodes at given times or at random, pods that fail, and faults of requests."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from stowplan import api
from stowplan.config.errors import Problems
from stowplan.framework.instructions import Bind, Request
from stowplan.simulator.api_server import ApiServer, StepOrder
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.faults import Fault, Faults, bind_conflict, lost_answer, lost_request
from stowplan.simulator.kubelet import Work
from stowplan.simulator.node_lifecycle import NodeLifecycle
from stowplan.simulator.scenario.fields import probability, time_at
from stowplan.simulator.scenario.pools import POOL_LABEL, ZONE_LABEL
from stowplan.simulator.scenario.quantities import RandomQuantity, quantity, rate_of
from stowplan.simulator.scenario.schema import FailureSpec, NodeChoiceSpec
from stowplan.simulator.streams import RandomStreams

NODE_KINDS = ("fail", "drain", "vanish", "spot", "degrade")
_REQUESTS = ("bind", "all")


class CompiledFailure(NamedTuple):
    """A failure of nodes that was checked; times in seconds."""

    path: str
    nodes: NodeChoiceSpec
    kind: str
    at: float | None
    """Once at this time; None: at random for each node."""
    mean: float
    """Mean time between failures of a node."""
    repair: RandomQuantity | None
    """Time until the node is back; None: never."""
    notice: float
    share: float


def compile_failure(
    spec: FailureSpec, path: str, problems: Problems, folder: Path, pools: set[str], workloads: set[str]
) -> CompiledFailure | None:
    """A failure of nodes; None for one of pods or requests, which is checked only."""
    if sum((spec.nodes is not None, spec.pods is not None, bool(spec.requests))) != 1:
        problems.add(path, "expected one of nodes, pods and requests")
        return None
    if spec.pods is not None:
        probability(spec.fail, f"{path}.fail", problems)
        if spec.pods.workload and spec.pods.workload not in workloads:
            problems.add(f"{path}.pods.workload", f'no workload named "{spec.pods.workload}"')
        return None
    if spec.requests:
        if spec.requests not in _REQUESTS:
            problems.unsupported(f"{path}.requests", spec.requests, _REQUESTS)
        for name in ("lose", "lose_answer", "conflict"):
            probability(getattr(spec, name), f"{path}.{name}", problems)
        return None
    assert spec.nodes is not None
    return _compile_node_failure(spec, spec.nodes, path, problems, folder, pools)


def _compile_node_failure(
    spec: FailureSpec, nodes: NodeChoiceSpec, path: str, problems: Problems, folder: Path, pools: set[str]
) -> CompiledFailure:
    if spec.kind not in NODE_KINDS:
        problems.unsupported(f"{path}.kind", spec.kind, NODE_KINDS)
    if nodes.pool and nodes.pool not in pools:
        problems.add(f"{path}.nodes.pool", f'no pool named "{nodes.pool}"')
    probability(spec.share, f"{path}.share", problems)
    times = [name for name in ("at", "mtbf", "hazard") if getattr(spec, name) is not None]
    if len(times) != 1:
        problems.add(path, "expected one of at, mtbf and hazard")
        return CompiledFailure(path, nodes, spec.kind, 0.0, 0.0, None, 0.0, 0.0)
    at = time_at(spec.at, f"{path}.at", problems) if spec.at is not None else None
    mean = time_at(spec.mtbf, f"{path}.mtbf", problems, positive=True) if spec.mtbf is not None else 0.0
    if spec.hazard is not None:
        try:
            rate = rate_of(spec.hazard)
            mean = 1 / rate if rate else math.inf
        except ValueError as error:
            problems.add(f"{path}.hazard", str(error))
    given = spec.for_ if spec.for_ is not None else spec.mttr
    repair = None
    if given is not None:
        repair = quantity(given, f"{path}.{'for' if spec.for_ is not None else 'mttr'}", problems, folder=folder)
    notice = time_at(spec.notice, f"{path}.notice", problems)
    return CompiledFailure(path.removeprefix("$."), nodes, spec.kind, at, mean, repair, notice, spec.share)


def matches(choice: NodeChoiceSpec, node: api.Node) -> bool:
    """Whether a node fulfils all conditions."""
    labels = node.metadata.labels
    return (
        (not choice.pool or labels.get(POOL_LABEL) == choice.pool)
        and (not choice.zone or labels.get(ZONE_LABEL) == choice.zone)
        and (not choice.name or node.metadata.name == choice.name)
        and all(labels.get(key) == value for key, value in choice.selector.items())
    )


class FailureDriver:
    """Lets nodes fail and come back."""

    def __init__(
        self, failure: CompiledFailure, streams: RandomStreams, server: ApiServer, nodes: NodeLifecycle, start: float
    ) -> None:
        self._failure = failure
        self._streams = streams
        self._server = server
        self._nodes = nodes
        self._start = start
        self._armed: set[str] = set()

    def begin(self) -> None:
        """Schedule the failure, or the first one of each node, also of nodes that come later."""
        if self._failure.at is not None:
            self._server.at(to_microseconds(self._start + self._failure.at), self._fail_chosen, StepOrder.NODE)
            return
        for node in self._server.all(api.Node):
            self._arm(node)
        self._server.listen(api.Node, self._node_changed)

    def _node_changed(self, old: api.Node | None, new: api.Node | None) -> None:
        if new is not None and old is None:
            self._arm(new)
        elif new is None and old is not None and self._failure.repair is None:
            self._armed.discard(old.metadata.name)

    def _arm(self, node: api.Node) -> None:
        name = node.metadata.name
        if name in self._armed or not matches(self._failure.nodes, node) or self._failure.mean == math.inf:
            return
        self._armed.add(name)
        stream = self._streams.of(self._failure.path, f"time {name}")
        self._after(-self._failure.mean * math.log1p(-stream.uniform()), partial(self._fail, name))

    def _fail_chosen(self) -> None:
        names = [node.metadata.name for node in self._server.all(api.Node) if matches(self._failure.nodes, node)]
        count = self._failure.nodes.count
        if count and count < len(names):
            names.sort(key=lambda name: self._streams.keyed(self._failure.path, "choice", name))
            names = names[:count]
        for name in names:
            self._fail(name)

    def _fail(self, name: str) -> None:
        failure = self._failure
        self._nodes.apply(failure.kind, name, notice=failure.notice, share=failure.share)
        if failure.repair is not None:
            seconds = failure.repair.draw(self._streams.of(failure.path, f"repair {name}"))
            self._after(seconds, partial(self._recover, name))

    def _recover(self, name: str) -> None:
        self._armed.discard(name)
        self._nodes.recover(name)
        node = self._server.get(api.Node, name)
        if node is not None and self._failure.at is None:
            self._arm(node)

    def _after(self, delay: float, step: Callable[[], None]) -> None:
        self._server.at(to_microseconds(self._server.clock() + delay), step, StepOrder.NODE)


class PodFailures:
    """Pods that fail after a part of their work."""

    def __init__(self, specs: tuple[FailureSpec, ...], streams: RandomStreams) -> None:
        self._rules = [
            (f"failures[{index}]", spec.pods.workload, spec.fail)
            for index, spec in enumerate(specs)
            if spec.pods is not None and spec.fail
        ]
        self._streams = streams

    def apply(self, workload: str, key: str, work: Work) -> Work:
        """The work, with the point at which the pod fails, if it does."""
        for path, chosen, chance in self._rules:
            if chosen in ("", workload) and self._streams.keyed(path, "fails", key) < chance:
                span = work.seconds if work.seconds is not None else 3600.0
                return work._replace(fails_after=span * self._streams.keyed(path, "when", key))
        return work


def request_faults(specs: tuple[FailureSpec, ...], streams: RandomStreams) -> Faults | None:
    """The faults of requests; None without any."""
    found: list[Fault] = []
    for spec in specs:
        affects: type[Request] = Bind if spec.requests == "bind" else Request
        if spec.requests and spec.conflict:
            found.append(bind_conflict(spec.conflict))
        if spec.requests and spec.lose:
            found.append(lost_request(spec.lose)._replace(affects=affects))
        if spec.requests and spec.lose_answer:
            found.append(lost_answer(spec.lose_answer)._replace(affects=affects))
    if not found:
        return None
    return Faults(Random(int(streams.keyed("failures", "requests", "") * 2**53)), found)
