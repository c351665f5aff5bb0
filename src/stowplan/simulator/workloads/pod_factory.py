"""Pods from a template; everything that is equal for all replicas is built once and shared."""

from __future__ import annotations

from itertools import count
from typing import Any

from msgspec.structs import replace

from stowplan import api
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.custom_workload import kind_of
from stowplan.simulator.identity import generate_name
from stowplan.simulator.pod_status import PENDING


def owned_by(owner: Any) -> tuple[api.OwnerReference, ...]:
    """The owner references of an object that this one controls."""
    kind = kind_of(owner)
    metadata = owner.metadata
    return (
        api.OwnerReference(
            api_version=kind.api_version, kind=kind.name, name=metadata.name, uid=metadata.uid, controller=True
        ),
    )


def replacement_of(api_server: ApiServer, pod: api.Pod, owner_name: str, *, keep_name: bool = False) -> api.Pod:
    """A new pod with the spec of a lost one, including the fields that admission added."""
    metadata = pod.metadata
    name = metadata.name
    if not keep_name:
        base = metadata.generate_name or f"{owner_name}-"
        name = _free_name(api_server, base, metadata.namespace, metadata.uid)
    fresh = api.ObjectMeta(
        name=name,
        generate_name=metadata.generate_name,
        namespace=metadata.namespace,
        labels=metadata.labels,
        annotations=metadata.annotations,
        owner_references=metadata.owner_references,
    )
    return api.Pod(metadata=fresh, spec=replace(pod.spec, node_name=""), status=PENDING)


def _free_name(api_server: ApiServer, base: str, namespace: str, *parts: object) -> str:
    """A generated name that no pod has."""
    names = (generate_name(base, *parts, number) for number in count())
    return next(name for name in names if api_server.get(api.Pod, name, namespace) is None)


class PodFactory:
    """Builds the pods of one owner from an admitted template."""

    def __init__(self, api_server: ApiServer, owner: Any, template: api.PodTemplateSpec) -> None:
        self.spec = template.spec
        self.labels = template.metadata.labels
        self.annotations = template.metadata.annotations
        self._api_server = api_server
        self._metadata: api.ObjectMeta = owner.metadata
        self._owners = owned_by(owner)
        self._made = 0

    def pod(
        self,
        name: str = "",
        *,
        base: str = "",
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        spec: api.PodSpec | None = None,
    ) -> api.Pod:
        """A pod. Without a name, one is generated from `base`, by default the owner's name."""
        base = base or f"{self._metadata.name}-"
        metadata = api.ObjectMeta(
            name=name or self._free_name(base),
            generate_name="" if name else base,
            namespace=self._metadata.namespace,
            labels=self.labels if labels is None else labels,
            annotations=self.annotations if annotations is None else annotations,
            owner_references=self._owners,
        )
        return api.Pod(metadata=metadata, spec=self.spec if spec is None else spec, status=PENDING)

    def _free_name(self, base: str) -> str:
        while True:
            name = generate_name(base, self._metadata.uid, self._made)
            self._made += 1
            if self._api_server.get(api.Pod, name, self._metadata.namespace) is None:
                return name
