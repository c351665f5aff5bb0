"""Raw objects with all fields of their manifests, for plugins with `needs_objects`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.cache.stores import ApiObject, key_of
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.input.documents import Origin, Read, find_files, read_documents
from stowplan.simulator.workloads import find_template

Json = dict[str, Any]

_NAMED_LISTS = ("containers", "initContainers", "volumes")
"""Lists of which the structs have some fields only, and to which controllers may add elements."""


class SourceManifests:
    """The manifests of an input. A pod that a controller created is represented by its template and its fields."""

    def __init__(
        self,
        api_server: ApiServer,
        names: Iterable[str],
        read: Read,
        objects: Iterable[tuple[Any, Origin]],
        stored: Mapping[tuple[type, str], Json] | None = None,
    ) -> None:
        """`read` is called again for each file of the input; `stored` are the raw objects of a snapshot, by key."""
        self._api_server = api_server
        documents: dict[Origin, Json] = {}
        for name in names:
            for file in find_files(name):
                for origin, document in read_documents(file, read):
                    _collect(codec.whole(document), origin, documents)
        self._documents: dict[tuple[type, str], Json] = {
            (type(item), key_of(item.metadata)): documents[origin] for item, origin in objects if origin in documents
        }
        self._documents = {**(stored or {}), **self._documents}

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
            "status": {**document.get("status", {}), **current.get("status", {})},
        }

    def _template_document(self, item: ApiObject) -> Json | None:
        """The raw pod template of a pod's workload, if that is in the input."""
        owner: Any = item if isinstance(item, api.Pod) else None
        while owner is not None:
            reference = controller_of(owner)
            kind = api.KINDS.get(reference.kind) if reference is not None else None
            if reference is None or kind is None:
                return None
            owner = self._api_server.get(kind.struct, reference.name, item.metadata.namespace)
            document = None if owner is None else self._documents.get((type(owner), key_of(owner.metadata)))
            found = None if document is None else find_template(owner)
            if found is not None:
                for step in found.path.strip(".").split("."):
                    document = document[step]  # type: ignore[index]
                return document
        return None


def _merged_spec(document: Json, current: Json) -> Json:
    """The manifest's spec with the current fields; elements of named lists are taken from the manifest."""
    spec = {**document, **current}
    for field in _NAMED_LISTS:
        given = {part.get("name"): part for part in document.get(field) or ()}
        if given:
            spec[field] = [given.get(part.get("name"), part) for part in spec[field]]
    return spec


def _collect(document: Json, origin: Origin, found: dict[Origin, Json]) -> None:
    """Collect a document, or the items of a list, by origin."""
    items = document.get("items")
    if isinstance(items, list) and str(document.get("kind", "")).endswith("List"):
        for index, item in enumerate(items):
            _collect(item, origin._replace(path=f"{origin.path}.items[{index}]"), found)
    else:
        found[origin] = document
