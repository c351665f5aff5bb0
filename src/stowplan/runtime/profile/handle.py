"""The Handle of a profile's plugins where no scheduler runs.

Upstream: pkg/scheduler/framework/runtime/framework.go
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stowplan.api.kinds import KINDS
from stowplan.cache import Cluster
from stowplan.framework import (
    Code,
    CycleState,
    EmitEvent,
    NodeInfo,
    Pod,
    PodGroupState,
    PostFilterResult,
    Request,
    Status,
    WaitingPod,
)
from stowplan.plugins.base import VictimRules
from stowplan.queue.nominator import Nominator
from stowplan.runtime.decide.diagnosis import NodeStatuses
from stowplan.runtime.preemption import eligibility, search

if TYPE_CHECKING:
    from stowplan.runtime.preemption import Preemption


class Evictions(PostFilterResult):
    """A node to nominate, with the evictions that make room there."""

    __slots__ = ("preemption",)

    def __init__(self, preemption: Preemption) -> None:
        super().__init__(preemption.node_name)
        self.preemption = preemption


class ProfileHandle:
    """Reads of the cluster. The services of a running scheduler do nothing here; the engine's handle adds them."""

    def __init__(self, profile_name: str, cluster: Cluster, nominator: Nominator, connection: Any = None) -> None:
        self.profile_name = profile_name
        self.cluster = cluster
        self.connection = connection
        self._nominator = nominator

    def node_infos(self) -> Iterable[NodeInfo]:
        return self.cluster.nodes

    def node_info(self, name: str) -> NodeInfo | None:
        return self.cluster.nodes.get(name)

    def objects(self, kind: str) -> Mapping[str, Any]:
        return self.cluster.stores.of(KINDS[kind].struct).items()  # type: ignore[type-var]

    def pod_group_state(self, namespace: str, name: str) -> PodGroupState | None:
        return self.cluster.pod_groups.get(namespace, name)

    def nominated_pods(self, node_name: str) -> Iterable[Pod]:
        return self._nominator.on_node(node_name)

    def nominations(self) -> Mapping[str, Mapping[str, Pod]]:
        return self._nominator.by_node

    def is_pending(self, pod: Pod) -> bool:
        return False

    def pending_pods(self) -> Iterable[Pod]:
        return ()

    def is_deciding(self) -> bool:
        return False

    def preempt(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status], limit: tuple[int, int]
    ) -> PostFilterResult | str:
        return self.preempt_by(state, pod, statuses, limit, None)

    def preempt_by(
        self,
        state: CycleState,
        pod: Pod,
        statuses: Mapping[str, Status],
        limit: tuple[int, int] | None,
        rules: VictimRules | None,
    ) -> PostFilterResult | str:
        if not isinstance(statuses, NodeStatuses):
            return "not eligible outside a scheduling cycle."
        reason = eligibility(statuses.diagnosis, rules)
        if reason:
            return reason
        preemption = search(statuses.diagnosis, limit, rules)
        if preemption.chosen is None:
            return PostFilterResult("", Status(Code.Unschedulable, preemption.message))
        return Evictions(preemption)

    def activate(self, pods: Mapping[str, Pod]) -> None:
        return None

    def now(self) -> float:
        return time.time()

    def emit(self, event: EmitEvent) -> None:
        return None

    def measured(self, metric: str, labels: tuple[str, ...], value: float = 1.0) -> None:
        return None

    def start(self, steps: Coroutine[Request, Any, None]) -> None:
        steps.close()

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return ()

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return None

    def is_preempting(self, pod: Pod) -> bool:
        return False
