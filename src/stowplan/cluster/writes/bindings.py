"""Binding requests, and the lookup of pods whose binding is in doubt.

Upstream: pkg/scheduler/framework/api_calls/pod_binding.go,
pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from stowplan import api, logs
from stowplan.api import codec
from stowplan.api.codec import DecodeError
from stowplan.cluster import protobuf, wire
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.write_client import ClosedError, NotLeaderError, Writer, WriteRequest
from stowplan.cluster.writes import api_failures
from stowplan.framework import Bind, Failure, Request

WARN_AFTER_SECONDS = 30.0
"""A binding in doubt is logged after this time."""

log = logs.get(__name__)

Answer = Callable[[Request, Any], None]
"""Receives the outcome of an instruction."""


class BindingRequest(WriteRequest):
    """The request to bind a pod.

    A request that may have been carried out is repeated for the same node until its outcome is known: forgetting the
    pod would give its resources away, and a watch that breaks with the request may return much later than requests
    succeed again. If the first request bound the pod, the second ends in a conflict, and a lookup of the pod decides.
    """

    __slots__ = ("_answer", "_attempts", "_doubted_at", "_instruction", "_warned", "_writer")

    accept = protobuf.MEDIA_TYPE
    finishes = True

    def __init__(self, writer: Writer, instruction: Bind, answer: Answer) -> None:
        pod = instruction.pod
        super().__init__(
            b"POST",
            wire.binding_path(pod.namespace, pod.name),
            wire.binding(pod.namespace, pod.name, pod.uid, instruction.node_name),
            protobuf.MEDIA_TYPE,
        )
        self._writer = writer
        self._instruction = instruction
        self._answer = answer
        self._attempts = 1
        self._doubted_at: float | None = None
        self._warned = False

    def replied(self, status: int, body: bytes) -> None:
        if status < api_failures.SUCCESS:
            self.end(None)
        elif status >= api_failures.SERVER_ERROR and self._attempts < api_failures.MAX_ATTEMPTS:
            self._send_again()
        elif status == api_failures.CONFLICT or status >= api_failures.SERVER_ERROR:
            # The server may have failed after it bound the pod.
            self._writer.submit(
                _PodLookup(self._writer, self._instruction, api_failures.refused(status, body), self.end)
            )
        else:
            self.end(api_failures.refused(status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        now = asyncio.get_running_loop().time()
        if sent and self._doubted_at is None:
            self._doubted_at = now
        doubted_at = self._doubted_at
        if doubted_at is None or _is_final(error):
            self.end(api_failures.lost(error, sent=doubted_at is not None))
            return
        if now - doubted_at >= WARN_AFTER_SECONDS and not self._warned:
            self._warned = True
            wanted = self._instruction
            log.warning(
                "Binding is in doubt, the request is repeated",
                pod=logs.ref(wanted.pod),
                node=wanted.node_name,
                err=error,
            )
        self._send_again()

    def end(self, outcome: Failure | None) -> None:
        self._answer(self._instruction, outcome)

    def _send_again(self) -> None:
        self._writer.submit_again(self, self._attempts)
        self._attempts += 1


class _PodLookup(WriteRequest):
    """Looks up a pod that could not be bound: an earlier request, thought lost, may have bound it."""

    __slots__ = ("_attempts", "_end", "_instruction", "_refusal", "_writer")

    finishes = True

    def __init__(
        self, writer: Writer, instruction: Bind, refusal: Failure, end: Callable[[Failure | None], None]
    ) -> None:
        pod = instruction.pod
        super().__init__(b"GET", wire.pod_path(pod.namespace, pod.name))
        self._writer = writer
        self._instruction = instruction
        self._refusal = refusal
        self._end = end
        self._attempts = 1

    def replied(self, status: int, body: bytes) -> None:
        if status >= api_failures.SERVER_ERROR and self._attempts < api_failures.MAX_ATTEMPTS:
            self._look_again()
        else:
            self._end(None if status < api_failures.SUCCESS and self._is_there(body) else self._refusal)

    def lost(self, error: ClusterError, sent: bool) -> None:
        if _is_final(error):
            self._end(self._refusal)
        else:
            self._look_again()

    def _look_again(self) -> None:
        self._writer.submit_again(self, self._attempts)
        self._attempts += 1

    def _is_there(self, body: bytes) -> bool:
        try:
            pod = codec.decode(api.Pod, body)
        except DecodeError:
            return False
        wanted = self._instruction
        return (pod.metadata.uid, pod.spec.node_name) == (wanted.pod.uid, wanted.node_name)


def _is_final(error: ClusterError) -> bool:
    """Whether no further request will be sent."""
    return isinstance(error, NotLeaderError | ClosedError)
