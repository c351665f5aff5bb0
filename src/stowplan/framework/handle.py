"""What a plugin may ask of the scheduler that runs it."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Protocol

from stowplan.framework.cycle_state import CycleState
from stowplan.framework.instructions import EmitEvent, Request
from stowplan.framework.node_info import NodeInfo
from stowplan.framework.plugin import PostFilterResult
from stowplan.framework.pod import Pod
from stowplan.framework.status import Status


class WaitingPod(Protocol):
    """A pod that a Permit plugin holds back."""

    @property
    def pod(self) -> Pod: ...

    @property
    def pending_plugins(self) -> Iterable[str]: ...

    def allow(self, plugin: str) -> None: ...

    def reject(self, plugin: str, reason: str) -> bool:
        """False where the pod had been allowed or rejected already."""


class Handle(Protocol):
    """The scheduler's side of the contract; `self.handle` in a plugin."""

    @property
    def profile_name(self) -> str:
        """The schedulerName of the profile that this plugin instance serves."""

    @property
    def cluster(self) -> Any:
        """The columnar cache; its shape is not part of the contract with authors outside the tree."""

    def node_infos(self) -> Iterable[NodeInfo]: ...

    def node_info(self, name: str) -> NodeInfo | None: ...

    def objects(self, kind: str) -> Mapping[str, Any]:
        """All known objects of a kind, by "namespace/name" or, for cluster-scoped kinds, by name."""

    def nominated_pods(self, node_name: str) -> Iterable[Pod]: ...

    def preempt(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status], limit: tuple[int, int]
    ) -> PostFilterResult | str:
        """Search for pods to evict; the text says why there is no point. A search that finds none gives a result with
        a rejection, which clears a nomination. `limit` is (percentage, absolute): how many candidate nodes are enough
        to choose from."""

    def activate(self, pods: Mapping[str, Pod]) -> None: ...

    def now(self) -> float:
        """Seconds since 1970, as objects tell the time."""

    def emit(self, event: EmitEvent) -> None:
        """Tell the owner of a pod something."""

    def measured(self, metric: str, labels: tuple[str, ...], value: float = 1.0) -> None:
        """Add to one of the scheduler's own metrics that only a plugin can tell of."""

    def start(self, steps: Coroutine[Request, Any, None]) -> None:
        """Let a coroutine that awaits requests run by itself, once the decision that is being made is applied. Where
        decisions are only looked at, nothing is done."""

    def waiting_pods(self) -> Iterable[WaitingPod]: ...

    def waiting_pod(self, uid: str) -> WaitingPod | None: ...

    def is_preempting(self, pod: Pod) -> bool:
        """Whether the evictions that are to make room for the pod are still under way."""
