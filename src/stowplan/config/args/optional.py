"""Args of the optional plugins, named and spelled as in kubernetes-sigs/scheduler-plugins.

Upstream: sigs.k8s.io/scheduler-plugins/apis/config/types.go, sigs.k8s.io/scheduler-plugins/apis/config/validation
"""

from typing import Self

import msgspec

from stowplan.config.args.in_tree import PluginArgs, ResourceSpec
from stowplan.config.errors import Problems
from stowplan.config.releases import LATEST, Release

LEAST, MOST = "Least", "Most"
_ALLOCATABLE_RESOURCES = (ResourceSpec(name="cpu", weight=1 << 20), ResourceSpec(name="memory", weight=1))


class NoArgs(PluginArgs, frozen=True, kw_only=True):
    """Args of a plugin without any."""


class NodeResourcesAllocatableArgs(PluginArgs, frozen=True, kw_only=True):
    """Resources whose allocatable amounts are summed, with weights, and whether small or large nodes are preferred."""

    resources: tuple[ResourceSpec, ...] = _ALLOCATABLE_RESOURCES
    mode: str = LEAST

    def completed(self) -> Self:
        resources = self.resources or _ALLOCATABLE_RESOURCES
        return msgspec.structs.replace(self, resources=resources, mode=self.mode or LEAST)

    def check(self, path: str, problems: Problems, release: Release = LATEST) -> None:
        if self.mode not in (LEAST, MOST):
            problems.invalid(f"{path}.mode", self.mode, "invalid support ModeType")
        for index, resource in enumerate(self.resources):
            if resource.weight <= 0:
                detail = f"resource weight of {resource.name} should be a positive value, got :{resource.weight}"
                problems.invalid(f"{path}.resources[{index}].weight", resource.weight, detail)


OPTIONAL_ARGS: dict[str, type[PluginArgs]] = {
    "NodeResourcesAllocatable": NodeResourcesAllocatableArgs,
    "PodState": NoArgs,
    "QOSSort": NoArgs,
}
"""Args type by plugin. The keys are the optional plugins."""
