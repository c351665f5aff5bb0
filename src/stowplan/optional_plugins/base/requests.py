"""Requests of pods as scheduler-plugins sums them: whole amounts by container, without pod-level resources.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/util/resource.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stowplan.api import Container, PodSpec, ResourceList
from stowplan.api.quantity import milli_value, value
from stowplan.cache.requests import is_schedulable_resource
from stowplan.framework import PodTemplate

Amounts = dict[str, int]
"""Millicores for cpu, whole units for other resources."""


def amounts(resources: ResourceList) -> Amounts:
    """The resources that scheduling counts, each rounded up."""
    return {
        name: milli_value(quantity) if name == "cpu" else value(quantity)
        for name, quantity in resources.items()
        if is_schedulable_resource(name)
    }


def add(total: Amounts, more: Mapping[str, int], sign: int = 1) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + sign * amount


def effective_request(template: PodTemplate) -> Mapping[str, int]:
    """The larger of the sum of the containers and of any init container, plus overhead."""
    return template.derive(effective_request, _effective_request)


def _effective_request(template: PodTemplate) -> Mapping[str, int]:
    return effective_amounts(template.spec, lambda container: container.resources.requests)


def effective_amounts(spec: PodSpec, of: Callable[[Container], ResourceList]) -> Amounts:
    """Requests or limits of the whole pod: sum of the containers or the largest init container, plus overhead."""
    total: Amounts = {}
    for container in spec.containers:
        add(total, amounts(of(container)))
    for container in spec.init_containers:
        for name, amount in amounts(of(container)).items():
            total[name] = max(total.get(name, 0), amount)
    add(total, amounts(spec.overhead))
    return total
