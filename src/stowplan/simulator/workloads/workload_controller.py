"""Base of the workload controllers."""

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


def replicas_of(owner: Any) -> int:
    """Desired replicas; 1 by default."""
    replicas: int | None = owner.spec.replicas
    return 1 if replicas is None else replicas


class WorkloadController(ABC):
    """The controller of one workload kind: creates the objects that a workload lacks.

    The class attributes are all that other modules need to know about the kind.
    """

    kind: ClassVar[type[Any]]
    has_replicas: ClassVar[bool] = False
    """Whether `spec.replicas` is the number of pods. Budgets can be computed over such kinds only, and a manifest that
    leaves the field open keeps the cluster's number."""
    one_per_node: ClassVar[bool] = False
    """Whether the number of pods is that of the nodes."""
    rolls_out: ClassVar[bool] = False
    """Whether pods are replaced when the pod template changes."""
    waits_for_deletion: ClassVar[bool] = False
    """Whether a pod is replaced only after it is gone, instead of as soon as it terminates."""
    keeps_pod_names: ClassVar[bool] = False
    """Whether the replacement of a pod has the same name."""
    replicas_path: ClassVar[str] = "$.spec.replicas"
    template_path: ClassVar[str] = ".spec.template"

    @classmethod
    def desired_pods(cls, owner: Any) -> int:
        """Number of pods that the workload wants, unless it is `one_per_node`."""
        return replicas_of(owner) if cls.has_replicas else 0

    @classmethod
    def template_of(cls, owner: Any) -> api.PodTemplateSpec | None:
        """The pod template; a ReplicationController may have none."""
        template: api.PodTemplateSpec | None = owner.spec.template
        return template

    def __init__(self, api_server: ApiServer, admission: Admission) -> None:
        self.api_server = api_server
        self._admission = admission
        self._factories: dict[str, tuple[api.PodTemplateSpec, PodFactory]] = {}
        self._inactive: dict[str, set[str]] = {}

    @abstractmethod
    def lacking(self, owner: Any) -> Iterator[Any]:
        """Objects to create now: pods, or objects that have pods in turn."""

    def awaits_start(self, owner: Any) -> bool:
        """Whether pods of the owner are created only once others have started."""
        return False

    def replaces(self, pod: api.Pod) -> bool:
        """Whether a pod that the owner lost is wanted again."""
        return True

    def waiting(self, owner: Any) -> str | None:
        """Why the owner stays below its desired number of pods, if it does."""
        return None

    def saw(self, pod: api.Pod, owner: Any) -> None:
        """A pod of the owner was added or updated."""
        if not is_active(pod):
            self._inactive_names(owner).add(pod.metadata.name)

    def lost(self, pod: api.Pod, owner: Any) -> None:
        """A pod of the owner was deleted."""
        self._inactive_names(owner).discard(pod.metadata.name)

    def forget(self, owner: Any) -> None:
        """The owner was deleted."""
        self._factories.pop(owner.metadata.uid, None)
        self._inactive.pop(owner.metadata.uid, None)

    def count_active(self, owner: Any) -> int:
        """Number of pods of the owner that are neither finished nor terminating.

        Computed from counts, since a workload of thousands may lose its pods one by one.
        """
        return len(self.api_server.dependents(owner.metadata.uid, api.Pod)) - len(self.inactive_pods_of(owner))

    def inactive_pods_of(self, owner: Any) -> list[api.Pod]:
        """Finished and terminating pods of the owner."""
        found = (self.api_server.get(api.Pod, name, owner.metadata.namespace) for name in self._inactive_names(owner))
        return [pod for pod in found if pod is not None and not is_active(pod)]

    def pods_of(self, owner: Any) -> Iterator[api.Pod]:
        """All existing pods of the owner."""
        for name in self.api_server.dependents(owner.metadata.uid, api.Pod):
            pod = self.api_server.get(api.Pod, name, owner.metadata.namespace)
            if pod is not None:
                yield pod

    def adapted(self, owner: Any, template: api.PodTemplateSpec) -> api.PodTemplateSpec:
        """The template with the labels and fields that the controller adds to all pods of the owner."""
        return template

    def pod_factory(self, owner: Any, template: api.PodTemplateSpec) -> PodFactory:
        """The factory of the owner's pods; the same one as long as the owner has the same template."""
        uid = owner.metadata.uid
        known = self._factories.get(uid)
        if known is None or known[0] is not template:
            adapted = self.adapted(owner, template)
            spec = self._admission.admit_spec(adapted.spec, "$.spec.template.spec", owner.metadata.namespace)
            admitted = replace(adapted, spec=spec)
            known = self._factories[uid] = (template, PodFactory(self.api_server, owner, admitted))
        return known[1]

    def _inactive_names(self, owner: Any) -> set[str]:
        """Names of pods that were not active when last seen."""
        uid = owner.metadata.uid
        if uid not in self._inactive:
            self._inactive[uid] = {pod.metadata.name for pod in self.pods_of(owner) if not is_active(pod)}
        return self._inactive[uid]
