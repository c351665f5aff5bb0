"""Controller of PodDisruptionBudgets: keeps their status up to date.

The status in the input is replaced by one computed from the pods. `disruptedPods` is ignored: those evictions either
marked their pod as terminating, which counts the same, or failed. Preemption adds none, since it deletes pods directly.

Upstream: pkg/controller/disruption/disruption.go
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from stowplan import api
from stowplan.api.selectors import IN, Selector
from stowplan.cache.stores import key_of
from stowplan.simulator.api_server import ApiServer, ObjectChange, controller_of
from stowplan.simulator.disruption_counts import BudgetedPod, DisruptionCounts, Scale
from stowplan.simulator.pod_status import is_healthy
from stowplan.simulator.workloads import CONTROLLERS
from stowplan.simulator.workloads.workload_controller import replicas_of

_SCALED = {kind.__name__ for kind, controller in CONTROLLERS.items() if controller.has_replicas}
"""Kinds with a scale subresource."""


class DisruptionController:
    """Writes the statuses of budgets.

    A status is written when the budget is added or updated, and when `disruptionsAllowed` changes, the only number that
    the scheduler reads; the other numbers are as of that write.
    """

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._counts: dict[str, DisruptionCounts] = {}
        self._index = _Index(())
        self._covered: dict[str, tuple[api.Pod, tuple[DisruptionCounts, ...]]] = {}
        """Covered pods as they were counted, with the counts that include them."""

    def on_budget(self, change: ObjectChange) -> None:
        metadata = change.item.metadata
        budget = self._api_server.get(api.PodDisruptionBudget, metadata.name, metadata.namespace)
        counts = self._counts.get(key_of(metadata))
        if counts is None or budget is None or counts.spec != budget.spec:
            self._recount()
        else:
            self._publish(counts)

    def on_pod(self, change: ObjectChange) -> None:
        if self._counts:
            metadata = change.item.metadata
            for counts in self._account(metadata, self._api_server.get(api.Pod, metadata.name, metadata.namespace)):
                self._publish(counts)

    def _recount(self) -> None:
        """Count all pods once for all budgets: budgets rarely change, but a simulation may begin with many."""
        self._counts = {
            key_of(each.metadata): DisruptionCounts(each) for each in self._api_server.all(api.PodDisruptionBudget)
        }
        self._index = _Index(self._counts.values())
        self._covered.clear()
        for pod in self._api_server.all(api.Pod):
            self._account(pod.metadata, pod)
        for counts in self._counts.values():
            self._publish(counts, always=True)

    def _account(self, metadata: api.ObjectMeta, pod: api.Pod | None) -> list[DisruptionCounts]:
        """Count the current pod, None if it was deleted; returns the counts that changed."""
        key = key_of(metadata)
        counted, before = self._covered.get(key, (None, ()))
        if counted is pod:
            return []
        now = () if pod is None else self._index.covering(pod.metadata)
        changed = [counts for counts in before if counts not in now]
        for counts in changed:
            counts.remove(key)
        if pod is None or not now:
            self._covered.pop(key, None)
        else:
            self._covered[key] = pod, now
            scale = self._scale(pod) if any(counts.counts_scale for counts in now) else None
            member = BudgetedPod(is_healthy(pod), scale)
            changed += [counts for counts in now if counts.put(key, member)]
        return changed

    def _publish(self, counts: DisruptionCounts, *, always: bool = False) -> None:
        budget = self._api_server.get(api.PodDisruptionBudget, counts.name, counts.namespace)
        status = counts.status()
        if budget is None or budget.status == status:
            return
        if always or budget.status.disruptions_allowed != status.disruptions_allowed:
            self._api_server.put_status(replace(budget, status=status))

    def _scale(self, pod: api.Pod) -> Scale | None:
        """The scale of the pod's controller, or of the Deployment that controls it."""
        reference = controller_of(pod)
        if reference is None:
            return None
        owner = self._api_server.owner_of(pod)
        if isinstance(owner, api.ReplicaSet) and isinstance(above := self._api_server.owner_of(owner), api.Deployment):
            owner = above
        if type(owner).__name__ in _SCALED:
            return Scale(owner.metadata.uid, replicas_of(owner))
        return Scale(reference.uid, None, exists=reference.kind in _SCALED or reference.kind not in api.KINDS)


class _Index:
    """Budgets by label, so that not every selector is matched against each pod."""

    def __init__(self, all_counts: Iterable[DisruptionCounts]) -> None:
        self._by_label: dict[str, dict[tuple[str, str] | None, list[DisruptionCounts]]] = {}
        """By namespace and by a label that the covered pods must have; None without such a label."""
        for counts in all_counts:
            known = self._by_label.setdefault(counts.namespace, {})
            for label in _required_labels(counts.selector):
                known.setdefault(label, []).append(counts)

    def covering(self, metadata: api.ObjectMeta) -> tuple[DisruptionCounts, ...]:
        labels, known = metadata.labels, self._by_label.get(metadata.namespace)
        if known is None:
            return ()
        candidates = [counts for label in (None, *labels.items()) for counts in known.get(label, ())]
        return tuple([counts for counts in candidates if counts.selector.matches(labels)])


def _required_labels(selector: Selector) -> Iterable[tuple[str, str] | None]:
    """Labels of which every selected pod has exactly one; [None] if the selector has no such requirement."""
    for key, operator, values in selector.requirements:
        if operator == IN:
            return [(key, value) for value in values]
    return [None]
