"""Objects with everything that stands in their manifests, for plugins that want to see more than scheduling reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.cache.stores import ApiObject, key_of
from stowplan.simulator.api_server import ApiServer, controller_of
from stowplan.simulator.documents import Origin, Read, find_files, read_documents
from stowplan.simulator.workloads import find_template

Json = dict[str, Any]

_NAMED = ("containers", "initContainers", "volumes")
"""Lists of parts that are read in part only, and may be more than what stands in a template."""


class SourceManifests:
    """The manifests of an input. What controllers make has none: it is told by its template, and by its fields."""

    def __init__(
        self,
        api_server: ApiServer,
        names: Iterable[str],
        read: Read,
        objects: Iterable[tuple[Any, Origin]],
        stored: Mapping[tuple[type, str], Json] | None = None,
    ) -> None:
        """`read` is called for each file of the input once more; `stored` is what comes from a cluster, by its key."""
        self._api_server = api_server
        documents: dict[Origin, Json] = {}
        for name in names:
            for file in find_files(name):
                for origin, document in read_documents(file, read):
                    _spread(codec.whole(document), origin, documents)
        self._documents: dict[tuple[type, str], Json] = {
            (type(item), key_of(item.metadata)): documents[origin] for item, origin in objects if origin in documents
        }
        self._documents = {**(stored or {}), **self._documents}

    def whole(self, item: ApiObject) -> Json | None:
        """All that is known of a node or a pod, as JSON; what changed since it was read is up to date."""
        if not isinstance(item, api.Node | api.Pod):
            return None
        current: Json = msgspec.to_builtins(item)
        document = self._documents.get((type(item), key_of(item.metadata))) or self._made_from(item) or {}
        kind = api.KINDS[type(item).__name__]
        return {
            **document,
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {**document.get("metadata", {}), **current.get("metadata", {})},
            "spec": _merged_spec(document.get("spec", {}), current.get("spec", {})),
            "status": {**document.get("status", {}), **current.get("status", {})},
        }

    def _made_from(self, item: ApiObject) -> Json | None:
        """The template that a pod was made from, if its workload stands in the input."""
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
    """What stands in the manifest, brought up to date; but of what has a name, all that stands there is kept."""
    spec = {**document, **current}
    for field in _NAMED:
        written = {part.get("name"): part for part in document.get(field) or ()}
        if written:
            spec[field] = [written.get(part.get("name"), part) for part in spec[field]]
    return spec


def _spread(document: Json, origin: Origin, found: dict[Origin, Json]) -> None:
    """Note a document, or those of a list one by one, under where they stand."""
    items = document.get("items")
    if isinstance(items, list) and str(document.get("kind", "")).endswith("List"):
        for index, item in enumerate(items):
            _spread(item, origin._replace(path=f"{origin.path}.items[{index}]"), found)
    else:
        found[origin] = document
