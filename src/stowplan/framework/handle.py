"""The services that a scheduler offers to its plugins.

Upstream: k8s.io/kube-scheduler/framework/interface.go (Handle)
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Protocol

from stowplan.framework.cycle_state import CycleState
from stowplan.framework.instructions import EmitEvent, Request
from stowplan.framework.node_info import NodeInfo
from stowplan.framework.plugin import PostFilterResult
from stowplan.framework.pod import Pod
from stowplan.framework.pod_group import PodGroupState
from stowplan.framework.status import Status


class WaitingPod(Protocol):
    """A pod that waits on Permit."""

    @property
    def pod(self) -> Pod: ...

    @property
    def pending_plugins(self) -> Iterable[str]:
        """Names of the Permit plugins that have not allowed the pod yet."""

    def allow(self, plugin: str) -> None: ...

    def reject(self, plugin: str, reason: str) -> bool:
        """False if the pod was allowed or rejected already."""


class Handle(Protocol):
    """The scheduler as plugins see it: `self.handle`.

    Without a running scheduler (in an extender, or when decisions are only evaluated) the cluster can be read, there
    are no waiting pods, and `activate`, `emit`, `measured` and `start` do nothing.
    """

    @property
    def profile_name(self) -> str:
        """The schedulerName of the profile that this plugin instance serves."""

    @property
    def cluster(self) -> Any:
        """The columnar cache; its interface is not stable for out-of-tree plugins."""

    connection: Any
    """The connection to the API server, for plugins that write to it themselves; None without a cluster."""

    def node_infos(self) -> Iterable[NodeInfo]: ...

    def node_info(self, name: str) -> NodeInfo | None: ...

    def objects(self, kind: str) -> Mapping[str, Any]:
        """All known objects of a kind, by "namespace/name" or, for cluster-scoped kinds, by name."""

    def pod_group_state(self, namespace: str, name: str) -> PodGroupState | None:
        """The pods of a pod group; None for a group without pods. During a pod group cycle, members that found a node
        count as assumed."""

    def nominated_pods(self, node_name: str) -> Iterable[Pod]: ...

    def preempt(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status], limit: tuple[int, int]
    ) -> PostFilterResult | str:
        """Search for victims. Returns a text if the pod is not eligible for preemption; a search without candidates
        returns a result with a rejection, which clears a nomination. `limit` is (percentage, absolute): how many
        candidate nodes are enough to choose from."""

    def activate(self, pods: Mapping[str, Pod]) -> None:
        """Move pods to the active queue, regardless of backoff."""

    def now(self) -> float:
        """Time of day in seconds since 1970, comparable with timestamps of objects."""

    def emit(self, event: EmitEvent) -> None:
        """Record an event about a pod."""

    def measured(self, metric: str, labels: tuple[str, ...], value: float = 1.0) -> None:
        """Add to a metric of the scheduler that only a plugin can measure."""

    def start(self, steps: Coroutine[Request, Any, None]) -> None:
        """Run a coroutine that awaits requests in the background, after the decision under way is applied."""

    def waiting_pods(self) -> Iterable[WaitingPod]: ...

    def waiting_pod(self, uid: str) -> WaitingPod | None: ...

    def is_preempting(self, pod: Pod) -> bool:
        """Whether evictions that make room for the pod are under way."""
