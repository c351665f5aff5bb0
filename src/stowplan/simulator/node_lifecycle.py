"""The life of nodes: drains, failures, interruptions of spot nodes, shrunk nodes, and their return.

A node that fails is silent: it becomes NotReady and gets the taints `unreachable` after the node controller's grace
period, and its pods are evicted after the tolerationSeconds of their toleration, 300 s by default. The pods are removed
at once then, while a real cluster keeps them terminating until the node is back or is removed.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, pkg/controller/tainteviction/taint_eviction.go,
k8s.io/kubectl/pkg/drain/drain.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from msgspec.structs import replace

from stowplan import api
from stowplan.api.quantity import canonical, parse
from stowplan.api.selectors import compile_label_selector
from stowplan.api.tolerations import NO_EXECUTE, NO_SCHEDULE, tolerates
from stowplan.simulator.api_server import ApiServer, StepOrder, controller_of
from stowplan.simulator.clock import to_microseconds
from stowplan.simulator.kubelet import Kubelet

NODE_MONITOR_GRACE_SECONDS = 50.0
DEFAULT_TOLERATION_SECONDS = 300.0
EVICTION_RETRY_SECONDS = 5.0
_UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = api.Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
SPOT_TAINT = api.Taint(key="simulation.stowplan/spot-interruption", effect=NO_SCHEDULE)


class NodeLifecycle:
    """Changes nodes, and what follows for their pods."""

    def __init__(self, kubelet: Kubelet, settle: Callable[[], None], note: Callable[[str, str, str], None]) -> None:
        """`settle` lets controllers react, before budgets are read; `note` records (kind, node, detail)."""
        self._kubelet = kubelet
        self._settle = settle
        self._note = note
        self._whole: dict[str, api.Node] = {}
        """Nodes that failed, were degraded or removed, as they were."""
        self._failures: dict[str, int] = {}
        """By node, the number of its failures: a step of an earlier failure has no effect."""

    @property
    def _server(self) -> ApiServer:
        return self._kubelet.api_server

    def apply(self, kind: str, name: str, *, notice: float = 0.0, share: float = 0.5) -> None:
        """Begin a failure of that kind."""
        if self._server.get(api.Node, name) is None:
            return
        self._note(kind, name, "")
        if kind == "fail":
            self.fail(name)
        elif kind == "drain":
            self.drain(name, "drain")
        elif kind == "vanish":
            self.vanish(name)
        elif kind == "spot":
            self.spot(name, notice)
        else:
            self.degrade(name, share)

    def fail(self, name: str) -> None:
        node = self._remember(name)
        if node is None:
            return
        number = self._failures[name] = self._failures.get(name, 0) + 1
        self._kubelet.node_down(name)
        self._at(NODE_MONITOR_GRACE_SECONDS, partial(self._unreachable, name, number))

    def _unreachable(self, name: str, number: int) -> None:
        node = self._server.get(api.Node, name)
        if node is None or self._failures.get(name) != number or name not in self._whole:
            return
        taints = tuple(api.Taint(key=_UNREACHABLE, effect=effect) for effect in (NO_SCHEDULE, NO_EXECUTE))
        conditions = (api.Condition(type="Ready", status="Unknown"),)
        self._server.put(
            replace(
                node,
                spec=replace(node.spec, taints=(*node.spec.taints, *taints)),
                status=replace(node.status, conditions=conditions),
            )
        )
        for pod in self._server.pods_on(name):
            seconds = toleration_seconds(pod, taints[1])
            if seconds is not None:
                self._at(seconds, partial(self._evict_lost, name, number, pod))

    def _evict_lost(self, name: str, number: int, pod: api.Pod) -> None:
        found = self._server.get(api.Pod, pod.metadata.name, pod.metadata.namespace)
        is_down = self._failures.get(name) == number and name in self._whole
        if is_down and found is not None and found.metadata.uid == pod.metadata.uid:
            self._kubelet.evict(found, "failure")

    def vanish(self, name: str, cause: str = "vanish") -> None:
        """The Node object is deleted, and its pods with it."""
        node = self._remember(name)
        if node is not None:
            for pod in self._server.pods_on(name):
                self._kubelet.evict(pod, cause)
            self._server.delete(node)

    def spot(self, name: str, notice: float) -> None:
        """The node is cordoned and drained, and is gone after the notice."""
        node = self._remember(name)
        if node is None:
            return
        taints = (*node.spec.taints, SPOT_TAINT)
        self._server.put(replace(node, spec=replace(node.spec, taints=taints)))
        self.drain(name, "spot")
        self._at(notice, partial(self.vanish, name, "spot"))

    def degrade(self, name: str, share: float) -> None:
        """Allocatable resources shrink to a share; pods that run stay."""
        node = self._remember(name)
        if node is not None:
            amounts = {
                key: amount if key == "pods" else canonical(int(parse(amount) * share) // 10**6 * 10**6)
                for key, amount in node.status.allocatable.items()
            }
            self._server.put(replace(node, status=replace(node.status, allocatable=amounts)))

    def drain(self, name: str, cause: str, then: Callable[[], None] | None = None) -> None:
        """Cordon a node and evict its pods as budgets permit, again and again until it is empty."""
        node = self._remember(name)
        if node is None:
            return
        if not node.spec.unschedulable:
            present = self._server.get(api.Node, name) or node
            taints = (*present.spec.taints, _UNSCHEDULABLE)
            self._server.put(replace(present, spec=replace(present.spec, unschedulable=True, taints=taints)))
        self._evict_pods(name, cause, then)

    def _evict_pods(self, name: str, cause: str, then: Callable[[], None] | None) -> None:
        node = self._server.get(api.Node, name)
        if node is None or not node.spec.unschedulable:
            return
        self._settle()
        leaving = [pod for pod in self._server.pods_on(name) if not is_daemon(pod)]
        waiting = False
        for pod in leaving:
            if self.may_evict(pod):
                self._kubelet.evict(pod, cause)
                self._settle()
            else:
                waiting = True
        if waiting:
            self._at(EVICTION_RETRY_SECONDS, partial(self._evict_pods, name, cause, then))
        elif then is not None:
            then()

    def may_evict(self, pod: api.Pod) -> bool:
        """Whether all budgets of the pod permit a disruption."""
        return all(budget.status.disruptions_allowed > 0 for budget in budgets_of(self._server, pod))

    def recover(self, name: str) -> None:
        """The node is as it was before, and pods that are still there start again."""
        before = self._whole.pop(name, None)
        if before is None:
            return
        self._note("recover", name, "")
        metadata = replace(before.metadata, uid="", resource_version="", creation_timestamp="")
        present = self._server.get(api.Node, name)
        self._server.put(replace(before, metadata=metadata if present is None else present.metadata))
        self._kubelet.node_up(name)

    def change(self, name: str, change: Callable[[api.Node], api.Node]) -> None:
        """Change a node; one that is down changes when it is back."""
        if name in self._whole:
            self._whole[name] = change(self._whole[name])
        node = self._server.get(api.Node, name)
        if node is not None and not self._kubelet.is_down(name):
            self._server.put(change(node))

    def _remember(self, name: str) -> api.Node | None:
        node = self._server.get(api.Node, name)
        if node is not None:
            self._whole.setdefault(name, node)
        return node

    def forget(self, name: str) -> None:
        """A node is gone for good."""
        self._whole.pop(name, None)
        self._failures.pop(name, None)

    def _at(self, delay: float, step: Callable[[], None]) -> None:
        self._server.at(to_microseconds(self._server.clock() + delay), step, StepOrder.NODE)


def is_daemon(pod: api.Pod) -> bool:
    """Whether a DaemonSet owns the pod, or it is a static pod."""
    owner = controller_of(pod)
    return owner is not None and owner.kind in ("DaemonSet", "Node")


def budgets_of(server: ApiServer, pod: api.Pod) -> Iterable[api.PodDisruptionBudget]:
    for budget in server.all(api.PodDisruptionBudget):
        selector = budget.spec.selector
        if budget.metadata.namespace != pod.metadata.namespace or selector is None:
            continue
        if compile_label_selector(selector).matches(pod.metadata.labels):
            yield budget


def toleration_seconds(pod: api.Pod, taint: api.Taint) -> float | None:
    """Seconds until a NoExecute taint evicts the pod; None: never. Pods without a toleration have the default one."""
    matching = [each for each in pod.spec.tolerations if tolerates(each, taint)]
    if not matching:
        return None if is_daemon(pod) else DEFAULT_TOLERATION_SECONDS
    seconds = [float(each.toleration_seconds) for each in matching if each.toleration_seconds is not None]
    return max(0.0, min(seconds)) if len(seconds) == len(matching) else None
