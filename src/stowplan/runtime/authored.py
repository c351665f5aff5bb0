"""Plugins that are not ours: called with care, checked, and given a vector form.

A plugin that raises or answers nonsense fails that pod's attempt with an error that names it; it never gets further.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from stowplan.framework import (
    ALL_EVENTS,
    Call,
    ClusterEventWithHint,
    Code,
    CycleState,
    Failure,
    Mask,
    NodeInfo,
    Nodes,
    Plugin,
    Pod,
    PodTemplate,
    PostFilterResult,
    QueuedPodInfo,
    Scores,
    Status,
    error,
    implements,
)
from stowplan.runtime.guard import GuardedPod
from stowplan.runtime.normalizing import Raw
from stowplan.runtime.outcomes import failed_at

T = TypeVar("T")
log = logging.getLogger("stowplan.plugins")

_IN_FRACTIONS = ("min-max", "reverse")


class Authored(Plugin):
    """The runtime's side of a user's plugin."""

    def __init__(self, inner: Plugin, on_uncacheable: Callable[[], None]) -> None:
        super().__init__(inner.args, inner.handle)
        self.inner = inner
        self.name = inner.name  # type: ignore[misc]
        self.scope = inner.scope  # type: ignore[misc]
        self.normalize = inner.normalize  # type: ignore[misc]
        self.parallel_pre_bind = inner.parallel_pre_bind  # type: ignore[misc]
        self.reads = inner.reads  # type: ignore[misc]
        self._on_uncacheable = on_uncacheable
        kind = type(inner)
        self.has_filter_nodes = implements(kind, "filter_nodes")
        self.has_score_nodes = implements(kind, "score_nodes")
        self.has_pre_score = implements(kind, "pre_score")
        self.has_normalize_nodes = implements(kind, "normalize_nodes")
        self.has_normalize_score = implements(kind, "normalize_score")
        self.raw_type: type[np.generic] = np.float64 if self.normalize in _IN_FRACTIONS else np.int64

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return self._status(self._call("pre_enqueue", self.inner.pre_enqueue, pod))

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | Iterable[str] | None:
        answer = self._call("pre_filter", self.inner.pre_filter, state, pod, nodes)
        if answer is None or isinstance(answer, Status):
            return answer
        if isinstance(answer, str) or not isinstance(answer, Iterable):
            return self._nonsense("pre_filter", answer, "a Status, node names or None")
        return frozenset(str(name) for name in answer)

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status | None:
        return self._status(self._call("add_pod", self.inner.add_pod, state, pod, added, node))

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status | None:
        return self._status(self._call("remove_pod", self.inner.remove_pod, state, pod, removed, node))

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if self.has_filter_nodes and not implements(type(self.inner), "filter"):
            return self._first(self.filter_nodes(state, pod, _only(node)))
        return self._status(self._call("filter", self.inner.filter, state, self._shown(pod), node))

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        if self.has_filter_nodes:
            yield from self._vector_filter(state, pod, nodes)
            return
        masks: dict[Status, Mask] = {}
        shown, ask = self._shown(pod), self.inner.filter
        for position, info in nodes.infos():
            # As `_call` does it, without the cost of a call for each node.
            try:
                answer = ask(state, shown, info)
            except (Exception, SystemExit) as problem:
                answer = self._raised("filter", problem)
            if answer is None:
                continue
            status = self._status(answer)
            if status is not None and status.code:
                if status not in masks:
                    masks[status] = np.zeros(len(nodes), dtype=np.bool_)
                masks[status][position] = True
        for status, mask in masks.items():
            yield mask, status

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        answer = self._call("less", self.inner.less, a, b)
        return answer if isinstance(answer, bool) else False

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        answer = self._call("events_to_register", lambda: tuple(self.inner.events_to_register()))
        return ALL_EVENTS if isinstance(answer, Status) else answer

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._status(self._call("reserve", self.inner.reserve, state, pod, node_name))

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._call("unreserve", self.inner.unreserve, state, pod, node_name)

    async def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return await self._call_outside("permit", self.inner.permit, state, pod, node_name)

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._status(self._call("pre_bind_pre_flight", self.inner.pre_bind_pre_flight, state, pod, node_name))

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return await self._call_outside("pre_bind", self.inner.pre_bind, state, pod, node_name)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return await self._call_outside("bind", self.inner.bind, state, pod, node_name)

    async def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        await self._call_outside("post_bind", self.inner.post_bind, state, pod, node_name)

    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> Status | PostFilterResult | None:
        answer = self._call("post_filter", self.inner.post_filter, state, pod, statuses)
        return answer if isinstance(answer, PostFilterResult) else self._status(answer)

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return self._status(self._call("pre_score", self.inner.pre_score, state, pod, nodes))

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float | Status:
        if self.has_score_nodes and not implements(type(self.inner), "score"):
            return float(self.score_nodes(state, pod, _only(node))[0])
        return self._checked(self._call("score", self.inner.score, state, self._shown(pod), node))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Raw:
        raw: Raw = np.zeros(len(nodes), dtype=self.raw_type)
        if self.has_score_nodes:
            answer = self._call("score_nodes", self.inner.score_nodes, state, self._shown(pod), nodes)
            if isinstance(answer, Status) or np.shape(answer) != (len(nodes),):
                problem = self._nonsense("score_nodes", answer, f"a vector of {len(nodes)} scores")
                raise failed_at("score", self.name, problem.message)
            given = np.asarray(answer).tolist()
            for position, _ in nodes.infos():
                raw[position] = self._checked(given[position])
            return raw
        shown = self._shown(pod)
        for position, info in nodes.infos():
            raw[position] = self._checked(self._call("score", self.inner.score, state, shown, info))
        return raw

    def normalize_nodes(self, state: CycleState, pod: Pod, scores: Scores, nodes: Nodes) -> Scores:
        if not (self.has_normalize_nodes or self.has_normalize_score):
            return scores  # They were looked at one by one as they were given.
        if self.has_normalize_nodes:
            answer: object = self._call("normalize_nodes", self.inner.normalize_nodes, state, pod, scores, nodes)
            if not isinstance(answer, np.ndarray) or answer.shape != (len(nodes),):
                problem = self._nonsense("normalize_nodes", answer, f"a vector of {len(nodes)} scores")
                raise failed_at("normalize", self.name, problem.message)
            scores = answer
        else:
            by_name = {info.name: int(scores[position]) for position, info in nodes.infos()}
            status = self._status(self._call("normalize_score", self.inner.normalize_score, state, pod, by_name))
            if status is not None and status.code:
                raise failed_at("normalize", self.name, status.message)
            scores = scores.copy()
            for position, info in nodes.infos():
                scores[position] = by_name[info.name]
        values = scores.tolist()
        for position, _ in nodes.infos():
            value = values[position]
            if not isinstance(value, int | float) or not isfinite(value):
                raise failed_at("normalize", self.name, self._nonsense("normalize_nodes", value, "numbers").message)
            if not 0 <= value <= 100:
                raise failed_at("weigh", self.name, value)
        return scores.astype(np.int64)

    def signature(self, template: PodTemplate) -> Hashable:
        return self.inner.signature(template)

    def concerns(self, template: PodTemplate) -> bool:
        answer = self._call("concerns", self.inner.concerns, template)
        return answer if isinstance(answer, bool) else True

    def filter_token(self, pod: Pod) -> Hashable | None:
        return self.inner.filter_token(pod)

    def _call(self, point: str, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except (Exception, SystemExit) as problem:
            return self._raised(point, problem)

    def _raised(self, point: str, problem: BaseException) -> Status:
        text = f"{point} raised {type(problem).__name__}: {problem}"
        log.warning('plugin "%s": %s', self.name, text, exc_info=problem if log.isEnabledFor(logging.DEBUG) else None)
        return error(text)

    async def _call_outside(self, point: str, method: Callable[..., Any], *args: Any) -> Status | None:
        """Call a method that may block or be a coroutine, where that holds up nobody else."""
        answer = await Call(self.name, point, partial(method, *args))
        if isinstance(answer, Failure):
            log.warning('plugin "%s": %s %s', self.name, point, answer.message)
            return error(f"{point} {answer.message}")
        return self._status(answer)

    def _status(self, answer: object) -> Status | None:
        if answer is None or isinstance(answer, Status):
            return answer
        return self._nonsense("it", answer, "a Status or None")

    def _nonsense(self, point: str, answer: object, expected: str) -> Status:
        shown = repr(answer)
        return error(f"{point} returned {shown[:100]}, expected {expected}")

    def _checked(self, answer: object) -> float:
        """A score as a number that the normaliser can use, or the end of the cycle."""
        if isinstance(answer, Status):
            raise failed_at("score", self.name, answer.message)
        if isinstance(answer, bool) or not isinstance(answer, int | float) or not isfinite(answer):
            raise failed_at("score", self.name, self._nonsense("score", answer, "a number").message)
        if self.inner.score_range is not None:
            low, high = self.inner.score_range
            answer = 100 * (answer - low) / (high - low)
        if self.normalize in _IN_FRACTIONS:
            return answer
        score = int(answer)
        own = self.has_normalize_nodes or self.has_normalize_score
        if not own and (score < 0 or (self.normalize is None and score > 100)):
            raise failed_at("weigh", self.name, score)
        return score

    def _shown(self, pod: Pod) -> Pod:
        return pod if self.scope == "cluster" else GuardedPod(pod, self._noticed)

    def _noticed(self, attribute: str) -> None:
        """The plugin read what differs from pod to pod: what it said of one pod must not be used for another."""
        if self.scope != "cluster":
            log.warning(
                'plugin "%s" declares scope "%s" but reads pod.%s, which is not part of the template: '
                "its answers are no longer cached",
                self.name,
                self.scope,
                attribute,
            )
            self.scope = "cluster"  # type: ignore[misc]
            self._on_uncacheable()

    def _vector_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        answers = self._call(
            "filter_nodes", lambda *a: list(self.inner.filter_nodes(*a)), state, self._shown(pod), nodes
        )
        if isinstance(answers, Status):
            yield np.ones(len(nodes), dtype=np.bool_), answers
            return
        for answer in answers:
            match answer:
                case (mask, Status() as status) if np.shape(mask) == (len(nodes),):
                    yield np.asarray(mask, dtype=np.bool_), status
                case _:
                    expected = "pairs of a mask over the nodes and a Status"
                    yield np.ones(len(nodes), dtype=np.bool_), self._nonsense("filter_nodes", answer, expected)

    @staticmethod
    def _first(answers: Iterable[tuple[Mask, Status]]) -> Status | None:
        found = [status for mask, status in answers if mask[0]]
        if not found:
            return None
        hopeless = any(status.code == Code.UnschedulableAndUnresolvable for status in found)
        code = Code.UnschedulableAndUnresolvable if hopeless else found[0].code
        return Status(code, *(reason for status in found for reason in status.reasons))


def _only(node: NodeInfo) -> Nodes:
    slots = np.array([node.slot], dtype=np.intp)
    return Nodes(slots, 1, {node.slot: node})  # type: ignore[arg-type]
