"""A plugin that implements every extension point and prints their order for each pod.

A pod's label `tour` names the point at which the pod is rejected; without the label it is bound.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from stowplan import CycleState, NodeInfo, Nodes, Plugin, Pod, Status, error, reject, skip, wait
from stowplan.framework import Handle, QueuedPodInfo

PERMIT_TIMEOUT_SECONDS = 5.0


class Tour(Plugin):
    """Records each step of a pod's attempt, and prints the steps when the attempt ends."""

    name = "tour"

    def __init__(self, args: object, handle: Handle) -> None:
        super().__init__(args, handle)
        self._steps: dict[str, list[str]] = {}
        self._printed: set[str] = set()

    # Queue
    def pre_enqueue(self, pod: Pod) -> Status | None:
        self._print(pod)
        if (rejection := self._step(pod, "pre_enqueue")) is not None:
            self._end(pod)
        return rejection

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        self._step(a.pod, "less")
        self._step(b.pod, "less")
        return (-a.pod.priority, a.timestamp) < (-b.pod.priority, b.timestamp)

    # Scheduling cycle
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return self._step(pod, "pre_filter")

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status | None:
        return self._step(pod, "add_pod")

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status | None:
        return self._step(pod, "remove_pod")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return self._step(pod, "filter")

    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Status:
        self._step(pod, "post_filter")
        self._end(pod)
        return reject("no room can be made")

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return self._step(pod, "pre_score")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float | Status:
        return self._step(pod, "score") or 0

    def normalize_score(self, state: CycleState, pod: Pod, scores: dict[str, int]) -> Status | None:
        return self._step(pod, "normalize_score")

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._step(pod, "reserve")

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._step(pod, "unreserve")
        self._end(pod)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        if pod.labels.get("tour") in ("hold", "forget"):
            self._step(pod, "permit waits")
            return wait(PERMIT_TIMEOUT_SECONDS)
        return self._step(pod, "permit")

    # Binding cycle
    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._step(pod, "pre_bind_pre_flight")

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._step(pod, "pre_bind")

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return self._step(pod, "bind") or skip()

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._step(pod, "post_bind")
        self._end(pod)
        for waiting in self.handle.waiting_pods():
            if waiting.pod.labels.get("tour") == "hold":
                waiting.allow(self.name)

    def _step(self, pod: Pod, point: str) -> Status | None:
        """Records one step per point, however many nodes or pods it is called for."""
        rejects = pod.labels.get("tour") == point
        step = f"{point} rejects" if rejects else point
        steps = self._steps.setdefault(pod.uid, [])
        if step not in steps:
            steps.append(step)
        if not rejects:
            return None
        return error("out of order") if point in ("pre_bind", "bind") else reject(f"rejected at {point}")

    def _end(self, pod: Pod) -> None:
        """Prints the first attempt only; retries take the same steps."""
        self._print(pod)
        self._printed.add(pod.uid)

    def _print(self, pod: Pod) -> None:
        steps = self._steps.pop(pod.uid, [])
        if steps and pod.uid not in self._printed:
            sys.stderr.write(f"{pod.name}: {', '.join(steps)}\n")
