"""What changes do at once, before the scheduler runs again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from stowplan import api
from stowplan.api.selectors import compile_label_selector
from stowplan.cache.stores import key_of
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.what_if.records import BudgetInTheWay
from stowplan.simulator.what_if.references import workload_key
from stowplan.simulator.what_if.run import is_daemon
from stowplan.simulator.workloads import is_recreated

if TYPE_CHECKING:
    from stowplan.simulator.what_if.run import ClusterRun


class Effects:
    """Collected by changes while they are applied."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        """Of references without one."""
        self.displaced: Counter[str] = Counter()
        """Pods of removed nodes that their controllers create anew, by workload."""
        self.lost: list[str] = []
        """Pods of removed nodes that no controller creates anew."""
        self.vanished = 0
        """Pods of DaemonSets and static pods of removed nodes."""
        self.budgets: list[BudgetInTheWay] = []
        self.workloads: dict[str, None] = {}
        """Workloads that changes name; empty if the question is about all pending pods."""
        self.asks_pending = False
        """Whether the question is about all pending pods."""
        self.again: set[str] = set()
        """Names of pods that are placed again."""
        self.again_phrase = ""
        self.new_nodes: set[str] = set()
        self.scaled: set[str] = set()
        """Workloads that want another number of pods than before."""
        self.notes: list[str] = []

    def displace(self, run: ClusterRun, nodes: Sequence[api.Node], *, budgets: bool) -> None:
        """Account for the pods of nodes that are about to go."""
        pods = [pod for node in nodes for pod in run.api_server.pods_on(node.metadata.name)]
        self.leave(run, pods, budgets=budgets)

    def leave(self, run: ClusterRun, pods: Sequence[api.Pod], *, budgets: bool) -> None:
        """Account for pods that are about to leave their nodes."""
        api_server = run.api_server
        leaving = [pod for pod in pods if not is_daemon(pod)]
        self.vanished += len(pods) - len(leaving)
        keys: dict[str, str] = {}
        for pod in leaving:
            if not is_recreated(api_server, pod):
                self.lost.append(key_of(pod.metadata))
                continue
            owner = pod.metadata.owner_references[0].uid
            if owner not in keys:
                keys[owner] = workload_key(api_server, pod)
            self.displaced[keys[owner]] += 1
        if budgets:
            self.budgets += _budgets_in_the_way(api_server, leaving)


class ClusterChange(Protocol):
    """A change of the cluster. The fields of the struct are its JSON."""

    def apply(self, run: ClusterRun, effects: Effects) -> str:
        """Change the cluster and account for the effects; returns a phrase such as `with node a cordoned`."""
        ...


def _budgets_in_the_way(api_server: ApiServer, pods: Iterable[api.Pod]) -> list[BudgetInTheWay]:
    """Budgets that allow fewer disruptions at a time than pods have to leave."""
    by_namespace: dict[str, list[api.Pod]] = {}
    for pod in pods:
        by_namespace.setdefault(pod.metadata.namespace, []).append(pod)
    found = []
    for budget in sorted(
        api_server.all(api.PodDisruptionBudget), key=lambda each: (each.metadata.namespace, each.metadata.name)
    ):
        namespace = budget.metadata.namespace
        selector = compile_label_selector(budget.spec.selector)
        number = sum(selector.matches(pod.metadata.labels) for pod in by_namespace.get(namespace, ()))
        allowed = budget.status.disruptions_allowed
        if number > allowed:
            found.append(BudgetInTheWay(budget=f"{namespace}/{budget.metadata.name}", allowed=allowed, pods=number))
    return found
