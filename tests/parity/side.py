"""One of the two control planes, with what is on it."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Self

from tests.builders import Json
from tests.parity.outcome import Outcome, is_decided, is_gated, is_leaving, outcome_of
from tests.parity.pod_watch import PodWatch

from stowplan.api.kinds import KINDS
from stowplan.testing import KubeApi, RefusedError
from stowplan.testing.cleanup import clear, delete_namespace

PATIENCE = 30.0
"""Seconds until a scheduler has to have decided."""
EVENT_PATIENCE = 20.0
CONNECTIONS = 8

_WITH_STATUS = ("PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget")
"""Kinds whose status the server ignores when they are created."""
_OF_A_WORKLOAD = (
    "Pod",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Service",
    "apps/v1/ReplicaSet",
    "apps/v1/StatefulSet",
    "policy/v1/PodDisruptionBudget",
    "storage.k8s.io/v1/CSIStorageCapacity",
    "storage.k8s.io/v1/CSIDriver",
    "storage.k8s.io/v1/CSINode",
    "storage.k8s.io/v1/StorageClass",
    "Node",
)
_ALREADY_THERE = 409


class Side:
    """An API server with a scheduler. Written objects are remembered, so that they need not be read again."""

    def __init__(self, name: str, api: KubeApi) -> None:
        self.name = name
        self.api = api
        self.watch = PodWatch(api)
        self._objects: dict[str, dict[str, Json]] = {}
        self._standing: list[Json] = []
        self._namespaces: list[Json] = []
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        self._cleanup.enter_context(self.watch)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._cleanup.close()

    # What is not a pod
    def prepare(self, objects: list[Json]) -> None:
        """Put there what stays until the end."""
        for obj in objects:
            try:
                made = self.api.create(obj)
                self._standing.append(made)
            except RefusedError as problem:
                if problem.status != _ALREADY_THERE:
                    raise
                made = self.api.patch(_kind(obj), obj["metadata"]["name"], {"metadata": obj["metadata"]})
            if obj["kind"] == "Namespace":
                self._namespaces.append(made)

    def put_all(self, objects: list[Json]) -> None:
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            list(threads.map(self._put, objects))

    def _put(self, obj: Json) -> None:
        made = self.api.create(copy.deepcopy(obj))
        if obj["kind"] in _WITH_STATUS and "status" in obj:
            meta, patch = obj["metadata"], {"status": obj["status"]}
            made = self.api.patch(_kind(obj), meta["name"], patch, meta.get("namespace", ""), subresource="status")
        self._remember(made)

    def change(self, obj: Json, patch: Json, subresource: str = "") -> None:
        """Merge a patch into an object that was put."""
        meta = obj["metadata"]
        namespace = meta.get("namespace", "")
        self._remember(self.api.patch(_kind(obj), meta["name"], patch, namespace, subresource=subresource))

    def leave_all(self, objects: list[Json]) -> None:
        """Delete objects that stay because of their finalizers."""
        for obj in objects:
            meta = obj["metadata"]
            self._remember(self.api.delete(_kind(obj), meta["name"], meta["namespace"]))

    def _remember(self, obj: Json) -> None:
        obj["metadata"].pop("managedFields", None)
        name = f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
        self._objects.setdefault(obj["kind"], {})[name] = obj

    def clear(self) -> None:
        """Remove a workload."""
        for pod in self.watch.pods().values():
            self.delete(pod)
        for kind in _OF_A_WORKLOAD:
            clear(self.api, kind)
        self._objects.clear()

    def leave_nothing(self) -> None:
        """Remove also what was prepared."""
        self.clear()
        for obj in self._standing:
            if obj["kind"] == "Namespace":
                delete_namespace(self.api, obj["metadata"]["name"])
            else:
                self.api.delete(_kind(obj), obj["metadata"]["name"])

    # Pods
    def create(self, manifest: Json) -> Json:
        made = self.api.create(manifest)
        self.watch.saw(made)
        return made

    def start(self, pod: Json, at: str) -> None:
        """Do what a kubelet would."""
        self.change_pod(pod, {"status": {"phase": "Running", "startTime": at}}, subresource="status")

    def change_pod(self, pod: Json, patch: Json, subresource: str = "") -> Json:
        meta = pod["metadata"]
        made = self.api.patch("Pod", meta["name"], patch, meta["namespace"], subresource=subresource)
        self.watch.saw(made)
        return made

    def delete(self, pod: Json, *, gracefully: bool = False) -> None:
        """Delete a pod. Gracefully means that it stays for good, since there is no kubelet to end it."""
        meta = pod["metadata"]
        try:
            made = self.api.delete(
                "Pod", meta["name"], meta["namespace"], **({"gracePeriodSeconds": 30} if gracefully else {})
            )
        except RefusedError as problem:
            if problem.status != 404:
                raise
        else:
            if gracefully:
                self.watch.saw(made)
                return
        self.watch.removed(pod)

    def outcome(self, pod: Json, timeout: float = PATIENCE) -> Outcome:
        """Wait until the scheduler has decided about a pod, if it may, and return what."""
        uid = pod["metadata"]["uid"]

        def decided() -> bool:
            seen = self.watch.pod(uid)
            return seen is not None and is_decided(seen)

        if not is_gated(pod) and self.watch.wait(decided, timeout):
            self.watch.wait(lambda: self._is_placed(uid) or self.watch.complaints(uid), EVENT_PATIENCE)
        return self.current_outcome(pod)

    def current_outcome(self, pod: Json) -> Outcome:
        """The present outcome, without waiting."""
        uid = pod["metadata"]["uid"]
        return outcome_of(self.watch.pod(uid) or pod, self.watch.complaints(uid))

    def wait_placed(self, pod: Json, timeout: float) -> str:
        """The node of a pod once it has one, or nothing."""
        uid = pod["metadata"]["uid"]
        self.watch.wait(lambda: self._is_placed(uid), timeout)
        return str((self.watch.pod(uid) or pod)["spec"].get("nodeName", ""))

    def _is_placed(self, uid: str) -> bool:
        pod = self.watch.pod(uid)
        return pod is not None and bool(pod["spec"].get("nodeName"))

    def leaving(self) -> set[str]:
        """The pods that are being deleted."""
        return {name for name, pod in self.watch.pods().items() if is_leaving(pod)}

    def objects(self, kind: str) -> list[Json]:
        """Those that we put there."""
        return [obj for _, obj in sorted(self._objects.get(kind, {}).items())]

    def case(self) -> Json:
        """The cluster as a case for `stowplan evaluate`, without the pending pod."""
        pods = [pod for _, pod in sorted(self.watch.pods().items())]
        lists = {KINDS[kind].case_list: self.objects(kind) for kind in self._objects}
        return {
            "pods": [pod for pod in pods if pod["spec"].get("nodeName")],
            "nominatedPods": [
                pod for pod in pods if pod["status"].get("nominatedNodeName") and not pod["spec"].get("nodeName")
            ],
            "namespaces": self._namespaces,
            **{name: objects for name, objects in lists.items() if name},
        }


def _kind(obj: Json) -> str:
    return f"{obj['apiVersion']}/{obj['kind']}"
