"""The Handle that a profile gives to its plugins."""

from __future__ import annotations

import time
from collections.abc import Collection, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from stowplan.api.kinds import KINDS
from stowplan.cache import Cluster
from stowplan.framework import Code, CycleState, EmitEvent, NodeInfo, Pod, PostFilterResult, Request, Status, WaitingPod
from stowplan.queue.nominator import Nominator
from stowplan.runtime.decide.diagnosis import NodeStatuses
from stowplan.runtime.points.waiting_pods import WaitingPods
from stowplan.runtime.preemption import eligibility, search

if TYPE_CHECKING:
    from stowplan.runtime.preemption import Preemption


class Evictions(PostFilterResult):
    """A node to nominate, with the evictions that make room there."""

    __slots__ = ("preemption",)

    def __init__(self, preemption: Preemption) -> None:
        super().__init__(preemption.node_name)
        self.preemption = preemption


class Services(Protocol):
    """What an engine does for plugins."""

    @property
    def waiting_pods(self) -> WaitingPods: ...

    def activate(self, pods: Mapping[str, Pod]) -> None: ...

    def now(self) -> float: ...

    def emit(self, event: EmitEvent) -> None: ...

    def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None: ...

    def start(self, steps: Coroutine[Request, Any, None]) -> None: ...

    @property
    def preempting(self) -> Collection[str]: ...

    def is_preempting(self, pod: Pod) -> bool: ...


class ProfileHandle:
    """Reads of the cluster; what needs a running engine (waiting pods, activation) is empty until one attaches."""

    def __init__(self, profile_name: str, cluster: Cluster, nominator: Nominator) -> None:
        self.profile_name = profile_name
        self.cluster = cluster
        self.connection: Any = None
        """The way to the API server, for plugins that write to it themselves; None where there is no cluster."""
        self._nominator = nominator
        self._services: Services | None = None
        self._preempting: Collection[str] = ()

    def attach(self, services: Services) -> None:
        self._services = services
        self._preempting = services.preempting

    def node_infos(self) -> Iterable[NodeInfo]:
        return self.cluster.nodes

    def node_info(self, name: str) -> NodeInfo | None:
        return self.cluster.nodes.get(name)

    def objects(self, kind: str) -> Mapping[str, Any]:
        return self.cluster.stores.of(KINDS[kind].struct).items()  # type: ignore[type-var]

    def nominated_pods(self, node_name: str) -> Iterable[Pod]:
        return self._nominator.on_node(node_name)

    def preempt(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status], limit: tuple[int, int]
    ) -> PostFilterResult | str:
        if not isinstance(statuses, NodeStatuses):
            return "not eligible outside a scheduling cycle."
        reason = eligibility(statuses.diagnosis)
        if reason:
            return reason
        preemption = search(statuses.diagnosis, limit)
        if preemption.chosen is None:
            return PostFilterResult("", Status(Code.Unschedulable, preemption.message))
        return Evictions(preemption)

    def activate(self, pods: Mapping[str, Pod]) -> None:
        if self._services is not None:
            self._services.activate(pods)

    def now(self) -> float:
        return time.time() if self._services is None else self._services.now()

    def emit(self, event: EmitEvent) -> None:
        if self._services is not None:
            self._services.emit(event)

    def measured(self, metric: str, labels: tuple[str, ...], value: float = 1.0) -> None:
        if self._services is not None:
            self._services.measured(metric, labels, value)

    def start(self, steps: Coroutine[Request, Any, None]) -> None:
        if self._services is None:
            steps.close()
        else:
            self._services.start(steps)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return () if self._services is None else self._services.waiting_pods

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return None if self._services is None else self._services.waiting_pods.get(uid)

    def is_preempting(self, pod: Pod) -> bool:
        # Asked about every pod that enters the queue, and hardly ever is there anything to look at closer.
        return pod.uid in self._preempting and self._services is not None and self._services.is_preempting(pod)
