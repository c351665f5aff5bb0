"""A client for tests: blocking, on the standard library alone, so that it shares no bug with the client under test."""

import json
import ssl
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Self
from urllib.parse import quote, urlencode

from stowplan.testing.connections import ConnectionPool
from stowplan.testing.errors import RefusedError, SurroundingsError
from stowplan.testing.objects import JsonObject
from stowplan.testing.waiting import wait_until

Objects = list[JsonObject]

PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class KubeApi:
    """A client of the API server. Objects are dicts as in JSON; any thread may use it.

    A kind is given as apiVersion and kind, `"apps/v1/ReplicaSet"`; one of the core group by its kind alone, `"Pod"`.
    """

    def __init__(self, url: str, tls: ssl.SSLContext, *, token: str = "", timeout: float = 90.0) -> None:
        self.url = url
        self._connections = ConnectionPool(url, tls, timeout)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._kinds: dict[str, dict[str, JsonObject]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        params: Mapping[str, object] | None = None,
    ) -> JsonObject:
        """Send a request and return the JSON of the reply; an error status raises RefusedError."""
        status, text = self._connections.exchange(
            method, _with_params(path, params), self._headers | {"Content-Type": content_type}, _encode(body)
        )
        reply = json.loads(text) if text.startswith(b"{") else {"message": text.decode(errors="replace")}
        if status >= 400:
            raise RefusedError(f"{method} {path}", status, reply.get("reason", ""), reply.get("message", ""))
        assert isinstance(reply, dict)
        return reply

    def healthy(self, path: str = "/readyz") -> bool:
        """Whether a GET request to the path succeeds. kube-scheduler has no /readyz before v1.31; /healthz replaces it
        there."""
        try:
            self.request("GET", path)
        except RefusedError as refusal:
            return path == "/readyz" and refusal.status == 404 and self.healthy("/healthz")
        except SurroundingsError:
            return False
        return True

    def path(self, kind: str, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """The path of a kind: of all objects, of those in a namespace, or of one object."""
        api_version, _, short = kind.rpartition("/")
        prefix = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version or 'v1'}"
        resource = self._resource(prefix, short)
        if resource is None:
            raise RefusedError(f"discovery of {kind}", 404, "NotFound", "the server has no such kind")
        if namespace and resource["namespaced"]:
            prefix += f"/namespaces/{namespace}"
        parts = (prefix, resource["name"], quote(name), subresource)
        return "/".join(part for part in parts if part)

    def create(self, obj: JsonObject) -> JsonObject:
        """Create the object, in its namespace or in `default`.

        Admission reads PriorityClasses from a cache: a pod of a class that was just created may be refused at first.
        """
        namespace = obj["metadata"].get("namespace", "default")
        path = self.path(f"{obj['apiVersion']}/{obj['kind']}", namespace=namespace)
        created = wait_until(lambda: self._create(path, obj), timeout=10.0, what="admission of a new PriorityClass")
        assert created is not None
        return created

    def create_all(self, objects: Iterable[JsonObject], *, connections: int = 8) -> Objects:
        """Create many objects, several at a time, in no particular order."""
        with ThreadPoolExecutor(connections) as threads:
            return list(threads.map(self.create, objects))

    def get(self, kind: str, name: str, namespace: str = "default") -> JsonObject:
        """Read an object."""
        return self.request("GET", self.path(kind, name, namespace))

    def list(self, kind: str, namespace: str = "", **params: object) -> Objects:
        """The objects of a kind, in one namespace or in all; `params` are the API's: `labelSelector="app=web"`."""
        items: Objects = self.request("GET", self.path(kind, namespace=namespace), params=params)["items"]
        return items

    def replace(self, obj: JsonObject, subresource: str = "") -> JsonObject:
        """Update an object that was read before."""
        meta = obj["metadata"]
        kind = f"{obj['apiVersion']}/{obj['kind']}"
        path = self.path(kind, meta["name"], meta.get("namespace", ""), subresource)
        return self.request("PUT", path, obj)

    def patch(
        self,
        kind: str,
        name: str,
        patch: object,
        namespace: str = "default",
        *,
        how: str = "merge",
        subresource: str = "",
    ) -> JsonObject:
        """Change part of an object; `how` is `merge`, `strategic` or `json`."""
        path = self.path(kind, name, namespace, subresource)
        return self.request("PATCH", path, patch, content_type=PATCH_TYPES[how])

    def delete(self, kind: str, name: str, namespace: str = "default", **options: object) -> JsonObject:
        """Delete an object; pods without a grace period, unless `options` (DeleteOptions) set one."""
        return self.request("DELETE", self.path(kind, name, namespace), {"gracePeriodSeconds": 0, **options})

    def watch(self, kind: str, namespace: str = "", **params: object) -> Iterator[JsonObject]:
        """Watch objects of a kind: events with `type` and `object`, until the server ends the watch."""
        path = _with_params(self.path(kind, namespace=namespace), {"watch": "true", **params})
        with closing(self._connections.open("GET", path, self._headers)) as stream:
            if stream.status != 200:
                raise RefusedError(f"GET {path}", stream.status, stream.reason, stream.read().decode(errors="replace"))
            for line in stream:
                yield json.loads(line)

    def bound_pods(self, namespace: str = "") -> dict[str, str]:
        """The node of each pod that has one, by the pod's name."""
        pods = self.list("Pod", namespace)
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}

    def wait_for_pods_bound(self, namespace: str, count: int, *, timeout: float = 60.0) -> dict[str, str]:
        """Wait until at least `count` pods of the namespace are bound; returns the node of each."""

        def bound() -> dict[str, str] | None:
            nodes = self.bound_pods(namespace)
            return nodes if len(nodes) >= count else None

        return wait_until(bound, timeout=timeout, every=0.2, what=f"{count} bound pods in {namespace}") or {}

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _create(self, path: str, obj: JsonObject) -> JsonObject | None:
        try:
            return self.request("POST", path, obj)
        except RefusedError as refusal:
            if self._is_class_new(refusal, obj):
                return None
            raise

    def _is_class_new(self, refusal: RefusedError, obj: JsonObject) -> bool:
        """Whether the object was refused for a PriorityClass that exists."""
        name = obj.get("spec", {}).get("priorityClassName")
        if refusal.status != 403 or f"no PriorityClass with name {name} was found" not in str(refusal):
            return False
        try:
            self.get("scheduling.k8s.io/v1/PriorityClass", name)
        except RefusedError:
            return False
        return True

    def _resource(self, prefix: str, kind: str) -> JsonObject | None:
        """The resource of a kind in a group and version, cached. A kind that is not known may be new."""
        if kind not in self._kinds.get(prefix, {}):
            found = self.request("GET", prefix)["resources"]
            self._kinds[prefix] = {resource["kind"]: resource for resource in found if "/" not in resource["name"]}
        return self._kinds[prefix].get(kind)


def _encode(body: object) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def _with_params(path: str, params: Mapping[str, object] | None) -> str:
    return f"{path}?{urlencode(params)}" if params else path
