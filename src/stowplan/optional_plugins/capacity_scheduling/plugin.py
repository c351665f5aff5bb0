"""The plugin: PreFilter checks the quotas, PostFilter reclaims what other namespaces borrow.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling/capacity_scheduling.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from stowplan import framework as fwk
from stowplan.api.amounts import in_words
from stowplan.api.kinds import KINDS
from stowplan.config.args.optional import CapacitySchedulingArgs
from stowplan.optional_plugins.base.preemption import PreemptionPlugin
from stowplan.optional_plugins.base.requests import Amounts, add, effective_request
from stowplan.optional_plugins.capacity_scheduling.quotas import (
    UNLIMITED,
    ElasticQuotas,
    NamespaceUsage,
    Quota,
    exceeds,
)
from stowplan.plugins.base import InTreeHandle, VictimRules

NAME = "CapacityScheduling"
_GLOBAL_QUOTA = fwk.Status(fwk.Code.Unschedulable, "global quota max exceeded", plugin=NAME)


class QuotaState:
    """The quotas as one scheduling cycle sees them: pods of a what-if included."""

    def __init__(self, quotas: Mapping[str, Quota], total_min: Amounts, usage: NamespaceUsage) -> None:
        self.quotas = quotas
        self._total_min = total_min
        self._usage = usage
        self._used = usage.totals()
        self._moved: dict[str, Amounts] = {}
        """Amounts of a what-if by namespace."""

    def clone(self) -> QuotaState:
        twin = QuotaState(self.quotas, self._total_min, self._usage)
        twin._moved = {namespace: dict(moved) for namespace, moved in self._moved.items()}
        return twin

    def move(self, pod: fwk.Pod, sign: int) -> None:
        """A pod joins (1) or leaves (-1) in the what-if."""
        if pod.namespace in self.quotas:
            add(self._moved.setdefault(pod.namespace, {}), effective_request(pod.template), sign)

    def used(self, namespace: str, request: Mapping[str, int] | None = None) -> Amounts:
        """What a namespace uses, with a further request."""
        total = dict(self._used.get(namespace, {}))
        add(total, self._moved.get(namespace, {}))
        add(total, request or {})
        return total

    def over_max(self, namespace: str, request: Mapping[str, int]) -> str:
        """The resource of which the namespace would use more than its max; empty if there is none."""
        return exceeds(self.used(namespace, request), self.quotas[namespace].max, UNLIMITED)

    def over_min(self, namespace: str, request: Mapping[str, int] | None = None) -> str:
        return exceeds(self.used(namespace, request), self.quotas[namespace].min, 0)

    def over_total_min(self, request: Mapping[str, int]) -> str:
        """The resource of which all namespaces with quotas would use more than all mins together."""
        return exceeds(self.total_used(request), self._total_min, 0)

    def total_used(self, request: Mapping[str, int]) -> Amounts:
        total = dict(self._usage.sum_over(self.quotas))
        for part in (request, *self._moved.values()):
            add(total, part)
        return total

    def total_min(self, resource: str) -> int:
        return self._total_min.get(resource, 0)


class QuotaRequests(NamedTuple):
    """A pod's request, alone and with the requests of nominated pods."""

    own: Mapping[str, int]
    in_namespace: Mapping[str, int]
    """With nominated pods of the namespace whose priority is not lower."""
    everywhere: Mapping[str, int]
    """With those, and nominated pods of namespaces that do not use more than their min."""


class ReclaimRules(VictimRules):
    """Pods with a quota evict pods of lower priority of their namespace if it uses more than its min, else pods of
    namespaces that do, whatever their priority. Pods without a quota evict pods without one, of lower priority."""

    def __init__(self, state: QuotaState, requests: QuotaRequests) -> None:
        self._state = state
        self._requests = requests

    def potential_victims(self, pod: fwk.Pod, info: fwk.NodeInfo) -> Iterable[fwk.Pod]:
        state = self._state.clone()
        borrows = self._borrows(pod)
        for other in sorted(info.pods.values(), key=_importance):
            is_own = other.namespace == pod.namespace or pod.namespace not in state.quotas
            if is_own == borrows and self._is_victim(state, pod, other):
                # A namespace is a victim until it is back at its min.
                state.move(other, -1)
                yield other

    def _borrows(self, pod: fwk.Pod) -> bool:
        """Whether the pod has no guarantee: its namespace would use more than its min, or has no quota."""
        state = self._state
        if pod.namespace not in state.quotas:
            return True
        return bool(state.over_min(pod.namespace, self._requests.in_namespace))

    def _is_victim(self, state: QuotaState, pod: fwk.Pod, other: fwk.Pod) -> bool:
        if (pod.namespace in state.quotas) != (other.namespace in state.quotas):
            return False
        if other.namespace == pod.namespace or pod.namespace not in state.quotas:
            return other.priority < pod.priority
        return bool(state.over_min(other.namespace))

    def refusal(self, state: fwk.CycleState, pod: fwk.Pod, *, reprieves: bool) -> fwk.Status | None:
        quotas: QuotaState = state.read(NAME)
        if pod.namespace not in quotas.quotas:
            return None
        own, in_namespace, everywhere = self._requests
        if reprieves:
            exceeded = quotas.over_max(pod.namespace, in_namespace) or quotas.over_total_min(everywhere)
        else:
            exceeded = quotas.over_max(pod.namespace, own) or quotas.over_total_min(own)
        return _GLOBAL_QUOTA if exceeded else None

    def is_awaited(self, pod: fwk.Pod, other: fwk.Pod) -> bool:
        is_other_quota = other.namespace != pod.namespace and pod.namespace in self._state.quotas
        return self._is_victim(self._state, pod, other) and not (is_other_quota and self._borrows(pod))


