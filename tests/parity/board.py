"""What is known about the pods on an API server: put together from watches and from the replies to our own writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self, TypeVar

from tests.builders import Json

from stowplan.testing import KubeApi, RefusedError, SurroundingsError

T = TypeVar("T")

_EVENTS = "events.k8s.io/v1/Event"
_SLICE_SECONDS = 2
"""Watches are this short, so that the end of a run is noticed."""
_PIECE_SECONDS = 0.5


class Board:
    """Follows pods, and what schedulers say about them, for the length of a `with`."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._pods: dict[str, Json] = {}
        self._gone: set[str] = set()
        self._complaints: dict[str, list[Json]] = {}
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(kind, note), daemon=True, name=f"board-{kind}")
            for kind, note in (("Pod", self._note_pod), (_EVENTS, self._note_event))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

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
        """Tell what the server replied to a write."""
        self._note_pod("MODIFIED", pod)

    def removed(self, pod: Json) -> None:
        """Tell that a pod was deleted, and is no more."""
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

    def _follow(self, kind: str, note: Callable[[str, Json], None]) -> None:
        version = ""
        while not self._over.is_set():
            try:
                version = self._watch(kind, note, version) if version else self._list(kind, note)
            except RefusedError:
                version = ""  # too old
            except SurroundingsError:
                time.sleep(0.2)

    def _list(self, kind: str, note: Callable[[str, Json], None]) -> str:
        found = self._api.request("GET", self._api.path(kind))
        for item in found["items"]:
            note("ADDED", item)
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, kind: str, note: Callable[[str, Json], None], version: str) -> str:
        options: Json = {"resourceVersion": version, "timeoutSeconds": _SLICE_SECONDS, "allowWatchBookmarks": "true"}
        for event in self._api.watch(kind, **options):
            if event["type"] == "ERROR":
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                note(event["type"], event["object"])
        return version

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
