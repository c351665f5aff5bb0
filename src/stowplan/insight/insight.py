"""The entry point of the room: answers about the pods of one scheduler.

`Insight` takes a view of a scheduler's state, which the engine satisfies, and answers in slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from stowplan.cache import Cluster
from stowplan.errors import StowplanError
from stowplan.framework import Explanation, Pod, QueuedPodInfo
from stowplan.insight.explain import explain
from stowplan.insight.slices import Slices
from stowplan.runtime.profile.profile import Profile


class SchedulerView(Protocol):
    """The state of a scheduler that answers read; the engine has it."""

    @property
    def profiles(self) -> Mapping[str, Profile]: ...

    @property
    def cluster(self) -> Cluster: ...

    @property
    def pending(self) -> Mapping[str, Any]:
        """By uid; the values have `pod`."""
        ...

    @property
    def preemptors(self) -> Collection[str]: ...

    def queued_pods(self, *sub_queues: str) -> Iterator[QueuedPodInfo]: ...


class PodNotFoundError(StowplanError):
    """No pod, or more than one, has the name."""


class FoundPod(NamedTuple):
    """A pod that a question is about."""

    pod: Pod
    placed: bool


class Insight:
    """Answers about pods: why they are pending, why they are on their node."""

    def __init__(self, view: SchedulerView, clock: Callable[[], float]) -> None:
        self.view = view
        self.clock = clock

    def find(self, reference: str, namespace: str = "default") -> FoundPod:
        """The pod named `namespace/name`, `name` in the namespace, or by its uid."""
        space, _, name = reference.rpartition("/")
        space = space or namespace
        for uid, pending in self.view.pending.items():
            pod: Pod = pending.pod
            if uid == reference or (pod.name == name and pod.namespace == space):
                return FoundPod(pod, placed=bool(pod.node_name))
        for pod in self.view.cluster.pods.values():
            if pod.uid == reference or (pod.name == name and pod.namespace == space):
                return FoundPod(pod, placed=True)
        raise PodNotFoundError(self._not_found(reference, space, name))

    def explain(self, pod: Pod, *, top: int = 5) -> Slices[Explanation]:
        """Why a pending pod has no node."""
        return (yield from explain(self.profile_of(pod), pod, top=top))

    def profile_of(self, pod: Pod) -> Profile:
        """The profile of the pod's schedulerName; the first profile for a pod of another scheduler."""
        profiles = self.view.profiles
        return profiles.get(pod.spec.scheduler_name) or next(iter(profiles.values()))

    def _not_found(self, reference: str, namespace: str, name: str) -> str:
        """The error, with the namespaces that have a pod of this name."""
        pods = [pending.pod for pending in self.view.pending.values()] + list(self.view.cluster.pods.values())
        others = sorted({pod.namespace for pod in pods if pod.name == name})
        if others:
            return f"pod {namespace}/{name} is not known; there is one in namespace {', '.join(others)}"
        return f"pod {reference if '/' in reference else f'{namespace}/{name}'} is not known"
