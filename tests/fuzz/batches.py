"""Batches of random objects that a real API server accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.mutations import Mutations

from stowplan.testing import KubeApi, RefusedError
from stowplan.testing.objects import JsonObject

BATCH = 300
CONNECTIONS = 8


class Batches:
    """Accepted objects, as the API server returns them, with defaults and a uid."""

    def __init__(self, api: KubeApi, mutations: Mutations) -> None:
        self._api = api
        self._mutations = mutations
        self.accepted: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def take(self, objects: int) -> Iterator[list[JsonObject]]:
        """Batches until this many objects were accepted."""
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            while (missing := objects - self.accepted.total()) > 0:
                made = [self._mutations.object() for _ in range(BATCH)]
                found = threads.map(self._validated, made)
                batch = [each for each in found if each is not None][:missing]
                self.accepted.update(each["kind"] for each in batch)
                yield batch

    def _validated(self, made: JsonObject) -> JsonObject | None:
        kind = f"{made['apiVersion']}/{made['kind']}"
        place = self._api.path(kind, namespace=str(made["metadata"].get("namespace", "")))
        try:
            # The reply has no kind and version where the server is asked for the plain object.
            reply = self._api.request("POST", place, made, params={"dryRun": "All"})
        except RefusedError as refusal:
            if refusal.status not in (400, 403, 404, 409, 413, 422):
                raise
            self.rejected[made["kind"]] += 1
            return None
        return {"apiVersion": made["apiVersion"], "kind": made["kind"], **reply}
