"""Raw objects with all fields of their manifests, for plugins with `needs_objects`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stowplan import api
from stowplan.cache.stores import ApiObject, key_of
from stowplan.simulator.api_server import ApiServer
from stowplan.simulator.workloads import find_template

Json = dict[str, Any]

_NAMED_LISTS = ("containers", "initContainers", "volumes")
"""Lists of which the structs have some fields only, and to which controllers may add elements."""


class SourceManifests:
    """The manifests of an input. A pod that a controller created is represented by its template and its fields."""

    def __init__(self, api_server: ApiServer, documents: Mapping[tuple[type, str], Json]) -> None:
        """`documents` are the raw objects of files and of a snapshot, by struct and key."""
        self._api_server = api_server
        self._documents = documents

    def whole(self, item: ApiObject) -> Json | None:
        """The raw JSON of a node or a pod, updated with its current fields."""
        if not isinstance(item, api.Node | api.Pod):
            return None
        current: Json = msgspec.to_builtins(item)
        document = self._documents.get((type(item), key_of(item.metadata))) or self._template_document(item) or {}
        kind = api.KINDS[type(item).__name__]
        return {
            **document,
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {**document.get("metadata", {}), **current.get("metadata", {})},
            "spec": _merged_spec(document.get("spec", {}), current.get("spec", {})),
            "status": _merged_status(document.get("status", {}), current.get("status", {})),
        }

    def _template_document(self, item: ApiObject) -> Json | None:
        """The raw pod template of a pod's workload, if that is in the input."""
        owner: Any = item if isinstance(item, api.Pod) else None
        while owner is not None:
            owner = self._api_server.owner_of(owner)
            document = None if owner is None else self._documents.get((type(owner), key_of(owner.metadata)))
            found = None if document is None else find_template(owner)
            if found is not None:
                for step in found.path.strip(".").split("."):
                    document = document[step]  # type: ignore[index]
                return document
        return None


def _merged_status(document: Json, current: Json) -> Json:
    """The manifest's status with the current fields. Of nodeInfo, which has many more, only one field is decoded."""
    status = {**document, **current}
    if document.get("nodeInfo"):
        status["nodeInfo"] = {**document["nodeInfo"], **current.get("nodeInfo", {})}
    return status


def _merged_spec(document: Json, current: Json) -> Json:
    """The manifest's spec with the current fields; elements of named lists are taken from the manifest."""
    spec = {**document, **current}
    for field in _NAMED_LISTS:
        given = {part.get("name"): part for part in document.get(field) or ()}
        if given:
            spec[field] = [given.get(part.get("name"), part) for part in spec[field]]
    return spec
