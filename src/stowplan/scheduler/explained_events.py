"""Explanations in FailedScheduling events and PodScheduled conditions, before kube-scheduler's message.

A sentence is computed once for a pod template and a message, between scheduling cycles like every answer. Until it is
there the condition has kube-scheduler's message alone, and the event waits. If no question can be queued, or the answer
fails, both have kube-scheduler's message alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from concurrent.futures import Future
from typing import Any, NamedTuple

from msgspec.structs import replace

from stowplan.cache.lru_map import LruMap
from stowplan.engine import Engine
from stowplan.framework import EmitEvent, Instruction, PatchStatus, Pod, PodTemplate, RepeatEvent
from stowplan.framework.instructions import MAX_NOTE_BYTES, encode_note
from stowplan.insight.finding import PodNotFoundError
from stowplan.insight.insight import Insight
from stowplan.insight.slices import Slices
from stowplan.scheduler.answers import Answer, Answers
from stowplan.scheduler.scheduling_loop import Executor
from stowplan.serving.insight_pages import TooManyQuestionsError

MAX_KEPT_SENTENCES = 1024
MIN_SENTENCE_BYTES = 60
"""A sentence of which less fits into an event is left out."""
_ELLIPSIS = "…"
_NO_NODE = " nodes are available"
"""Part of the message of an attempt that found no node; other failures are errors."""

Key = tuple[PodTemplate, str]
"""The pods that share a sentence: their template, and kube-scheduler's message."""
Respond = Callable[[Any, Any], None]


def explained_note(sentence: str, message: str, limit: int = MAX_NOTE_BYTES) -> str:
    """The sentence and kube-scheduler's message within the limit of an event's note.

    kube-scheduler's message is never cut for the sentence: a sentence that is too long is cut, or left out.
    """
    room = limit - len(message.encode()) - 1
    encoded = sentence.encode()
    if len(encoded) > room:
        if room < MIN_SENTENCE_BYTES:
            return message
        room -= len(_ELLIPSIS.encode())
        sentence = encoded[:room].decode(errors="ignore").rpartition(" ")[0] + _ELLIPSIS
    return f"{sentence} {message}"


class _Held(NamedTuple):
    """Instructions about pods that wait for the sentence of their key."""

    events: list[EmitEvent]
    patches: dict[str, PatchStatus]
    """By the pod's uid: conditions that were written without the sentence."""


class ExplainingExecutor:
    """Adds sentences to the instructions that report a failed attempt, and hands all instructions on."""

    def __init__(
        self, executor: Executor, engine: Engine, insight: Insight, answers: Answers, profiles: Collection[str]
    ) -> None:
        """`profiles` are the schedulerNames whose pods are explained."""
        self._executor = executor
        self._engine = engine
        self._insight = insight
        self._answers = answers
        self._profiles = profiles
        self._sentences: LruMap[Key, str] = LruMap(MAX_KEPT_SENTENCES)
        self._held: dict[Key, _Held] = {}

    @property
    def waiting(self) -> int:
        return self._executor.waiting

    def execute(self, instruction: Instruction, answer: Respond) -> None:
        if isinstance(instruction, EmitEvent) and instruction.reason == "FailedScheduling":
            self._emit(instruction)
        elif isinstance(instruction, RepeatEvent) and instruction.reporter in self._profiles:
            for event in instruction.each():
                self._emit(event)
        elif isinstance(instruction, PatchStatus) and instruction.condition is not None:
            self._patch(instruction)
        else:
            self._executor.execute(instruction, answer)

    def _emit(self, event: EmitEvent) -> None:
        pod = event.regarding
        key = pod.template, event.note
        if pod.template.spec.scheduler_name not in self._profiles or _NO_NODE not in event.note:
            self._send(event)
        elif (sentence := self._sentences.get(key)) is not None:
            self._send(_explained(event, sentence))
        elif key in self._held:
            self._held[key].events.append(event)
        elif self._ask(key, pod):
            self._held[key] = _Held([event], {})
        else:
            self._send(event)

    def _patch(self, patch: PatchStatus) -> None:
        condition = patch.condition
        assert condition is not None
        key = patch.pod.template, encode_note(condition.message).decode()
        sentence = self._sentences.peek(key)
        if sentence is not None:
            self._patch_explained(patch, sentence)
            return
        if key in self._held:
            self._held[key].patches[patch.pod.uid] = patch
        self._send(patch)

    def _patch_explained(self, patch: PatchStatus, sentence: str) -> None:
        """Writes the condition with the sentence, unless the pod has it."""
        condition = patch.condition
        known = self._engine.pending.get(patch.pod.uid)
        if condition is None or known is None or patch.pod.uid in self._engine.cluster.assumed:
            return
        if sentence:
            condition = replace(condition, message=f"{sentence} {condition.message}")
        before = known.condition(condition.type)
        same = before is not None and (before.status, before.reason, before.message) == (
            condition.status,
            condition.reason,
            condition.message,
        )
        if not same or patch.nominated_node_name is not None:
            self._send(PatchStatus(patch.pod, None if same else condition, patch.nominated_node_name))

    def _ask(self, key: Key, pod: Pod) -> bool:
        """Queues the question for a sentence; whether there is room for it."""
        question = _SentenceQuestion(self._engine, self._insight, pod.uid)
        try:
            future = self._answers.ask(question)
        except TooManyQuestionsError:
            return False
        future.add_done_callback(lambda done: self._answered(key, done))
        return True

    def _answered(self, key: Key, done: Future[Answer]) -> None:
        """Runs on the engine's thread, which computes the answers."""
        failed = done.cancelled() or done.exception() is not None
        sentence = "" if failed else done.result().result
        if not failed:
            self._sentences.put(key, sentence)
        held = self._held.pop(key, _Held([], {}))
        for event in held.events:
            self._send(_explained(event, sentence))
        for patch in held.patches.values() if sentence else ():
            self._patch_explained(PatchStatus(patch.pod, patch.condition, None), sentence)

    def _send(self, instruction: EmitEvent | PatchStatus) -> None:
        self._executor.execute(instruction, _unanswered)


class _SentenceQuestion:
    """The sentence about a pending pod; empty if the pod fits now."""

    def __init__(self, engine: Engine, insight: Insight, uid: str) -> None:
        self._engine = engine
        self._insight = insight
        self._uid = uid

    def begin(self) -> Slices[str]:
        pending = self._engine.pending.get(self._uid)
        if pending is None:
            raise PodNotFoundError(f"pod {self._uid} is not pending any more")
        explanation = yield from self._insight.explain(pending.pod, top=1)
        return "" if explanation.verdict == "fits" else explanation.sentence

    def revision(self) -> Hashable:
        return self._engine.cluster.nodes.version


def _explained(event: EmitEvent, sentence: str) -> EmitEvent:
    if not sentence:
        return event
    note = explained_note(sentence, event.note)
    return EmitEvent(
        event.regarding,
        event.type,
        event.reason,
        event.action,
        note,
        event.related,
        event.reporter,
        is_repeated=event.is_repeated,
    )


def _unanswered(request: Any, outcome: Any) -> None:
    """Events and patches of a status have no answer."""
