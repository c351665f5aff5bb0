"""The pod that a cached plugin is shown: it tells when something is read that other pods of the template lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stowplan.framework import Pod


def _noticing(attribute: str) -> Any:
    def read(self: TemplateOnlyPod) -> Any:
        self._noticed(attribute)
        return getattr(self._pod, attribute)

    return property(read)


class TemplateOnlyPod(Pod):
    """Looks like the pod; reading its identity or its status is noticed."""

    __slots__ = ("_noticed", "_pod")

    def __init__(self, pod: Pod, noticed: Callable[[str], None]) -> None:
        self._pod = pod
        self._noticed = noticed
        self.template = pod.template
        self.namespace = pod.namespace

    @property
    def labels(self) -> Mapping[str, str]:  # type: ignore[override]
        """Labels that all pods of the template share can be read freely; the others are this pod's own."""
        if len(self._pod.labels) != len(self.template.labels):
            self._noticed("labels")
        return self._pod.labels

    name = _noticing("name")
    uid = _noticing("uid")
    node_name = _noticing("node_name")
    nominated_node_name = _noticing("nominated_node_name")
    generation = _noticing("generation")
    start_time = _noticing("start_time")
    terminating = _noticing("terminating")
    being_preempted = _noticing("being_preempted")
    used = _noticing("used")
    source = _noticing("source")
    object = _noticing("object")
