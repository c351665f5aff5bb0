"""Whether a new volume for a claim can be provisioned for a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowplan import api
from stowplan.api.quantity import value
from stowplan.api.selectors import (
    IN,
    Requirement,
    Selector,
    SelectorError,
    compile_label_selector,
    requirement,
    requirement_errors,
    requirements_match,
)

NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Provisioning:
    """What the storage class of a claim allows, and where its driver has room if it keeps count of that."""

    def __init__(
        self,
        claim: api.PersistentVolumeClaim,
        storage_class: api.StorageClass,
        driver: api.CSIDriver | None,
        capacities: Iterable[api.CSIStorageCapacity],
    ) -> None:
        self._supported = storage_class.provisioner not in ("", NO_PROVISIONER)
        self._topologies = _compile(storage_class.allowed_topologies) if storage_class.allowed_topologies else None
        size = claim.spec.resources.requests.get("storage")
        self._segments: list[Selector] | None = None
        if size is not None and driver is not None and driver.spec.storage_capacity:
            roomy = (c for c in capacities if c.storage_class_name == storage_class.metadata.name)
            self._segments = _segments_with_room(roomy, value(size))
        self.keys = frozenset(r.key for term in self._topologies or () for r in term).union(
            *(segment.keys for segment in self._segments or ())
        )
        """The node labels on which the answers depend."""

    def allowed(self, labels: Mapping[str, str]) -> bool:
        """Whether the class provisions at all, and for nodes with these labels."""
        if not self._supported:
            return False
        return self._topologies is None or any(requirements_match(term, labels) for term in self._topologies)

    def has_room(self, labels: Mapping[str, str]) -> bool:
        """Whether storage that nodes with these labels reach is large enough, as far as anybody keeps count."""
        return self._segments is None or any(segment.matches(labels) for segment in self._segments)


def size_limit(capacity: api.CSIStorageCapacity) -> int | None:
    """The size in bytes up to which volumes can be made, if it is known; the largest single volume is more precise."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if limit is None else value(limit)


def _compile(terms: Iterable[api.TopologySelectorTerm]) -> list[tuple[Requirement, ...]]:
    """Terms of which one must hold; empty and malformed ones never do."""
    compiled = []
    for term in terms:
        expressions = term.match_label_expressions
        if expressions and not any(requirement_errors(e.key, IN, e.values) for e in expressions):
            compiled.append(tuple(requirement(e.key, IN, e.values) for e in expressions))
    return compiled


def _segments_with_room(capacities: Iterable[api.CSIStorageCapacity], size: int) -> list[Selector]:
    """The nodes that reach storage with room; where no topology is given, or a malformed one, that is no node."""
    segments = []
    for capacity in capacities:
        limit = size_limit(capacity)
        if limit is not None and limit >= size and capacity.node_topology is not None:
            try:
                segments.append(compile_label_selector(capacity.node_topology))
            except SelectorError:
                continue
    return segments
