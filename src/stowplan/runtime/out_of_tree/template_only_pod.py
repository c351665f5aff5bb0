"""The pod that plugins with kept answers receive: it reports reads of fields that differ within the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stowplan.framework import Pod


def _reported(attribute: str) -> Any:
    def read(self: TemplateOnlyPod) -> Any:
        self._on_read(attribute)
        return getattr(self._pod, attribute)

    return property(read)


class TemplateOnlyPod(Pod):
    """Reads like the pod; reading its identity or its status is reported, also after a plugin has stored the pod."""

    __slots__ = ("_on_read", "_pod")

    def __init__(self, pod: Pod, on_read: Callable[[str], None]) -> None:
        self._pod = pod
        self._on_read = on_read
        self.template = pod.template
        self.namespace = pod.namespace

    def __eq__(self, other: object) -> bool:
        """Equal to the pod itself and to other guards of it, so that the pod serves as a key between points."""
        self._on_read("uid")
        return self._pod is (other._pod if isinstance(other, TemplateOnlyPod) else other)

    def __hash__(self) -> int:
        self._on_read("uid")
        return hash(self._pod)

    @property
    def labels(self) -> Mapping[str, str]:  # type: ignore[override]
        """Labels that all pods of the template share are read freely; other labels belong to this pod."""
        if len(self._pod.labels) != len(self.template.labels):
            self._on_read("labels")
        return self._pod.labels

    name = _reported("name")
    uid = _reported("uid")
    node_name = _reported("node_name")
    nominated_node_name = _reported("nominated_node_name")
    generation = _reported("generation")
    start_time = _reported("start_time")
    terminating = _reported("terminating")
    being_preempted = _reported("being_preempted")
    used = _reported("used")
    source = _reported("source")
    object = _reported("object")
