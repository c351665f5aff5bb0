"""Decoding of list pages and watch frames.

Batches are decoded at once into a kind's struct. If one object does not fit, the objects are decoded one by one, and
the bad one is logged and ignored.

Upstream: k8s.io/apimachinery/pkg/watch/streamwatcher.go, k8s.io/client-go/rest/watch/decoder.go
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from stowplan import logs
from stowplan.api import codec
from stowplan.api.kinds import Kind
from stowplan.api.meta import ObjectMeta, Wire
from stowplan.cluster.errors import ApiError, ApiStatus, ConnectionFailedError

T = TypeVar("T")

Item = tuple[Any, bytes | None]
"""An object as its kind's struct, and its JSON if requested."""

MAX_FRAME_BYTES = 64 << 20

log = logs.get(__name__)


class ListMeta(Wire, frozen=True, kw_only=True):
    """metav1.ListMeta."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class ListOf(Wire, Generic[T], frozen=True, kw_only=True):
    """A page of a list."""

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] = ()


class FrameOf(Wire, Generic[T], frozen=True, kw_only=True):
    """A frame of a watch."""

    type: str
    object: T


class WatchEvent(NamedTuple):
    """A decoded frame: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    item: Item


class MalformedReplyError(ConnectionFailedError):
    """A reply that is not JSON of the API."""


class Head(Wire, frozen=True, kw_only=True):
    """The part of an object that identifies its version."""

    metadata: ObjectMeta = ObjectMeta()


def _metadata_of(data: msgspec.Raw) -> ObjectMeta:
    try:
        return codec.decode(Head, bytes(data)).metadata
    except codec.DecodeError:
        return ObjectMeta()  # No known object has this identity, so the frame is decoded and the error reported.


class Decoder:
    """Decodes lists and frames of one kind."""

    def __init__(self, kind: Kind, *, keep_objects: bool = False) -> None:
        self._kind = kind
        self._keep_objects = keep_objects
        self._one_by_one = keep_objects or kind.upgrade is not None
        lists: Any = ListOf
        frames: Any = FrameOf
        self._list, self._frame = lists[kind.struct], frames[kind.struct]

    def page(self, body: bytes, is_known: Callable[[ObjectMeta], bool] | None = None) -> tuple[ListMeta, list[Item]]:
        """A page of a list, without the objects for which `is_known` returns True. Those are not decoded: replacing
        objects by equal ones fragments the heap. Raises MalformedReplyError."""
        meta, items = self._page(body, is_known)
        if not meta.resource_version:
            raise MalformedReplyError(f"malformed list of {self._kind.resource}: it has no resourceVersion")
        return meta, items

    def _page(self, body: bytes, is_known: Callable[[ObjectMeta], bool] | None) -> tuple[ListMeta, list[Item]]:
        if not self._one_by_one and is_known is None:
            try:
                page = codec.decode(self._list, body)
                return page.metadata, [(item, None) for item in page.items]
            except codec.DecodeError:
                pass  # Decode one by one below.
        try:
            raw = codec.decode(ListOf[msgspec.Raw], body)
        except codec.DecodeError as error:
            raise MalformedReplyError(f"malformed list of {self._kind.resource}: {error}") from error
        items = (data for data in raw.items if is_known is None or not is_known(_metadata_of(data)))
        return raw.metadata, [item for data in items if (item := self._item(bytes(data))) is not None]

    def frames(self, lines: bytes) -> Iterator[WatchEvent]:
        """The events in frames, one per line. Raises ApiError for an error event, and MalformedReplyError."""
        if not self._one_by_one:
            try:
                frames = codec.decode_lines(self._frame, lines)
            except codec.DecodeError:
                pass  # An error event, a malformed frame, or an object that does not fit: decode one by one below.
            else:
                if not any(frame.type == "ERROR" for frame in frames):
                    yield from [WatchEvent(frame.type, (frame.object, None)) for frame in frames]
                    return
        for line in lines.split(b"\n"):
            event = self._event(line) if line else None
            if event is not None:
                yield event

    def _event(self, line: bytes) -> WatchEvent | None:
        try:
            raw = codec.decode(FrameOf[msgspec.Raw], line)
            if raw.type == "ERROR":
                raise ApiError.from_status(codec.decode(ApiStatus, bytes(raw.object)))
        except codec.DecodeError as error:
            raise MalformedReplyError(f"malformed frame in the watch of {self._kind.resource}: {error}") from error
        item = self._item(bytes(raw.object))
        return None if item is None else WatchEvent(raw.type, item)

    def _item(self, data: bytes) -> Item | None:
        """One object; None, with a log line, if it does not fit the struct."""
        try:
            return self._kind.decode(data), data if self._keep_objects else None
        except codec.DecodeError as error:
            meta = codec.whole(data).get("metadata")
            name = f"{meta.get('namespace', '')}/{meta.get('name')}" if isinstance(meta, dict) else "?"
            log.warning("Failed to decode object, ignoring it", kind=self._kind.name, object=logs.ref(name), err=error)
            return None


class FrameSplitter:
    """Divides a stream after lines, one frame each."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._length = 0

    def feed(self, piece: bytes) -> bytes:
        """The lines that this piece completes; the rest waits for the next piece."""
        end = piece.rfind(b"\n") + 1
        if not end:
            self._keep(piece)
            return b""
        complete = b"".join((*self._rest, piece[:end]))
        self._rest.clear()
        self._length = 0
        self._keep(piece[end:])
        return complete

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._rest.append(piece)
            self._length += len(piece)
            if self._length > MAX_FRAME_BYTES:
                raise MalformedReplyError(f"a frame of a watch is longer than {MAX_FRAME_BYTES >> 20} MiB")
