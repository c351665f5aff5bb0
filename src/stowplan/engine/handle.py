"""The Handle of plugins that an engine runs.

Upstream: pkg/scheduler/framework/runtime/framework.go
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from stowplan.engine.preemption import Preemptions
from stowplan.engine.state import EngineState
from stowplan.framework import EmitEvent, Pod, Request, WaitingPod
from stowplan.runtime.profile.handle import ProfileHandle


class EngineHandle(ProfileHandle):
    """Adds the services of a running scheduler. Actions take effect once the decision under way is applied."""

    def __init__(self, profile_name: str, state: EngineState, preemptions: Preemptions, connection: Any) -> None:
        super().__init__(profile_name, state.cluster, state.nominator, connection)
        self._state = state
        self._preemptors = preemptions.preemptors

    def activate(self, pods: Mapping[str, Pod]) -> None:
        self._state.defer(lambda: self._state.queue.activate(list(pods.values())))

    def now(self) -> float:
        return self._state.wall_clock()

    def is_pending(self, pod: Pod) -> bool:
        return pod.uid in self._state.pending

    def pending_pods(self) -> Iterable[Pod]:
        return [known.pod for known in self._state.pending.values()]

    def is_deciding(self) -> bool:
        return self._state.deciding

    def emit(self, event: EmitEvent) -> None:
        self._state.defer(lambda: self._state.outbox.append(event))

    def measured(self, metric: str, labels: tuple[str, ...], value: float = 1.0) -> None:
        self._state.observer.measured(metric, labels, value)

    def start(self, steps: Coroutine[Request, Any, None]) -> None:
        self._state.defer(lambda: self._start(steps))

    def _start(self, steps: Coroutine[Request, Any, None]) -> None:
        self._state.tasks.start(steps)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self._state.waiting_pods

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._state.waiting_pods.get(uid)

    def is_preempting(self, pod: Pod) -> bool:
        return pod.uid in self._preemptors
