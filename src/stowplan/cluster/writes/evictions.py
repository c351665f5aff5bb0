"""Eviction of victims: the DisruptionTarget condition, then the deletion.

Upstream: pkg/scheduler/framework/preemption/executor.go (PreemptPod)
"""

from __future__ import annotations

from stowplan import logs
from stowplan.cluster import wire
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.write_client import JSON, Writer, WriteRequest
from stowplan.cluster.writes import api_failures
from stowplan.cluster.writes.bindings import Answer
from stowplan.framework import Evict, Failure

_GONE = "NotFound"

log = logs.get(__name__)


class EvictionRequest(WriteRequest):
    """Both requests in order. They apply only to the pod with this uid and may be repeated."""

    __slots__ = ("_answer", "_attempts", "_instruction", "_writer")

    def __init__(self, writer: Writer, instruction: Evict, answer: Answer) -> None:
        pod = instruction.pod
        super().__init__(
            b"PATCH",
            wire.pod_path(pod.namespace, pod.name, b"/status"),
            wire.status_patch(pod.uid, instruction.condition, None),
            wire.STRATEGIC_MERGE_PATCH,
        )
        self._writer = writer
        self._instruction = instruction
        self._answer = answer
        self._attempts = 1

    def replied(self, status: int, body: bytes) -> None:
        if status >= api_failures.SUCCESS:
            self._fail(api_failures.refused(status, body))
        elif self.method == b"DELETE":
            self._answer(self._instruction, None)
        else:
            self._delete()

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._fail(api_failures.lost(error, sent))

    def _delete(self) -> None:
        pod = self._instruction.pod
        self.method, self.content_type = b"DELETE", JSON
        self.path = wire.pod_path(pod.namespace, pod.name)
        self.body = wire.delete_options(pod.uid)
        self._attempts = 1
        self._writer.submit(self)

    def _fail(self, failure: Failure) -> None:
        if api_failures.is_gone(failure):
            self._answer(self._instruction, Failure(failure.message, _GONE))
        elif api_failures.is_passing(failure) and self._attempts < api_failures.MAX_ATTEMPTS:
            self._writer.submit_again(self, self._attempts)
            self._attempts += 1
        else:
            pod = self._instruction.pod
            log.error(failure.message, "Error occurred while preempting the pod", pod=logs.ref(pod))
            self._answer(self._instruction, failure)
