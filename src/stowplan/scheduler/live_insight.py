"""Insight into a running scheduler: explain, why-not, and the list of pending pods, as structs."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any

from msgspec.structs import replace

from stowplan._version import __version__
from stowplan.api.selector_words import listed
from stowplan.engine import Engine
from stowplan.framework import Pod
from stowplan.framework.explanation import Explanation, PendingPods, PlacedExplanation, WhyNot
from stowplan.insight import sentences
from stowplan.insight.finding import FoundPod, PodNotFoundError
from stowplan.insight.insight import Insight
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import WorkloadReference
from stowplan.scheduler.answers import Answer, Answers
from stowplan.serving.insight_pages import NotReadyError

_PODS_PER_SLICE = 1000
_find_message = re.compile(r"\d+/\d+ nodes are available").search


class LiveInsight:
    """Answers from the state of a running scheduler. The methods are called on any thread."""

    def __init__(self, insight: Insight, engine: Engine, answers: Answers, is_ready: Callable[[], bool]) -> None:
        self._insight = insight
        self._engine = engine
        self._answers = answers
        self._is_ready = is_ready
        _import_sentences()

    def explain(self, namespace: str, pod: str, top: int, profile: str = "") -> Future[Any]:
        def answer(found: FoundPod) -> Slices[Explanation] | Slices[PlacedExplanation]:
            self._insight.check_profile(profile)
            explain = self._insight.explain_placed if found.placed else self._insight.explain
            return explain(found.pod, top=top, profile=profile)

        return self._ask(_AboutPod(self._engine, namespace, pod, answer))

    def why_not(self, namespace: str, pod: str, node: str, profile: str = "") -> Future[Any]:
        def answer(found: FoundPod) -> Slices[WhyNot]:
            self._insight.check_profile(profile)
            return self._insight.why_not(found.pod, self._insight.node(node), profile=profile)

        return self._ask(_AboutPod(self._engine, namespace, pod, answer))

    def about(self, namespace: str, pod: str, answer: Callable[[FoundPod], Slices[Any]]) -> Future[Any]:
        """Another answer about one pod."""
        return self._ask(_AboutPod(self._engine, namespace, pod, answer), lambda found: found.result)

    def workload(self, reference: WorkloadReference, top: int) -> Future[Any]:
        return self._ask(_AboutPending(self._engine, lambda: self._insight.workload(reference, top=top)))

    def pending(self, namespace: str) -> Future[Any]:
        return self._ask(_AboutPending(self._engine, lambda: self._insight.pending(namespace)))

    def _ask(self, question: _AboutPod | _AboutPending, finish: Callable[[Answer], Any] | None = None) -> Future[Any]:
        if not self._is_ready():
            raise NotReadyError("the caches are not synced yet")
        return self._answers.ask(question, finish or self._with_origin)

    def _with_origin(self, answer: Answer) -> Any:
        insight, result = self._insight, answer.result
        as_of = replace(
            result.as_of,
            time=insight.clocks.timestamp(insight.clock()),
            revision=answer.revision,
            by=f"stowplan {__version__}",
            source="scheduler",
        )
        result = replace(result, as_of=as_of)
        if not isinstance(result, Explanation):
            return result
        return replace(result, took=replace(result.took, ms=round(answer.seconds * 1000, 3)))


def last_message(engine: Engine) -> Callable[[Pod], str]:
    """kube-scheduler's message of a pod's last attempt, from the pod's PodScheduled condition; empty before that.

    With it an explanation does not search for victims, which would take too long for a scheduler that runs.
    """

    def message(pod: Pod) -> str:
        pending = engine.pending.get(pod.uid)
        condition = None if pending is None else pending.condition("PodScheduled")
        found = None if condition is None else _find_message(condition.message)
        return "" if condition is None or found is None else condition.message[found.start() :]

    return message


def _import_sentences() -> None:
    """Imports now what the first explanation would import in one long slice."""
    importlib.import_module("numpy.ma")  # By np.unique.
    for module in pkgutil.iter_modules(sentences.__path__, f"{sentences.__name__}."):
        importlib.import_module(module.name)


class _AboutPod:
    """A question about one pod, by its name or uid. Starts again if a node changed, or the pod itself."""

    def __init__(self, engine: Engine, namespace: str, name: str, answer: Callable[[FoundPod], Slices[Any]]) -> None:
        self._engine = engine
        self._namespace = namespace
        self._name = name
        self._answer = answer
        self._uid = ""

    def begin(self) -> Slices[Any]:
        self._uid = ""
        found = yield from self._find()
        self._uid = found.pod.uid
        return (yield from self._answer(found))

    def revision(self) -> Hashable:
        engine = self._engine
        version = engine.cluster.nodes.version
        pod = self._pod(self._uid)
        return version, None if pod is None else (pod.template, pod.node_name, pod.nominated_node_name)

    def _pod(self, uid: str) -> Pod | None:
        """The pod as it is now."""
        placed = self._engine.cluster.pods.get(uid)
        pending = self._engine.pending.get(uid)
        return placed or (None if pending is None else pending.pod)

    def _find(self) -> Slices[FoundPod]:
        engine, name, namespace = self._engine, self._name, self._namespace
        named = self._pod(name)
        if named is not None:
            return self._found(named)
        for entries in (engine.pending, engine.cluster.pods):
            uids = list(entries)
            for start in range(0, len(uids), _PODS_PER_SLICE):
                yield
                for uid in uids[start : start + _PODS_PER_SLICE]:
                    pod = self._pod(uid)
                    if pod is not None and pod.name == name and pod.namespace == namespace:
                        return self._found(pod)
        raise PodNotFoundError(
            f"pod {namespace}/{name} is not known to the scheduler: it is neither on a node nor pending for "
            f"{listed(sorted(engine.profiles), 'or')}"
        )

    def _found(self, pod: Pod) -> FoundPod:
        waits = self._engine.waiting_pods.get(pod.uid) is not None
        return FoundPod(pod, placed=bool(pod.node_name) and not waits)


class _AboutPending:
    """A list of pending pods. Starts again if a node came or went."""

    def __init__(self, engine: Engine, answer: Callable[[], Slices[PendingPods]]) -> None:
        self._engine = engine
        self._answer = answer

    def begin(self) -> Slices[PendingPods]:
        return self._answer()

    def revision(self) -> Hashable:
        return self._engine.cluster.nodes.membership
