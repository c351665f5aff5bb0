"""Executes the operations of a workload on a control plane.

Upstream: test/integration/scheduler_perf/executor.go
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from time import monotonic
from typing import Any

from stowplan.bench.cluster.bulk import Request, send_all, send_chains
from stowplan.bench.scheduler_perf.bound_pods import BoundPods, Labels, has_labels
from stowplan.bench.scheduler_perf.object_template import ObjectTemplate
from stowplan.bench.scheduler_perf.objects import PodCreation, node_requests, pods_path, post, slice_requests
from stowplan.bench.scheduler_perf.suite import Operation, PerfWorkload, duration_seconds
from stowplan.bench.scheduler_perf.throughput import ThroughputCollector
from stowplan.cluster.connection import Connection
from stowplan.errors import InputError
from stowplan.testing import KubeApi, NotInTimeError, RefusedError

POLL_SECONDS = 1.0
WAIT_SECONDS = 600.0
"""The suite's time limit for pods to be scheduled or attempted."""

CREATORS = 30
"""Pods that are created at the same time."""

Measure = Callable[[bool], None]
"""Called with True when a measurement starts and with False when it ends."""


class WorkloadRun:
    """Runs the operations one after the other. `close` ends what runs in the background."""

    def __init__(
        self, workload: PerfWorkload, api: KubeApi, connection: Connection, bound: BoundPods, measure: Measure
    ) -> None:
        self.collectors: list[ThroughputCollector] = []
        self._workload = workload
        self._api = api
        self._connection = connection
        self._bound = bound
        self._measure = measure
        self._collector: ThroughputCollector | None = None
        self._awaited: dict[str, int] = {}
        self._namespaces: set[str] = set()
        self._nodes = 0
        self._closing = threading.Event()
        self._background: list[threading.Thread] = []

    def run(self) -> None:
        for number, operation in enumerate(self._workload.operations):
            opcode = operation["opcode"]
            run = getattr(self, f"_{_snake_case(opcode)}", None)
            if run is None:
                raise InputError(f"{self._workload.name}: unknown operation {opcode!r}")
            run(operation, number)

    def close(self) -> None:
        self._closing.set()
        for thread in self._background:
            thread.join()

    # Objects
    def _create_nodes(self, operation: Operation, number: int) -> None:
        template = self._template(operation.get("nodeTemplatePath"))
        self._send(node_requests(operation, template, self._nodes, number))
        self._nodes += operation["count"]

    def _create_namespaces(self, operation: Operation, number: int) -> None:
        template = self._template(operation.get("namespaceTemplatePath"))
        for index in range(operation["count"]):
            name = f"{operation['prefix']}-{index}"
            self._create_namespace(name, template.object() if template else {})

    def _create_namespace(self, name: str, base: Mapping[str, Any]) -> None:
        if name in self._namespaces:
            return
        meta = dict(base.get("metadata") or {})
        meta.pop("generateName", None)
        with suppress(RefusedError):
            self._api.create({**base, "apiVersion": "v1", "kind": "Namespace", "metadata": meta | {"name": name}})
        self._namespaces.add(name)
        self._awaited.setdefault(name, 0)

    def _create_any(self, operation: Operation, number: int) -> None:
        count = operation.get("count", 1)
        template = self._required_template(operation["templatePath"])
        self._send(post(self._collection(operation, item), item) for item in _objects(template, count))

    def _create_resource_driver(self, operation: Operation, number: int) -> None:
        names = [node["metadata"]["name"] for node in self._api.list("Node")]
        chosen = [name for name in names if fnmatchcase(name, operation["nodes"])]
        self._send(slice_requests(operation["driverName"], chosen, operation["maxClaimsPerNode"]))

    def _alloc_resource_claims(self, operation: Operation, number: int) -> None:
        """Allocates nothing: a workload with claims to allocate is not run."""

    def _update_any(self, operation: Operation, number: int) -> None:
        """Updates the object, or its subresources, and then its status, at a rate."""
        template, rate = self._required_template(operation["templatePath"]), operation.get("updatePerSecond", 0)
        subresource = "/".join(operation.get("subresources", ()))
        due = monotonic()
        for item in _objects(template, operation.get("count", 1)):
            if rate:
                due += 1 / rate
                if self._closing.wait(max(due - monotonic(), 0)):
                    return
            item["metadata"].setdefault("namespace", operation.get("namespace", ""))
            self._api.replace(item, subresource)
            self._api.replace(item, "status")

    def _churn(self, operation: Operation, number: int) -> None:
        """Creates objects again and again, in the background; in mode `recreate` deletes them in between."""
        operation = {"namespace": f"namespace-{number}", **operation}
        self._create_namespace(operation["namespace"], {})
        templates = [self._required_template(path).object() for path in operation["templatePaths"]]
        recreate, most = operation["mode"] == "recreate", operation.get("number", 0)
        interval = operation.get("intervalMilliseconds", 500) / 1000
        names: list[list[str]] = [[""] * most if recreate else [] for _ in templates]

        def run() -> None:
            cycle = 0
            while not self._closing.wait(interval) and (recreate or not most or cycle < most):
                for item, known in zip(templates, names, strict=True):
                    path = self._collection(operation, item)
                    at = cycle % most if recreate else 0
                    with suppress(RefusedError):
                        if recreate and known[at]:
                            self._api.request("DELETE", f"{path}/{known[at]}")
                            known[at] = ""
                        else:
                            name = self._api.request("POST", path, item)["metadata"]["name"]
                            if recreate:
                                known[at] = name
                cycle += 1

        self._start(run)

    def _delete_pods(self, operation: Operation, number: int) -> None:
        path, rate = pods_path(operation["namespace"]), operation.get("deletePodsPerSecond", 0)
        selector = ",".join(f"{key}={value}" for key, value in operation.get("labelSelector", {}).items())
        params = {"labelSelector": selector} if selector else {}
        names = [pod["metadata"]["name"] for pod in self._api.request("GET", path, params=params)["items"]]

        def run() -> None:
            if not rate:
                self._api.request("DELETE", path, {}, params=params)
                return
            due = monotonic()
            for name in names:
                due += 1 / rate
                if self._closing.wait(max(due - monotonic(), 0)):
                    return
                with suppress(RefusedError):
                    self._api.request("DELETE", f"{path}/{name}", {})

        if operation.get("skipWaitToCompletion"):
            self._start(run)
        else:
            run()

    # Pods
    def _create_pods(self, operation: Operation, number: int) -> None:
        namespace, count = operation.get("namespace", f"namespace-{number}"), operation["count"]
        self._create_namespace(namespace, {})
        series = PodCreation(
            namespace,
            self._template(operation.get("podTemplatePath", self._workload.pod_template)),
            self._template(operation.get("persistentVolumeTemplatePath")),
            self._template(operation.get("persistentVolumeClaimTemplatePath")),
        )
        chains = series.chains(count)
        if operation.get("collectMetrics"):
            self._collect([namespace], {})
        if operation.get("steadyState"):
            self._create_steadily(chains, namespace, duration_seconds(operation["duration"]))
        else:
            self._send_chains(chains)
            if operation.get("skipWaitToCompletion"):
                self._awaited[namespace] = self._awaited.get(namespace, 0) + count
            else:
                self._await_scheduled(namespace, {}, count)
        if operation.get("collectMetrics"):
            self._stop_collecting_metrics(operation, number)

    def _create_steadily(self, chains: list[tuple[Request, ...]], namespace: str, duration: float) -> None:
        """Create the pods, delete them when all are bound, and so on."""
        deadline = monotonic() + duration
        start = self._bound.bindings((namespace,), {})[1]
        while monotonic() < deadline:
            self._send_chains(chains)
            seen, position = 0, start

            def all_bound() -> bool:
                nonlocal seen, position
                new, position = self._bound.bindings((namespace,), {}, position)
                seen += new
                return seen >= len(chains)

            if not self._bound.wait_for(all_bound, deadline):
                break
            start = position
            self._api.request("DELETE", pods_path(namespace), {"gracePeriodSeconds": 0})

    # Waiting
    def _barrier(self, operation: Operation, number: int) -> None:
        namespaces = operation.get("namespaces") or list(self._awaited)
        selector = operation.get("labelSelector", {})
        attempted = operation.get("stageRequirement") == "Attempted"
        for namespace in namespaces:
            wait = self._await_attempted if attempted else self._await_scheduled
            wait(namespace, selector, self._awaited[namespace])
        if not attempted:
            for namespace in namespaces:
                del self._awaited[namespace]

    def _sleep(self, operation: Operation, number: int) -> None:
        self._closing.wait(duration_seconds(operation["duration"]))

    def _await_scheduled(self, namespace: str, selector: Labels, count: int) -> None:
        self._poll(lambda: self._bound.count(namespace, selector), count, f"pods bound in {namespace}")

    def _await_attempted(self, namespace: str, selector: Labels, count: int) -> None:
        def attempted() -> int:
            pods = self._api.request("GET", pods_path(namespace))["items"]
            return sum(_attempted(pod) and has_labels(pod["metadata"].get("labels", {}), selector) for pod in pods)

        self._poll(attempted, count, f"pods attempted in {namespace}")

    def _poll(self, current: Callable[[], int], wanted: int, what: str) -> None:
        deadline = monotonic() + WAIT_SECONDS
        while (found := current()) < wanted:
            if monotonic() > deadline:
                raise NotInTimeError(f"{self._workload.name}: {found:,} of {wanted:,} {what} in {WAIT_SECONDS:g} s")
            self._closing.wait(POLL_SECONDS)

    # Measurements
    def _start_collecting_metrics(self, operation: Operation, number: int) -> None:
        self._collect(operation["namespaces"], operation.get("labelSelector", {}))

    def _stop_collecting_metrics(self, operation: Operation, number: int) -> None:
        if self._collector is None:
            raise InputError(f"{self._workload.name}: stopCollectingMetrics without startCollectingMetrics")
        self._collector.stop()
        self._measure(False)
        self.collectors.append(self._collector)
        self._collector = None

    def _collect(self, namespaces: Iterable[str], selector: Labels) -> None:
        self._measure(True)
        self._collector = ThroughputCollector(self._bound, list(namespaces), selector)

    # Requests
    def _send(self, requests: Iterable[Request]) -> None:
        send_all(self._connection, requests)

    def _send_chains(self, chains: Iterable[Iterable[Request]]) -> None:
        asyncio.run(send_chains(self._connection, chains, CREATORS))

    def _collection(self, operation: Operation, item: Mapping[str, Any]) -> str:
        """The path of the object's kind, in the namespace of the operation if the kind has namespaces."""
        namespace = operation.get("namespace", "")
        if namespace:
            self._create_namespace(namespace, {})
        return self._api.path(f"{item['apiVersion']}/{item['kind']}", namespace=namespace)

    def _template(self, path: str | None) -> ObjectTemplate | None:
        return self._required_template(path) if path else None

    def _required_template(self, path: str) -> ObjectTemplate:
        return ObjectTemplate(self._workload.path(path))

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name="operation", daemon=True)
        self._background.append(thread)
        thread.start()


def _objects(template: ObjectTemplate, count: int) -> Iterable[dict[str, Any]]:
    return (template.object(index, count) for index in range(count))


def _attempted(pod: Mapping[str, Any]) -> bool:
    """Whether the pod is bound or has the condition PodScheduled."""
    if pod["spec"].get("nodeName"):
        return True
    return any(condition["type"] == "PodScheduled" for condition in pod["status"].get("conditions", ()))


def _snake_case(opcode: str) -> str:
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", opcode)
