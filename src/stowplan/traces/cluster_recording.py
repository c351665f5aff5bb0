"""Recordings of a live cluster: the objects that scheduling reads, with the times at which they changed.

A recording is a gzip file of JSON lines: a header, the objects at the start, a line when all of them are there, and one
line for each change. Objects are reduced to the fields that scheduling reads. A file that ends in the middle of a line
is read up to there, and marked as incomplete.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import msgspec

from stowplan._version import __version__
from stowplan.api import codec
from stowplan.api.kinds import KINDS, Kind
from stowplan.api.sanitization import Sanitizer
from stowplan.errors import InputError
from stowplan.traces.private_files import open_private

RECORDING_KIND = "StowplanRecording"
RECORDING_VERSION = 1
MAX_LINE_BYTES = 1 << 25
"""An object of etcd has 1.5 MiB by default, and at most a few times that."""
_COMPRESSION_LEVEL = 5


class RecordedChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: an object that was added, changed or removed."""

    time: float
    """Seconds since the start of the recording."""
    kind: str = ""
    """Empty: all objects at the start have been listed."""
    object: msgspec.Raw = msgspec.Raw(b"{}")
    removed: bool = False


class RecordingHeader(msgspec.Struct, frozen=True):
    """The first line."""

    kind: str
    version: int
    stowplan: str = ""
    start: float = 0.0
    """Seconds since 1970."""
    source: str = ""
    release: str = ""
    """The release of the cluster's Kubernetes, such as "1.35"; empty in recordings of earlier versions."""


class _CountedFile:
    """An unbuffered file that knows how much was written to it. What is written after `close` is dropped."""

    def __init__(self, descriptor: int) -> None:
        self.size = 0
        self._descriptor = descriptor

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        while view and self._descriptor >= 0:
            written = os.write(self._descriptor, view)
            self.size += written
            view = view[written:]
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


class RecordingWriter:
    """A sink of reflectors that writes a recording. `full` is true once the size limit is reached."""

    def __init__(self, file: Path, source: str, clock: Callable[[], float], max_bytes: int, release: str = "") -> None:
        self.changes = 0
        self.full = False
        self.is_listed = False
        """Whether all objects at the start have been written."""
        self._clock = clock
        self._start = clock()
        self._max_bytes = max_bytes
        self._sanitizer = Sanitizer()
        self._file = file
        self._open = True
        try:
            descriptor = open_private(file, append=False)
        except OSError as error:
            raise InputError(f"{file}: {error.strerror or error}") from error
        self._raw = _CountedFile(descriptor)
        raw = cast(IO[bytes], self._raw)
        try:
            self._packed = gzip.GzipFile(fileobj=raw, mode="wb", filename="", compresslevel=_COMPRESSION_LEVEL)
        except OSError as error:
            self._fail(error)
        self._write(RecordingHeader(RECORDING_KIND, RECORDING_VERSION, __version__, self._start, source, release))

    def put(self, kind: Kind, items: list[Any]) -> None:
        for item in items:
            self._change(kind, item[0] if isinstance(item, tuple) else item, removed=False)

    def removed(self, kind: Kind, items: list[Any]) -> None:
        for item in items:
            self._change(kind, item, removed=True)

    def synced(self, kind: Kind) -> None: ...

    def missing(self, kind: Kind) -> None: ...

    def forbidden(self, kind: Kind, verb: str) -> None: ...

    def listed(self) -> None:
        """All objects at the start have been written."""
        self.is_listed = True
        self._write(RecordedChange(self._now))

    @property
    def _now(self) -> float:
        return round(self._clock() - self._start, 6)

    def _change(self, kind: Kind, item: Any, *, removed: bool) -> None:
        if self.full or not self._open:
            return
        plain = self._sanitizer.sanitize(type(item), codec.builtins(item))
        self._write(RecordedChange(self._now, kind.name, msgspec.Raw(msgspec.json.encode(plain)), removed))
        self.changes += 1
        self.full = self._raw.size >= self._max_bytes

    def _write(self, line: msgspec.Struct) -> None:
        try:
            self._packed.write(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> NoReturn:
        self._open = False
        self._raw.close()
        raise InputError(f"{self._file}: {error.strerror or error}; the recording is not complete") from error

    def close(self) -> None:
        if not self._open:
            return
        try:
            self._packed.close()
        except OSError as error:
            self._fail(error)
        self._open = False
        self._raw.close()


class ClusterRecording:
    """A recording that is read from a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.complete = True
        """Whether the file has all objects at the start, and ended as it should; known once all changes were read."""
        lines = self._lines()
        try:
            self.header = msgspec.json.decode(next(lines), type=RecordingHeader)
        except (StopIteration, msgspec.DecodeError) as error:
            raise InputError(f"{file}: not a recording of a cluster") from error
        if self.header.kind != RECORDING_KIND:
            raise InputError(f"{file}: not a recording of a cluster")
        if self.header.version > RECORDING_VERSION:
            raise InputError(f"{file}: a recording of version {self.header.version}; stowplan {__version__} reads 1")
        self._rest = lines

    def _lines(self) -> Iterator[bytes]:
        try:
            with gzip.open(self.file, "rb") as stream:
                while line := stream.readline(MAX_LINE_BYTES + 1):
                    if len(line) > MAX_LINE_BYTES:
                        raise InputError(f"{self.file}: a line of more than {MAX_LINE_BYTES:,} bytes")
                    yield line
        except (EOFError, zlib.error):
            self.complete = False
        except OSError as error:
            if str(error).startswith("Not a gzipped file"):
                raise InputError(f"{self.file}: not a recording of a cluster") from error
            raise InputError(f"{self.file}: {error.strerror or error}") from error

    def changes(self) -> Iterator[tuple[RecordedChange, Any]]:
        """All changes with their objects, once; the object is None for the line that ends the list at the start."""
        decode = msgspec.json.Decoder(RecordedChange).decode
        is_listed = False
        for number, line in enumerate(self._rest, start=2):
            try:
                change = decode(line)
            except msgspec.DecodeError:
                self.complete = False
                return
            if not change.kind:
                is_listed = True
                yield change, None
                continue
            kind = KINDS.get(change.kind)
            if kind is None:
                raise InputError(f"{self.file}: line {number}: unknown kind {change.kind!r}")
            struct: type[Any] = kind.struct
            try:
                item = codec.decode(struct, bytes(change.object))
            except codec.DecodeError as error:
                raise InputError(f"{self.file}: line {number}: {change.kind}{str(error).removeprefix('$')}") from error
            yield change, item
        self.complete = self.complete and is_listed
