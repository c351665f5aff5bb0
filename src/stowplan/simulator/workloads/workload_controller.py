"""The base of what makes the pods of workloads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.admission import Admission
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.pod_status import is_active
from stowplan.simulator.workloads.pod_factory import PodFactory


class WorkloadController(ABC):
    """Makes what workloads of one kind lack."""

    kind: ClassVar[type[Any]]

    def __init__(self, world: ApiServer, admission: Admission) -> None:
        self.world = world
        self._admission = admission
        self._stamps: dict[str, tuple[api.PodTemplateSpec, PodFactory]] = {}
        self._leaving: dict[str, set[str]] = {}

    @abstractmethod
    def lacking(self, owner: Any) -> Iterator[Any]:
        """What is to be made now: pods, or objects that make pods in turn."""

    def awaits_start(self, owner: Any) -> bool:
        """Whether pods of the owner are made only once others have started."""
        return False

    def waiting(self, owner: Any) -> str | None:
        """Why the owner has fewer pods than it wants, if that is not for a lack of time."""
        return None

    def saw(self, pod: api.Pod, owner: Any) -> None:
        """A pod of the owner is there, or has changed."""
        if not is_active(pod):
            self._leaving_of(owner).add(pod.metadata.name)

    def lost(self, pod: api.Pod, owner: Any) -> None:
        """A pod of the owner is gone."""
        self._leaving_of(owner).discard(pod.metadata.name)

    def count_active(self, owner: Any) -> int:
        """How many pods of the owner are neither finished nor on their way out.

        Not all of them are looked at, since a workload of thousands may lose its pods one by one.
        """
        return len(self.world.dependents(owner.metadata.uid, api.Pod)) - len(self.inactive_pods_of(owner))

    def inactive_pods_of(self, owner: Any) -> list[api.Pod]:
        """The others, found without a look at all of them."""
        found = (self.world.get(api.Pod, name, owner.metadata.namespace) for name in self._leaving_of(owner))
        return [pod for pod in found if pod is not None and not is_active(pod)]

    def pods_of(self, owner: Any) -> Iterator[api.Pod]:
        """All pods of the owner that there are."""
        for name in self.world.dependents(owner.metadata.uid, api.Pod):
            pod = self.world.get(api.Pod, name, owner.metadata.namespace)
            if pod is not None:
                yield pod

    def adapted(self, owner: Any, template: api.PodTemplateSpec) -> api.PodTemplateSpec:
        """The template as the controller of this kind changes it, the same for all pods of the owner."""
        return template

    def stamp(self, owner: Any, template: api.PodTemplateSpec) -> PodFactory:
        """Makes the owner's pods; the same stamp as long as the owner has the same template."""
        uid = owner.metadata.uid
        known = self._stamps.get(uid)
        if known is None or known[0] is not template:
            adapted = self.adapted(owner, template)
            admitted = replace(adapted, spec=self._admission.admit_spec(adapted.spec, "$.spec.template.spec"))
            known = self._stamps[uid] = (template, PodFactory(self.world, owner, admitted))
        return known[1]

    def _leaving_of(self, owner: Any) -> set[str]:
        """The names of pods that are not active, or were not when last seen."""
        uid = owner.metadata.uid
        if uid not in self._leaving:
            self._leaving[uid] = {pod.metadata.name for pod in self.pods_of(owner) if not is_active(pod)}
        return self._leaving[uid]
