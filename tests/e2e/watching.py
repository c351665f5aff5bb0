"""Watching an API server past everything that stands between it and a scheduler."""

import threading
import time
from collections.abc import Callable
from typing import Self

from tests.builders import Json

from stowplan.testing import KubeApi, RefusedError, SurroundingsError

_WATCH_SECONDS = 1
"""Watches are this short, so that the end is noticed."""
_RETRY_SECONDS = 0.2

Note = Callable[[str, Json], None]
"""Receives the type of a watch event and the object; of a list, each object as ADDED."""


class ClusterWatch:
    """Lists and watches kinds of objects on threads for the length of a `with`."""

    def __init__(self, api: KubeApi, *watched: tuple[str, Note]) -> None:
        """`watched` are the kinds, each with the function that receives its objects."""
        self._api = api
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(kind, note), daemon=True, name=f"watch-{kind}")
            for kind, note in watched
        ]

    def _listed(self, kind: str, items: list[Json]) -> None:
        """Called with the objects of a list before they are noted."""

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _follow(self, kind: str, note: Note) -> None:
        version = ""
        while not self._over.is_set():
            try:
                version = self._watch(kind, note, version) if version else self._list(kind, note)
            except RefusedError:
                version = ""  # too old
            except SurroundingsError:
                time.sleep(_RETRY_SECONDS)  # the server may be down

    def _list(self, kind: str, note: Note) -> str:
        found = self._api.request("GET", self._api.path(kind))
        self._listed(kind, found["items"])
        for item in found["items"]:
            note("ADDED", item)
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, kind: str, note: Note, version: str) -> str:
        options: Json = {"resourceVersion": version, "timeoutSeconds": _WATCH_SECONDS, "allowWatchBookmarks": "true"}
        for event in self._api.watch(kind, **options):
            if event["type"] == "ERROR":
                return ""
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                note(event["type"], event["object"])
        return version
