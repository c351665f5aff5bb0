"""Patches of pod status, one at a time per pod."""

from __future__ import annotations

from collections.abc import Callable

from stowplan import logs
from stowplan.cluster import wire
from stowplan.cluster.errors import ClusterError
from stowplan.cluster.write_client import Writer, WriteRequest
from stowplan.cluster.writes import api_failures
from stowplan.framework import Failure, PatchStatus

log = logs.get(__name__)


class Statuses:
    """Patches under way. Patches of one pod are sent one after the other, so that the last one wins.

    Patches requested meanwhile are merged into one. A binding waits for the patch under way, which would otherwise mark
    a bound pod unschedulable; patches that are not sent by then are dropped.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.running: dict[str, _StatusRequest] = {}
        """By pod uid."""

    def patch(self, instruction: PatchStatus) -> None:
        running = self.running.get(instruction.pod.uid)
        if running is None:
            self._send(instruction)
        elif running.next_step is None:
            running.following = _merged(running.following, instruction)

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
        if request.next_step is not None:
            request.next_step()
        elif request.following is not None:
            self._send(request.following)


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


def _merged(earlier: PatchStatus | None, later: PatchStatus) -> PatchStatus:
    if earlier is None:
        return later
    nominated = later.nominated_node_name
    return PatchStatus(
        later.pod,
        later.condition or earlier.condition,
        earlier.nominated_node_name if nominated is None else nominated,
    )
