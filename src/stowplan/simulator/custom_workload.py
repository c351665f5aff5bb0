"""Workloads of custom kinds: any object with `spec.replicas` and a pod template in `spec.template`."""

from __future__ import annotations

from typing import Any

from stowplan import api
from stowplan.api.meta import Int32, ObjectMeta, Wire


class CustomWorkloadSpec(Wire, frozen=True, kw_only=True):
    """The pods of a custom workload."""

    replicas: Int32 | None = None
    template: api.PodTemplateSpec = api.PodTemplateSpec()


class CustomWorkload(Wire, frozen=True, kw_only=True):
    """A workload of a custom kind, such as an Argo Rollout or an OpenKruise CloneSet."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: CustomWorkloadSpec = CustomWorkloadSpec()


def is_custom_workload(document: Any) -> bool:
    """Whether the raw object of a custom kind is a workload."""
    spec = document.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    pod_spec = template.get("spec") if isinstance(template, dict) else None
    return isinstance(pod_spec, dict) and bool(pod_spec.get("containers")) and type(spec.get("replicas")) is int


def kind_of(item: Any) -> api.Kind:
    """The kind of an object."""
    if isinstance(item, CustomWorkload):
        return api.Kind(item.kind, CustomWorkload, item.api_version, item.kind.lower() + "s", True, None)
    return api.KINDS[type(item).__name__]


def struct_of(kind: str) -> tuple[type[Any], bool]:
    """The struct of a kind by name, and whether it is namespaced; unknown kinds are custom workloads."""
    found = api.KINDS.get(kind)
    return (CustomWorkload, True) if found is None else (found.struct, found.namespaced)
