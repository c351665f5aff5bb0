"""Reads manifests in every form that `kubectl apply` accepts or `kubectl get` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from stowplan import api
from stowplan.api import codec
from stowplan.api.validation import validate
from stowplan.cache.stores import key_of
from stowplan.errors import InputError
from stowplan.simulator.admission import DEFAULT_NAMESPACE, located
from stowplan.simulator.identity import generate_name
from stowplan.simulator.input import input_checks
from stowplan.simulator.input.apply import Applied, LiveObjects, apply
from stowplan.simulator.input.documents import Origin, Read, find_files, read_documents
from stowplan.simulator.input.ownership import Ownership

_MAX_REPORTED_PROBLEMS = 20

# DeviceTaintRules have an effect behind a feature gate only, which is off in simulations.
_NOT_SIMULATED = ("DeviceTaintRule", "Event", "Lease")

SIMULATED: dict[str, api.Kind] = {name: kind for name, kind in api.KINDS.items() if name not in _NOT_SIMULATED}
"""Kinds that a simulation uses, by name."""


class Manifests(NamedTuple):
    """The objects of an input."""

    objects: list[tuple[Any, Origin]]
    """Objects of known kinds, in the order of the input, each in its namespace and with a name."""
    unknown: Counter[str]
    """Number of objects of each kind that is not simulated."""
    notes: list[str]
    """Notes for the user, one line each."""
    standing: frozenset[str] = frozenset()
    """The uids of objects of a snapshot that the manifests do not change."""


_Items: Any = list[msgspec.Raw] | None


class _Header(msgspec.Struct, rename="camel"):
    """The fields that determine how to decode a document."""

    api_version: str = ""
    kind: str = ""
    items: msgspec.Raw = msgspec.Raw()


def load(names: Iterable[str], read: Read, live: LiveObjects | None = None, namespace: str = "") -> Manifests:
    """All objects of files, folders and (`-`) standard input; with `live`, applied to the objects of a cluster.

    `namespace` is for objects without one; by default it is that of the cluster. Raises InputError, one problem a line.
    """
    reader = _ManifestReader(namespace or (DEFAULT_NAMESPACE if live is None else live.namespace))
    for name in names:
        try:
            for file in find_files(name):
                reader.read(file, read)
        except InputError as problem:
            reader.problems.append(str(problem))
    refuse(reader.problems)
    applied = Applied(reader.objects, frozenset(), []) if live is None else apply(live, reader.objects)
    ownership = Ownership(applied.objects)
    refuse([*ownership.problems(), *input_checks.too_many_pods(ownership)])
    notes = [
        *applied.notes,
        *ownership.notes(applied.standing),
        *input_checks.notes([item for item, _ in ownership.objects]),
    ]
    return Manifests(ownership.objects, reader.unknown, notes, applied.standing)


def check(manifests: Manifests) -> None:
    """Raise an InputError that lists the objects that the simulation needs and the input lacks, one per line."""
    refuse(list(input_checks.missing_objects(manifests.objects)))


def refuse(problems: list[str]) -> None:
    """Raise an InputError if there are problems."""
    if problems:
        more = len(problems) - _MAX_REPORTED_PROBLEMS
        raise InputError("\n".join([*problems[:_MAX_REPORTED_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]))


class _ManifestReader:
    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self.objects: list[tuple[Any, Origin]] = []
        self.unknown: Counter[str] = Counter()
        self.problems: list[str] = []
        self._names: dict[tuple[str, str], Origin] = {}

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
            known = _find_kind(kind, api_version)
            if known is None:
                self.unknown[f"{kind} ({api_version})" if kind in api.KINDS and api_version else kind] += 1
            else:
                self._object(known, codec.decode(known.struct, document), origin)
        except InputError as problem:
            self.problems.append(origin.locate(str(problem)))

    def _list(self, items: msgspec.Raw, origin: Origin, header: _Header) -> None:
        try:
            documents: list[msgspec.Raw] | None = codec.decode(_Items, bytes(items))
        except InputError as problem:
            raise InputError(str(problem).replace("$", "$.items", 1)) from problem
        for index, document in enumerate(documents or ()):
            self._document(document, origin._replace(path=f"{origin.path}.items[{index}]"), header)

    def _object(self, kind: api.Kind, item: Any, origin: Origin) -> None:
        item = located(item, self._namespace)
        metadata = item.metadata
        if not metadata.name and metadata.generate_name:
            name = generate_name(metadata.generate_name, metadata.namespace, kind.name, len(self.objects))
            item = msgspec.structs.replace(item, metadata=msgspec.structs.replace(metadata, name=name))
        self.problems += [origin.locate(problem) for problem in validate(kind.name, item)]
        key = kind.name, key_of(item.metadata)
        if item.metadata.name and key in self._names:
            problem = f'$.metadata.name: duplicate {key[0]} "{key[1]}", first in {self._names[key]}'
            self.problems.append(origin.locate(problem))
        self._names.setdefault(key, origin)
        self.objects.append((item, origin))


def _find_kind(name: str, api_version: str) -> api.Kind | None:
    """The simulated kind of that name and group, if there is one."""
    kind = SIMULATED.get(name)
    if kind is None or (api_version and _group(api_version) != _group(kind.api_version)):
        return None
    return kind


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
