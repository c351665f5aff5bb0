"""Patches of pod status, one at a time per pod.

Upstream: pkg/scheduler/framework/api_calls/pod_status_patch.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stowplan import logs
from stowplan.cluster import wire
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.write_client import Writer, WriteRequest
from stowplan.cluster.writes import api_failures
from stowplan.framework import Failure, PatchStatus

REPEATS_PER_SECOND = 50.0
MAX_REPEAT_BURST = 100
MAX_DEFERRED_STATUSES = 10_000

_DEFERRED_POLL_SECONDS = 0.2

log = logs.get(__name__)


class Statuses:
    """Patches under way. Patches of one pod are sent one after the other, so that the last one wins.

    Patches requested meanwhile are merged into one. A binding waits for the patch under way, which would otherwise mark
    a bound pod unschedulable; patches that are not sent by then are dropped.

    Patches that only change the reason or message of a condition are limited to a rate: in a full cluster, one pod that
    starts or ends may change the messages of all pending pods. Of deferred patches of a pod, the last one is sent.
    Where there are too many, the oldest is dropped and reported as lost: the pod's next attempt patches it again.
    """

    def __init__(self, writer: Writer, on_lost: Callable[[str], None] = lambda uid: None) -> None:
        self._writer = writer
        self._on_lost = on_lost
        self.running: dict[str, _StatusRequest] = {}
        """By pod uid."""
        self._loop = asyncio.get_running_loop()
        self._repeats = TokenBucket(REPEATS_PER_SECOND, MAX_REPEAT_BURST, self._loop.time)
        self._deferred: dict[str, PatchStatus] = {}
        """By pod uid."""
        self._timer: asyncio.TimerHandle | None = None

    def patch(self, instruction: PatchStatus) -> None:
        uid = instruction.pod.uid
        running, deferred = self.running.get(uid), self._deferred.pop(uid, None)
        if running is not None:
            if running.next_step is None:
                running.following = _merged(running.following, instruction)
        elif deferred is not None and instruction.restores and instruction.nominated_node_name is None:
            return  # The server has the condition.
        elif _may_wait(instruction) and not self._repeats.try_take():
            self._defer(instruction)
        else:
            self._send(_merged(deferred, instruction))

    def drop_deferred(self, uid: str) -> None:
        self._deferred.pop(uid, None)

    def _defer(self, instruction: PatchStatus) -> None:
        if len(self._deferred) >= MAX_DEFERRED_STATUSES:
            oldest = next(iter(self._deferred))
            del self._deferred[oldest]
            self._on_lost(oldest)
        self._deferred[instruction.pod.uid] = instruction
        self._keep_timer()

    def _keep_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_DEFERRED_POLL_SECONDS, self._send_deferred)

    def _send_deferred(self) -> None:
        self._timer = None
        if self._writer.closed:
            return
        while self._deferred and self._repeats.try_take():
            self._send(self._deferred.pop(next(iter(self._deferred))))
        if self._deferred:
            self._keep_timer()

    def bind_after(self, uid: str, step: Callable[[], None]) -> None:
        """Call `step` after the patch under way."""
        running = self.running[uid]
        running.following = None
        running.next_step = step

    def _send(self, instruction: PatchStatus) -> None:
        request = self.running[instruction.pod.uid] = _StatusRequest(self, instruction)
        self._writer.submit(request)

    def ended(self, request: _StatusRequest, failure: Failure | None) -> None:
        """A patch was written or failed."""
        pod = request.instruction.pod
        moot = request.next_step is not None
        if (
            failure is not None
            and not moot
            and api_failures.is_passing(failure)
            and request.attempts < api_failures.MAX_ATTEMPTS
        ):
            self._writer.submit_again(request, request.attempts)
            request.attempts += 1
            return
        del self.running[pod.uid]
        if failure is not None and not api_failures.is_gone(failure):
            log.error(failure.message, "Error updating pod", pod=logs.ref(pod))
            self._on_lost(pod.uid)
        if request.next_step is not None:
            request.next_step()
        elif request.following is not None:
            self.patch(request.following)


class _StatusRequest(WriteRequest):
    __slots__ = ("_statuses", "attempts", "following", "instruction", "next_step")

    def __init__(self, statuses: Statuses, instruction: PatchStatus) -> None:
        pod = instruction.pod
        super().__init__(
            b"PATCH",
            wire.pod_path(pod.namespace, pod.name, b"/status"),
            wire.status_patch(pod.uid, instruction.condition, instruction.nominated_node_name),
            wire.STRATEGIC_MERGE_PATCH,
        )
        self._statuses = statuses
        self.instruction = instruction
        self.attempts = 1
        self.following: PatchStatus | None = None
        self.next_step: Callable[[], None] | None = None

    def replied(self, status: int, body: bytes) -> None:
        self._statuses.ended(self, None if status < api_failures.SUCCESS else api_failures.refused(status, body))

    def lost(self, error: ClusterError, sent: bool) -> None:
        self._statuses.ended(self, api_failures.lost(error, sent))


def _may_wait(instruction: PatchStatus) -> bool:
    """Whether the patch changes no more than the reason or message of a condition."""
    return instruction.is_repeated and instruction.nominated_node_name is None


def _merged(earlier: PatchStatus | None, later: PatchStatus) -> PatchStatus:
    if earlier is None:
        return later
    nominated = later.nominated_node_name
    return PatchStatus(
        later.pod,
        later.condition or earlier.condition,
        earlier.nominated_node_name if nominated is None else nominated,
        is_repeated=(earlier.condition is None or earlier.is_repeated)
        and (later.condition is None or later.is_repeated),
    )
