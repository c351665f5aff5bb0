"""The pods of an API server and the events about them, from watches and from the replies to our own writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from tests.builders import Json
from tests.e2e.watching import ClusterWatch

from stowplan.testing import KubeApi

T = TypeVar("T")

_EVENTS = "events.k8s.io/v1/Event"
_PIECE_SECONDS = 0.5


class PodWatch(ClusterWatch):
    """Follows pods and the events about them for the length of a `with`."""

    def __init__(self, api: KubeApi) -> None:
        self._pods: dict[str, Json] = {}
        self._gone: set[str] = set()
        self._complaints: dict[str, list[Json]] = {}
        self._changed = threading.Condition()
        super().__init__(api, ("Pod", self._note_pod), (_EVENTS, self._note_event))

    def pod(self, uid: str) -> Json | None:
        with self._changed:
            return self._pods.get(uid)

    def pods(self) -> dict[str, Json]:
        """All that exist, by namespace/name."""
        with self._changed:
            return {key(pod): pod for pod in self._pods.values()}

    def complaints(self, uid: str) -> list[Json]:
        """The FailedScheduling events about a pod, in the order in which they came."""
        with self._changed:
            return list(self._complaints.get(uid, ()))

    def saw(self, pod: Json) -> None:
        """Note the server's reply to a write."""
        self._note_pod("MODIFIED", pod)

    def removed(self, pod: Json) -> None:
        """Note that a pod was deleted."""
        self._note_pod("DELETED", pod)

    def wait(self, look: Callable[[], T], timeout: float) -> T:
        """Look whenever something changed until there is something; when there is not in time, return what there is.

        Time is counted in small pieces: where the whole machine is halted, schedulers do not work either.
        """
        with self._changed:
            while not (found := look()) and timeout > 0:
                before = time.monotonic()
                self._changed.wait(min(timeout, _PIECE_SECONDS))
                timeout -= min(time.monotonic() - before, _PIECE_SECONDS)
        return found

    def _note_pod(self, type_: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        pod["metadata"].pop("managedFields", None)
        with self._changed:
            if type_ == "DELETED":
                self._gone.add(uid)
                self._pods.pop(uid, None)
            elif uid not in self._gone and _version(pod) >= _version(self._pods.get(uid)):
                self._pods[uid] = pod
            self._changed.notify_all()

    def _note_event(self, type_: str, event: Json) -> None:
        if event.get("reason") == "FailedScheduling" and type_ == "ADDED":
            with self._changed:
                self._complaints.setdefault(event["regarding"].get("uid", ""), []).append(event)
                self._changed.notify_all()


def _version(pod: Json | None) -> int:
    return int(pod["metadata"]["resourceVersion"]) if pod else -1


def key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
