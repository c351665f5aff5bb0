"""The quality-of-service class of pods.

Upstream: pkg/apis/core/v1/helper/qos/qos.go
"""

from __future__ import annotations

from enum import IntEnum

from stowplan.api import ResourceRequirements
from stowplan.api.quantity import parse
from stowplan.framework import PodTemplate

_RESOURCES = ("cpu", "memory")


class QosClass(IntEnum):
    """A pod's class; higher values are served first."""

    BestEffort = 0
    Burstable = 1
    Guaranteed = 2


def qos_class(template: PodTemplate) -> QosClass:
    """The class of pods of a template, by the cpu and memory of all containers or, where given, of the pod."""
    return template.derive(qos_class, _qos_class)


def _qos_class(template: PodTemplate) -> QosClass:
    spec = template.spec
    parts = [container.resources for container in (*spec.containers, *spec.init_containers)]
    if spec.resources is not None:
        parts = [spec.resources]
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    is_limited = True
    for part in parts:
        _add(requests, part, "requests")
        is_limited &= _add(limits, part, "limits") == len(_RESOURCES)
    if not requests and not limits:
        return QosClass.BestEffort
    return QosClass.Guaranteed if is_limited and requests == limits else QosClass.Burstable


def _add(total: dict[str, int], part: ResourceRequirements, field: str) -> int:
    """Add the positive amounts of one container; returns their number."""
    amounts = getattr(part, field)
    found = [name for name in _RESOURCES if parse(amounts.get(name, 0)) > 0]
    for name in found:
        total[name] = total.get(name, 0) + parse(amounts[name])
    return len(found)
