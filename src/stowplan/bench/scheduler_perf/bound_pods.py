"""The pods that are bound now and were bound so far, by a watch of their metadata."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from time import monotonic

import msgspec

from stowplan.bench.cluster.bound_pod_watch import FrameCounter

Labels = Mapping[str, str]


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: _Object = _Object()


_FRAMES = msgspec.json.Decoder(_Frame)


class BoundPods(FrameCounter):
    """Receives the frames of a watch of bound pods on one thread, and is read on others."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._bound: dict[str, dict[str, Labels]] = {}
        self._history: list[tuple[str, Labels]] = []

    def take(self, frames: list[bytes]) -> None:
        with self._changed:
            for data in frames:
                frame = _FRAMES.decode(data)
                meta = frame.object.metadata
                if frame.type == "ADDED":
                    self._bound.setdefault(meta.namespace, {})[meta.name] = meta.labels
                    self._history.append((meta.namespace, meta.labels))
                elif frame.type == "DELETED":
                    self._bound.get(meta.namespace, {}).pop(meta.name, None)
            self._changed.notify_all()

    def count(self, namespace: str, selector: Labels) -> int:
        """Pods of a namespace that are bound now and have the labels."""
        with self._changed:
            return sum(has_labels(labels, selector) for labels in self._bound.get(namespace, {}).values())

    def bindings(self, namespaces: Collection[str], selector: Labels, start: int = 0) -> tuple[int, int]:
        """Pods that were bound since position `start` of the history, and the position of its end."""
        with self._changed:
            new = self._history[start:]
        count = sum(namespace in namespaces and has_labels(labels, selector) for namespace, labels in new)
        return count, start + len(new)

    def wait_for(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Wait until the condition holds, checked after each frame, at most until the deadline of the clock."""
        with self._changed:
            return self._changed.wait_for(condition, max(deadline - monotonic(), 0))


def has_labels(labels: Labels, selector: Labels) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())
