"""The selector of the default constraints: the pods of the pod's services and of its controller.

Upstream: pkg/scheduler/framework/plugins/helper/spread.go
"""

from __future__ import annotations

from typing import NamedTuple

from stowplan import framework as fwk
from stowplan.api import ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.api.selectors import EVERYTHING, Selector, SelectorError, compile_label_selector, selector_from_map
from stowplan.cache import Cluster

Controller = ReplicaSet | ReplicationController | StatefulSet

_KINDS: dict[tuple[str, str], type[Controller]] = {
    ("v1", "ReplicationController"): ReplicationController,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
}


class _Known(NamedTuple):
    """A selector with the inputs that it was made from."""

    services: int
    controller: Controller | None
    selector: Selector


class DefaultSelectors:
    """Selectors by template, made again only when services or the template's controller change."""

    def __init__(self, cluster: Cluster) -> None:
        self._stores = cluster.stores
        self._services = cluster.stores.of(Service)
        self._by_namespace: dict[str, list[Service]] = {}
        self._version = -1

    def of(self, template: fwk.PodTemplate) -> Selector:
        """The merged selector; empty if nothing selects the pod."""
        controller = self._controller(template)
        known: _Known | None = template.derived.get(self)
        if known is None or known.services != self._services.version or known.controller is not controller:
            known = _Known(self._services.version, controller, self._merged(template, controller))
            template.derived[self] = known
        return known.selector

    def _controller(self, template: fwk.PodTemplate) -> Controller | None:
        owner = template.controller
        kind = None if owner is None else _KINDS.get((owner.api_version, owner.kind))
        return None if owner is None or kind is None else self._stores.of(kind).get(owner.name, template.namespace)

    def _merged(self, template: fwk.PodTemplate, controller: Controller | None) -> Selector:
        merged = EVERYTHING
        for service in self._services_in(template.namespace):
            selector = selector_from_map(service.spec.selector)
            if selector.matches(template.labels):
                merged = merged.conjoin(selector)
        if controller is None:
            return merged
        own = _selector_of(controller)
        return merged if own.nothing else merged.conjoin(own)

    def _services_in(self, namespace: str) -> list[Service]:
        if self._version != self._services.version:
            self._version = self._services.version
            self._by_namespace = {}
            for service in self._services:
                self._by_namespace.setdefault(service.metadata.namespace, []).append(service)
        return self._by_namespace.get(namespace, [])


def _selector_of(controller: Controller) -> Selector:
    """The controller's selector; everything if it is malformed."""
    if isinstance(controller, ReplicationController):
        return selector_from_map(controller.spec.selector)
    try:
        return compile_label_selector(controller.spec.selector)
    except SelectorError:
        return EVERYTHING
