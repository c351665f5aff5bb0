"""The pod that plugins with kept answers receive: it reports reads of fields that differ within the template."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from stowplan.api import ObjectMeta, PodSpec
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

    @property
    def spec(self) -> PodSpec:
        """The template's spec, without the pod's node."""
        return self.template.spec

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations that plugins declare are part of the template and are read freely."""
        if self.template.annotation_keys is True:
            return self.template.annotations
        return _TemplateOnlyAnnotations(self)

    @property
    def metadata(self) -> ObjectMeta:
        return cast(ObjectMeta, _TemplateOnlyMetadata(self))

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
    details = _reported("details")
    status = _reported("status")

    def read_details(self, field: str) -> ObjectMeta:
        """The pod's metadata, of which a field is read that differs within the template."""
        self._on_read(field)
        return self._pod.metadata


class _TemplateOnlyAnnotations(Mapping[str, str]):
    """The pod's annotations; reading one that no plugin declares is reported."""

    __slots__ = ("_pod",)

    def __init__(self, pod: TemplateOnlyPod) -> None:
        self._pod = pod

    def __getitem__(self, key: str) -> str:
        template = self._pod.template
        if template.annotation_keys is True or key in template.annotation_keys:
            return template.annotations[key]
        return self._pod.read_details("annotations").annotations[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pod.read_details("annotations").annotations)

    def __len__(self) -> int:
        return len(self._pod.read_details("annotations").annotations)


class _TemplateOnlyMetadata:
    """The pod's metadata; reading a field that differs within the template is reported."""

    __slots__ = ("_pod",)

    def __init__(self, pod: TemplateOnlyPod) -> None:
        self._pod = pod

    def __eq__(self, other: object) -> bool:
        return self._pod.read_details("metadata") == other

    def __hash__(self) -> int:
        return hash(self._pod)

    def __getattr__(self, name: str) -> Any:
        if name in ("namespace", "labels", "annotations"):
            return getattr(self._pod, name)
        return getattr(self._pod.read_details(f"metadata.{name}"), name)