def _importance(pod: fwk.Pod) -> tuple[int, bool, tuple[int, ...]]:
    """Lower priority first, then later start; pods that have not started before all others."""
    return pod.priority, bool(pod.start_time), tuple(-ord(letter) for letter in pod.start_time)


class CapacityScheduling(PreemptionPlugin):
    """Enforces ElasticQuotas."""

    name = NAME
    reads = ("ElasticQuota", "PodDisruptionBudget")
    args: CapacitySchedulingArgs

    def __init__(self, args: CapacitySchedulingArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._quotas = ElasticQuotas(self.cluster, unlisted_max_is_zero=args.unlisted_max == "Zero")
        self._usage = NamespaceUsage(self.cluster)

    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        current = self._current(state)
        if pod.namespace not in current.quotas:
            return None
        requests = self._requests(current, pod)
        if current.over_max(pod.namespace, requests.in_namespace):
            return _rejection(
                f"Pod {pod.key} is rejected in PreFilter because ElasticQuota {pod.namespace} is more than Max"
            )
        if current.over_total_min(requests.everywhere):
            return _rejection(
                f"Pod {pod.key} is rejected in PreFilter because total ElasticQuota used is more than min"
            )
        return None

    def add_pod(self, state: fwk.CycleState, pod: fwk.Pod, added: fwk.Pod, node: fwk.NodeInfo) -> fwk.Status | None:
        state.read(NAME).move(added, 1)
        return None

    def remove_pod(
        self, state: fwk.CycleState, pod: fwk.Pod, removed: fwk.Pod, node: fwk.NodeInfo
    ) -> fwk.Status | None:
        state.read(NAME).move(removed, -1)
        return None

    def reserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        """Assumed pods count as used without it. Implemented since configurations enable it."""

    def victim_rules(self, state: fwk.CycleState, pod: fwk.Pod) -> VictimRules:
        current = self._current(state)
        return ReclaimRules(current, self._requests(current, pod))

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        return (
            fwk.on(fwk.EventResource.Pod, fwk.Action.Delete),
            fwk.on(KINDS["ElasticQuota"].event_resource, fwk.Action.All),
        )

    def explain_pod(self, state: fwk.CycleState, pod: fwk.Pod, status: fwk.Status) -> Iterable[fwk.Refusal]:
        current: QuotaState = state.read(NAME)
        requests = self._requests(current, pod)
        quota = current.quotas[pod.namespace]
        resource = current.over_max(pod.namespace, requests.in_namespace)
        if resource:
            wanted, limit = current.used(pod.namespace, requests.in_namespace)[resource], int(quota.max[resource])
            what = f"Namespace {pod.namespace} would use"
            bound = f"the max of ElasticQuota {quota.name} is"
        else:
            resource = current.over_total_min(requests.everywhere)
            wanted, limit = current.total_used(requests.everywhere)[resource], current.total_min(resource)
            what, bound = "All namespaces with ElasticQuotas would use", "their min adds up to"
        text = f"{what} {in_words(resource, wanted)}; {bound} {in_words(resource, limit)}"
        facts = {"resource": resource, "used": wanted, "limit": limit}
        yield fwk.Refusal(id="quota.exceeded", text=text, facts=facts)

    def _current(self, state: fwk.CycleState) -> QuotaState:
        """The quotas of the cycle; read from the cluster if PreFilter did not run, since an earlier plugin rejected the
        pod."""
        current: QuotaState | None = state.get(NAME)
        if current is None:
            quotas = self._quotas.by_namespace()
            current = QuotaState(quotas, self._quotas.total_min, self._usage)
            state.write(NAME, current)
        return current

    def _requests(self, state: QuotaState, pod: fwk.Pod) -> QuotaRequests:
        own = effective_request(pod.template)
        in_namespace, everywhere = dict(own), dict(own)
        for pods in cast(InTreeHandle, self.handle).nominations().values():
            for other in pods.values():
                if other.uid == pod.uid or other.namespace not in state.quotas:
                    continue
                request = effective_request(other.template)
                if other.namespace != pod.namespace:
                    if not state.over_min(other.namespace):
                        add(everywhere, request)
                elif other.priority >= pod.priority:
                    add(in_namespace, request)
                    add(everywhere, request)
        return QuotaRequests(own, in_namespace, everywhere)


def _rejection(text: str) -> fwk.Status:
    return fwk.Status(fwk.Code.Unschedulable, text, plugin=NAME)
