"""The reader of manifests, in every form that `kubectl apply` accepts or `kubectl get` prints."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.api.fields import ApiType, find_type, has_known_fields, unknown_fields
from stowplan.api.validation import validate
from stowplan.cache.stores import key_of
from stowplan.config.strict_decoding import suggestion
from stowplan.errors import InputError
from stowplan.simulator.admission import located
from stowplan.simulator.custom_workload import CustomWorkload, is_custom_workload, kind_of
from stowplan.simulator.identity import generate_name
from stowplan.simulator.input.documents import Origin, Read, read_documents
from stowplan.simulator.input.gap import Gap
from stowplan.simulator.input.overlay import Json, is_deletion, merged
from stowplan.simulator.input.ownership import Objects, describe

# DeviceTaintRules have an effect behind a feature gate only, which is off in simulations.
_NOT_SIMULATED = ("DeviceTaintRule", "Event", "Lease")

SIMULATED: dict[str, api.Kind] = {name: kind for name, kind in api.KINDS.items() if name not in _NOT_SIMULATED}
"""Kinds that a simulation uses, by name."""

_RENAMED = {(kind.wire_name, kind.api_version.partition("/")[0]): kind for kind in SIMULATED.values() if kind.wire_name}
"""Kinds whose name in manifests is that of another kind, by name and group."""

_Items: Any = list[msgspec.Raw] | None


class _Header(msgspec.Struct, rename="camel"):
    """The fields that determine how to decode a document."""

    api_version: str = ""
    kind: str = ""
    items: msgspec.Raw = msgspec.Raw()


class _Entry(NamedTuple):
    """An object with the document that it was decoded from."""

    item: Any
    origin: Origin
    layer: int
    document: Json | msgspec.Raw | bytes | None
    """The raw object, if it is needed later."""


class ManifestReader:
    """Reads files, each in a layer: objects of a later layer are overlays of objects with the same name."""

    def __init__(self, namespace: str, *, keep_documents: bool) -> None:
        self.unknown: Counter[str] = Counter()
        self.problems: list[str] = []
        self.gaps: list[Gap] = []
        """Unknown fields of objects that an API server has stored."""
        self.overlaid: list[tuple[Any, Any]] = []
        """Objects before and after an overlay."""
        self._namespace = namespace
        self._keep_documents = keep_documents
        self._layer = 0
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._custom: dict[str, Any] = {}
        """Custom workloads by namespace and name."""

    @property
    def objects(self) -> Objects:
        return [(entry.item, entry.origin) for entry in self._entries.values()]

    @property
    def documents(self) -> dict[tuple[type, str], Json]:
        """The raw objects by struct and key, if they are kept."""
        return {
            (type(entry.item), key_of(entry.item.metadata)): _whole(entry.document)
            for entry in self._entries.values()
            if entry.document is not None
        }

    def next_layer(self) -> None:
        """Start a layer: objects that are read from now on may be overlays."""
        self._layer += 1

    def read(self, file: str, read: Read) -> None:
        """Read one file; its problems are collected."""
        try:
            for origin, document in read_documents(file, read):
                self._document(document, origin, _Header())
        except InputError as problem:
            self.problems.append(str(problem))

    def _document(self, document: Any, origin: Origin, listed: _Header) -> None:
        """An object or a list; `listed` is the header that its list implies."""
        try:
            header = codec.decode(_Header, document)
            kind, api_version = header.kind or listed.kind, header.api_version or listed.api_version
            if not kind:
                raise InputError("$.kind: required")
            if kind.endswith("List") and bytes(header.items):
                # A plain List is in the core group, whatever the group of its items.
                inherited = _Header() if kind == "List" else _Header(api_version, kind.removesuffix("List"))
                self._list(header.items, origin, inherited)
                return
            known = _find_kind(kind, api_version) or _custom_kind(kind, api_version, document)
            if known is None:
                self.unknown[f"{kind} ({api_version})" if kind in api.KINDS and api_version else kind] += 1
            else:
                self._object(known, document, origin, find_type(kind, api_version or known.api_version))
        except InputError as problem:
            self.problems.append(origin.locate(str(problem)))

    def _list(self, items: msgspec.Raw, origin: Origin, header: _Header) -> None:
        try:
            documents: list[msgspec.Raw] | None = codec.decode(_Items, bytes(items))
        except InputError as problem:
            raise InputError(str(problem).replace("$", "$.items", 1)) from problem
        for index, document in enumerate(documents or ()):
            self._document(document, origin._replace(path=f"{origin.path}.items[{index}]"), header)

    def _object(self, kind: api.Kind, document: Any, origin: Origin, known: ApiType | None) -> None:
        item = self._decoded(kind, document)
        key = kind.name, key_of(item.metadata)
        self._check_fields(item, document, origin, known)
        earlier = self._entries.get(key) if item.metadata.name else None
        if earlier is not None and earlier.layer == self._layer:
            raise InputError(f'$.metadata.name: duplicate {key[0]} "{key[1]}", first in {earlier.origin}')
        if earlier is not None:
            patch = _whole(document)
            if is_deletion(patch):
                del self._entries[key]
                return
            document = merged(_whole(earlier.document), patch, known)
            item = self._decoded(kind, document)
            self.overlaid.append((earlier.item, item))
        checked_as = kind.name
        if isinstance(item, CustomWorkload):
            self._check_clash(item)
            checked_as = "ReplicationController"  # Replicas and a pod template are all that it has.
        self.problems += [origin.locate(problem) for problem in validate(checked_as, item)]
        self._entries[key] = _Entry(item, origin, self._layer, document if self._keep_documents else None)

    def _decoded(self, kind: api.Kind, document: Any) -> Any:
        """The object in its namespace and with a name."""
        struct: type[Any] = kind.struct
        item: Any = codec.convert(struct, document) if isinstance(document, dict) else codec.decode(struct, document)
        item = located(item, self._namespace)
        metadata = item.metadata
        if metadata.name or not metadata.generate_name:
            return item
        name = generate_name(metadata.generate_name, metadata.namespace, kind.name, len(self._entries))
        return msgspec.structs.replace(item, metadata=msgspec.structs.replace(metadata, name=name))

    def _check_fields(self, item: Any, document: Any, origin: Origin, known: ApiType | None) -> None:
        """Unknown fields are errors as for kubectl. An API server of another release may have stored them, however."""
        if known is None or has_known_fields(document, known):
            return
        for path, names in unknown_fields(_whole(document), known):
            field = path.rpartition(".")[2]
            if field.startswith("$") and self._layer:
                continue
            text = f'strict decoding error: unknown field "{path}"{suggestion(field, names)}'
            problem = f"{origin}: {describe(item)}: {text}"
            if item.metadata.resource_version and item.metadata.uid:
                ignored = f'field "{path}", which Kubernetes v1.36 does not have, is ignored'
                self.gaps.append(Gap(kind_of(item).name, key_of(item.metadata), ignored, problem))
            else:
                self.problems.append(problem)

    def _check_clash(self, item: CustomWorkload) -> None:
        """Custom workloads of all kinds are stored by name."""
        other = self._custom.setdefault(key_of(item.metadata), item)
        if other.kind != item.kind:
            clash = f"{describe(item)} and {describe(other)} cannot be simulated together"
            raise InputError(f"$.metadata.name: {clash}: rename one")


def _whole(document: Any) -> Json:
    return document if isinstance(document, dict) else codec.whole(document)


def _find_kind(name: str, api_version: str) -> api.Kind | None:
    """The simulated kind of that name and group, if there is one."""
    kind = SIMULATED.get(name)
    if kind is None or (api_version and _group(api_version) != _group(kind.api_version)):
        return _RENAMED.get((name, _group(api_version)))
    return kind


def _custom_kind(name: str, api_version: str, document: Any) -> api.Kind | None:
    """The kind of a custom workload; None for other objects of custom kinds."""
    if name in api.KINDS or "." not in _group(api_version):
        return None
    try:
        found = is_custom_workload(_whole(document))
    except InputError:
        return None
    return api.Kind(name, CustomWorkload, api_version, "", True, None) if found else None


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
