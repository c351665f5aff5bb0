"""Disruption budgets: what is left of each, as pods come and go.

The status that a budget of the input has is only where it begins: it is worked out again from the pods that are there.
Evictions that an API server counted against it are forgotten, for they either mark their pod as on its way out, which
says the same, or have failed. Preemption adds none: it deletes pods, and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from stowplan import api
from stowplan.api.selectors import IN, Selector
from stowplan.cache.stores import key_of
from stowplan.simulator.api_server import ApiServer, Change, controller_of
from stowplan.simulator.disruption_counts import BudgetedPod, DisruptionCounts, Scale
from stowplan.simulator.pod_status import is_healthy
from stowplan.simulator.workloads import CONTROLLERS
from stowplan.simulator.workloads.workload_controller import replicas_of

_SCALED = {kind.__name__ for kind, controller in CONTROLLERS.items() if controller.has_replicas}
"""Kinds with a scale subresource."""


class DisruptionController:
    """Keeps the statuses of budgets.

    A status is written when the budget comes or changes, and whenever `disruptionsAllowed` does, for that is all that
    anybody reads: the other numbers in it are those of that moment.
    """

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server
        self._tallies: dict[str, DisruptionCounts] = {}
        self._index = _Index(())
        self._covered: dict[str, tuple[api.Pod, tuple[DisruptionCounts, ...]]] = {}
        """Pods as they were counted, and where; those that no budget covers are not here."""

    def on_budget(self, change: Change) -> None:
        metadata = change.item.metadata
        budget = self._api_server.get(api.PodDisruptionBudget, metadata.name, metadata.namespace)
        tally = self._tallies.get(key_of(metadata))
        if tally is None or budget is None or tally.spec != budget.spec:
            self._recount()
        else:
            self._publish(tally)

    def on_pod(self, change: Change) -> None:
        if self._tallies:
            metadata = change.item.metadata
            for tally in self._account(metadata, self._api_server.get(api.Pod, metadata.name, metadata.namespace)):
                self._publish(tally)

    def _recount(self) -> None:
        """Budgets hardly ever change, but there may be many when a simulation begins: one look at all pods for all."""
        self._tallies = {
            key_of(each.metadata): DisruptionCounts(each) for each in self._api_server.all(api.PodDisruptionBudget)
        }
        self._index = _Index(self._tallies.values())
        self._covered.clear()
        for pod in self._api_server.all(api.Pod):
            self._account(pod.metadata, pod)
        for tally in self._tallies.values():
            self._publish(tally, at_any_rate=True)

    def _account(self, metadata: api.ObjectMeta, pod: api.Pod | None) -> list[DisruptionCounts]:
        """Count a pod as it is now, None if it is gone; the tallies that are not what they were."""
        key = key_of(metadata)
        counted, before = self._covered.get(key, (None, ()))
        if counted is pod:
            return []
        now = () if pod is None else self._index.covering(pod.metadata)
        changed = [tally for tally in before if tally not in now]
        for tally in changed:
            tally.remove(key)
        if pod is None or not now:
            self._covered.pop(key, None)
        else:
            self._covered[key] = pod, now
            scale = self._scale(pod) if any(tally.counts_scale for tally in now) else None
            member = BudgetedPod(is_healthy(pod), scale)
            changed += [tally for tally in now if tally.put(key, member)]
        return changed

    def _publish(self, tally: DisruptionCounts, *, at_any_rate: bool = False) -> None:
        budget = self._api_server.get(api.PodDisruptionBudget, tally.name, tally.namespace)
        status = tally.status()
        if budget is None or budget.status == status:
            return
        if at_any_rate or budget.status.disruptions_allowed != status.disruptions_allowed:
            self._api_server.put_status(replace(budget, status=status))

    def _scale(self, pod: api.Pod) -> Scale | None:
        """Of the pod's controller, or of the deployment above it."""
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
    """Finds the tallies of a pod by its labels, without asking every one of them."""

    def __init__(self, tallies: Iterable[DisruptionCounts]) -> None:
        self._by_label: dict[str, dict[tuple[str, str] | None, list[DisruptionCounts]]] = {}
        """By namespace, and by a label that their pods must have, None where there is no such label."""
        for tally in tallies:
            known = self._by_label.setdefault(tally.namespace, {})
            for label in _telling_labels(tally.selector):
                known.setdefault(label, []).append(tally)

    def covering(self, metadata: api.ObjectMeta) -> tuple[DisruptionCounts, ...]:
        labels, known = metadata.labels, self._by_label.get(metadata.namespace)
        if known is None:
            return ()
        candidates = [tally for label in (None, *labels.items()) for tally in known.get(label, ())]
        return tuple([tally for tally in candidates if tally.selector.matches(labels)])


def _telling_labels(selector: Selector) -> Iterable[tuple[str, str] | None]:
    """Labels of which whatever is selected has exactly one."""
    for key, operator, values in selector.requirements:
        if operator == IN:
            return [(key, value) for value in values]
    return [None]
