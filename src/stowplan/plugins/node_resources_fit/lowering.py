"""Lower requests: the patch of a pod that brings its request for a resource down to an amount.

A pod requests the larger of two sums: its containers and sidecars, or an init container with the sidecars before it.
Pod-level requests take the place of both; overhead is added at the end.
"""

from __future__ import annotations

from stowplan import api
from stowplan import framework as fwk
from stowplan.api import amounts
from stowplan.api.quantity import milli_value, value
from stowplan.cache.requests import is_extended_resource

_SIDECAR = "Always"


def lower_request(pod: fwk.Pod, resource: str, less: int) -> tuple[fwk.PatchOperation, ...]:
    """Take an amount off the pod's request, from the largest containers first; empty if it cannot be taken off."""
    spec = pod.spec
    goal = pod.template.requests[resource] - less - amount_of(spec.overhead, resource)
    if goal < 0:
        return ()
    lowering = _Lowering(spec, resource)
    if spec.resources is not None and resource in spec.resources.requests:
        lowering.set("/spec/resources", spec.resources, goal)
    lowering.lower_running(goal)
    lowering.lower_init(goal)
    return tuple(lowering.patch)


def amount_of(resources: api.ResourceList, resource: str) -> int:
    """An amount of a list: millicores for cpu, whole units for other resources."""
    quantity = resources.get(resource, 0)
    return milli_value(quantity) if resource == "cpu" else value(quantity)


class _Lowering:
    """The containers' requests for one resource while they are lowered."""

    def __init__(self, spec: api.PodSpec, resource: str) -> None:
        self._resource = resource
        self.patch: list[fwk.PatchOperation] = []
        self._containers = [(f"/spec/containers/{i}/resources", each) for i, each in enumerate(spec.containers)]
        self._init = [(f"/spec/initContainers/{i}/resources", each) for i, each in enumerate(spec.init_containers)]
        self._now = {path: amount_of(each.resources.requests, resource) for path, each in self._containers + self._init}

    def lower_running(self, goal: int) -> None:
        """Containers first, then sidecars, until their sum is within the goal."""
        sidecars = [(path, each) for path, each in self._init if each.restart_policy == _SIDECAR]
        excess = sum(self._now[path] for path, _ in self._containers + sidecars) - goal
        for group in (self._containers, sidecars):
            for path, container in sorted(group, key=lambda each: -self._now[each[0]]):
                taken = min(excess, self._now[path])
                if taken > 0:
                    excess -= taken
                    self._lower(path, container, self._now[path] - taken)

    def lower_init(self, goal: int) -> None:
        """Each init container together with the sidecars that were started before it."""
        sidecars = 0
        for path, container in self._init:
            if container.restart_policy == _SIDECAR:
                sidecars += self._now[path]
            elif self._now[path] + sidecars > goal:
                self._lower(path, container, goal - sidecars)

    def _lower(self, path: str, container: api.Container, target: int) -> None:
        self._now[path] = target
        self.set(path, container.resources, target)

    def set(self, path: str, resources: api.ResourceRequirements, target: int) -> None:
        """Extended resources have equal requests and limits."""
        key = self._resource.replace("~", "~0").replace("/", "~1")
        quantity = amounts.request(self._resource, target)
        self.patch.append(fwk.PatchOperation("replace", f"{path}/requests/{key}", quantity))
        if is_extended_resource(self._resource) and self._resource in resources.limits:
            self.patch.append(fwk.PatchOperation("replace", f"{path}/limits/{key}", quantity))
