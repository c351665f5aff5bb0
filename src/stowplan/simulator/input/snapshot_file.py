"""Snapshots in files: the objects of a cluster that scheduling reads, as one JSON document, compressed or not.

The document has a header and the objects by kind, reduced to the fields that scheduling reads (`api.sanitization`).
A document of a later version than `SNAPSHOT_VERSION` is rejected; unknown fields of the header are ignored.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec

from stowplan._version import __version__
from stowplan.api import codec
from stowplan.api.sanitization import Sanitizer
from stowplan.config.releases import LATEST, Release, release_of
from stowplan.errors import InputError
from stowplan.simulator.custom_workload import CustomWorkload
from stowplan.simulator.identity import timestamp
from stowplan.simulator.input.manifests import SIMULATED

SNAPSHOT_KIND = "StowplanSnapshot"
SNAPSHOT_VERSION = 1
"""Grows when an older release would misread the document."""

HEADER_BYTES = 8192
"""At the start of a file, compressed or not, that have the whole header."""

_GZIP_MAGIC = b"\x1f\x8b"
_START = b'{"kind":"' + SNAPSHOT_KIND.encode()
_CUSTOM = "CustomWorkload"
_STRUCTS: dict[str, type[Any]] = {**{name: kind.struct for name, kind in SIMULATED.items()}, _CUSTOM: CustomWorkload}
_LISTS: dict[str, Any] = {name: GenericAlias(list, (struct,)) for name, struct in _STRUCTS.items()}
_COMPRESSION_LEVEL = 6


class SnapshotHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a snapshot is, without its objects."""

    kind: str = ""
    version: int = 0
    stowplan: str = ""
    """The release that wrote it."""
    taken_at: str = ""
    """RFC 3339."""
    source: str = ""
    """The cluster, for people."""
    namespace: str = ""
    """Of the kubeconfig's context."""
    release: str = ""
    """The release of Kubernetes whose rules apply, such as "1.34"; empty in snapshots that do not record it."""
    anonymized: bool = False

    @property
    def taken_at_seconds(self) -> float:
        """Seconds since 1970. Raises InputError."""
        try:
            return datetime.fromisoformat(self.taken_at).astimezone(UTC).timestamp()
        except ValueError as error:
            raise InputError(f"$.takenAt: not a time: {self.taken_at!r}") from error

    @property
    def kube_release(self) -> Release:
        """The recorded release, else the latest one. Raises InputError."""
        try:
            return release_of(self.release) if self.release else LATEST
        except ValueError as error:
            raise InputError(f"$.release: {error}") from error


class SnapshotFile(NamedTuple):
    """A snapshot that was read."""

    header: SnapshotHeader
    items: list[Any]


class _Document(msgspec.Struct, frozen=True):
    """The objects of a snapshot, not decoded yet."""

    objects: dict[str, msgspec.Raw]


def make_header(taken_at: float, source: str, namespace: str, release: Release = LATEST) -> SnapshotHeader:
    return SnapshotHeader(
        kind=SNAPSHOT_KIND,
        version=SNAPSHOT_VERSION,
        stowplan=__version__,
        taken_at=timestamp(int(taken_at)),
        source=source,
        namespace=namespace,
        release=release.version,
    )


def sanitized(items: Iterable[Any], keep_annotations: Collection[str] = ()) -> dict[str, list[Any]]:
    """Objects by kind as plain data, reduced to the fields that scheduling reads."""
    sanitizer = Sanitizer(keep_annotations)
    names = {struct: name for name, struct in _STRUCTS.items()}
    found: dict[str, list[Any]] = {}
    for item in items:
        struct = type(item)
        name = names.get(struct)
        if name is not None:
            found.setdefault(name, []).append(sanitizer.sanitize(struct, codec.builtins(item)))
    return found


def encode_snapshot(header: SnapshotHeader, objects: dict[str, list[Any]], *, compress: bool) -> bytes:
    """The content of a file."""
    content = codec.encode({**codec.builtins(header), "objects": objects})
    return gzip.compress(content, _COMPRESSION_LEVEL, mtime=0) if compress else content


def is_snapshot(start: bytes) -> bool:
    """Whether a file with these first bytes is a snapshot, or compressed."""
    return start.startswith((_GZIP_MAGIC, _START))


def recorded_release(start: bytes) -> Release:
    """The release that a snapshot with these first bytes records, else the latest one.

    The header precedes the objects, so `HEADER_BYTES` suffice. Damaged content is reported by `decode_snapshot`.
    """
    if start.startswith(_GZIP_MAGIC):
        try:
            start = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(start, HEADER_BYTES)
        except zlib.error:
            return LATEST
    head, objects, _ = start.partition(b'"objects"')
    try:
        return codec.decode(SnapshotHeader, head.rstrip().removesuffix(b",") + b"}").kube_release if objects else LATEST
    except (codec.DecodeError, InputError):
        return LATEST


def decode_snapshot(content: bytes, max_bytes: int) -> SnapshotFile:
    """The snapshot in the content of a file. Raises InputError of one line."""
    if content.startswith(_GZIP_MAGIC):
        content = decompressed(content, max_bytes, "snapshot")
    header = _header(content)
    try:
        objects = codec.decode(_Document, content).objects
    except codec.DecodeError as error:
        raise InputError(f"not a complete snapshot: {error}") from error
    items: list[Any] = []
    for name, raw in objects.items():
        decoded = _LISTS.get(name)
        if decoded is None:
            raise InputError(f"$.objects: unknown kind {name!r}")
        try:
            items += codec.decode(decoded, bytes(raw))
        except codec.DecodeError as error:
            raise InputError(f"$.objects.{name}{str(error).removeprefix('$')}") from error
    return SnapshotFile(header, items)


def _header(content: bytes) -> SnapshotHeader:
    try:
        header = codec.decode(SnapshotHeader, content)
    except codec.DecodeError as error:
        if content.startswith(_START):
            raise InputError("the snapshot is truncated or damaged") from error
        raise InputError("not a snapshot; manifests are given with -f") from error
    if header.kind != SNAPSHOT_KIND:
        raise InputError("not a snapshot; manifests are given with -f")
    if header.version > SNAPSHOT_VERSION:
        by = f", written by stowplan {header.stowplan}" if header.stowplan else ""
        known = f"stowplan {__version__} reads snapshots up to version {SNAPSHOT_VERSION}"
        raise InputError(f"a snapshot of version {header.version}{by}; {known}")
    header.taken_at_seconds, header.kube_release  # noqa: B018
    return header


def decompressed(content: bytes, max_bytes: int, what: str = "file") -> bytes:
    """The content of a gzip file. Raises InputError of one line if it is damaged, truncated or too large."""
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = stream.decompress(content, max_bytes + 1)
    except zlib.error as error:
        raise InputError(f"the compressed {what} is damaged") from error
    if len(plain) > max_bytes:
        raise InputError(f"larger than the allowed {max_bytes:,} bytes when decompressed")
    if not stream.eof:
        raise InputError(f"the compressed {what} is truncated")
    return plain
