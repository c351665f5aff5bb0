"""Watches pods that become bound: when, the node and the priority of each."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

import msgspec

from stowplan.bench.cluster.bound_pod_watch import BoundPodWatch, FrameCounter
from stowplan.testing import ADMIN, ControlPlane, KubeApi, SurroundingsError, wait_until

PODS = "/api/v1/namespaces/default/pods"

_MAX_PODS = 1 << 62


class ObservedBinding(NamedTuple):
    """A pod that was bound."""

    at: float
    node: str
    priority: int
    name: str = ""


class _Spec(msgspec.Struct, frozen=True):
    nodeName: str = ""
    priority: int = 0


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


class _PodEvent(msgspec.Struct, frozen=True):
    type: str
    object: _Pod = _Pod()


_EVENTS = msgspec.json.Decoder(_PodEvent)


class ObservedBindings(FrameCounter):
    """Bindings in the order in which the watch delivers them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self.bindings: list[ObservedBinding] = []
        self._clock = clock

    def take(self, frames: list[bytes]) -> None:
        now = self._clock()
        for frame in frames:
            event = _EVENTS.decode(frame)
            if event.type == "ADDED":
                pod = event.object
                self.bindings.append(ObservedBinding(now, pod.spec.nodeName, pod.spec.priority, pod.metadata.name))


class BindingWatch:
    """A watch of bound pods of the default namespace, on a thread; a watch that the server ends is resumed."""

    def __init__(self, plane: ControlPlane, api: KubeApi) -> None:
        self._plane = plane
        self._api = api
        self._observed = ObservedBindings()

    @property
    def bindings(self) -> list[ObservedBinding]:
        return self._observed.bindings

    def __enter__(self) -> BindingWatch:
        version = self._api.request("GET", PODS, params={"limit": 1})["metadata"]["resourceVersion"]
        watch = BoundPodWatch(PODS, version, _MAX_PODS, monotonic, self._observed, accept="application/json")
        watch.open(self._plane.url, self._plane.tls(), ADMIN.token)
        self._watch = watch
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._watch.close()

    def wait(self, prefix: str, count: int, timeout: float) -> None:
        """Wait until this many pods whose names start with the prefix are bound. Raises SurroundingsError."""

        def all_bound() -> bool:
            if self._watch.problem:
                raise SurroundingsError(f"watch of {PODS}: {self._watch.problem}")
            return sum(each.name.startswith(prefix) for each in list(self.bindings)) >= count

        wait_until(all_bound, timeout=timeout, every=0.2, what=f"{count} bound pods")
