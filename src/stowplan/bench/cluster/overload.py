"""Overload: a full cluster, many more pods than fit, and running pods that end one after the other.

Each pod that ends frees a place for one pending pod. Most pending pods are rejected again and again; the figures are
the CPU time per second, the time until a freed place is taken, and whether higher priorities come first.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import monotonic, sleep
from typing import Any, NamedTuple

import msgspec

from stowplan.bench.cluster.binding_watch import PODS, BindingWatch, ObservedBinding
from stowplan.bench.cluster.bulk import Request, send_all
from stowplan.bench.cluster.run import unschedulable_attempts
from stowplan.bench.cluster.schedulers import SCHEDULERS
from stowplan.bench.cluster.workload import KUBE_SCHEDULER, OURS
from stowplan.bench.result import encode, ratios_of
from stowplan.cluster.kubeconfig import load_connection
from stowplan.testing import ADMIN, ControlPlane, KubeApi, cpu_seconds, rss_mib, wait_until
from stowplan.testing.kube_scheduler import parse_samples

PODS_PER_NODE = 4
RUNNING_PRIORITY = 1_000_000
SETTLE_SECONDS = 5.0
"""Time after the first attempt of every pod, and after the last deletion."""

CONCURRENT_BINDINGS = 16
"""Bindings that may be confirmed in another order than they were decided in."""

_START_TIMEOUT_SECONDS = 900.0
_FLAGS = ("--disable-admission-plugins=Priority", "--delete-collection-workers=16")

Progress = Callable[[str], None]


class OverloadSize(NamedTuple):
    """The size of the overload."""

    nodes: int = 1000
    pods: int = 10_000
    templates: int = 50
    ending_per_second: int = 50
    seconds: int = 30


class OverloadFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one scheduler."""

    cpu_share: float
    """CPU seconds per second, while pods end."""
    bound: int
    freed: int
    p50_ms: float
    """From the deletion of a running pod to the binding of a pod on its node."""
    p99_ms: float
    max_ms: float
    inversions: int
    """Bindings of a pod that came before those of pending pods of a higher priority."""
    attempts: int
    """Attempts that found no node, while pods end."""
    rss_mib: float


class OverloadReport(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `--json`."""

    scenario: str
    size: OverloadSize
    figures: dict[str, OverloadFigures]

    @property
    def ratios(self) -> dict[str, float]:
        """Stowplan's figures divided by kube-scheduler's, if both were measured."""
        if not {OURS, KUBE_SCHEDULER} <= self.figures.keys():
            return {}
        peers = {KUBE_SCHEDULER: self.figures[KUBE_SCHEDULER]}
        return ratios_of(self.figures[OURS], peers, ("cpu_share", "p99_ms", "rss_mib"))[KUBE_SCHEDULER]

    def to_json(self) -> bytes:
        fields: dict[str, Any] = {"scenario": self.scenario, **self.size._asdict()}
        return encode(fields | {"schedulers": msgspec.to_builtins(self.figures), "ratios": self.ratios})


def measure_overload(size: OverloadSize, schedulers: Sequence[str], progress: Progress) -> OverloadReport:
    """Run each scheduler on a control plane of its own."""
    figures = {}
    for name in schedulers:
        progress(f"{name}: filling {size.nodes:,} nodes")
        with ControlPlane(throughput=True, flags=_FLAGS) as plane, plane.client(timeout=300.0) as api:
            connection = load_connection(str(plane.kubeconfig(ADMIN)))
            send_all(connection, node_requests(size))
            send_all(connection, running_requests(size))
            send_all(connection, pending_requests(size))
            figures[name] = _measure(plane, api, size, name, progress)
        progress(f"{name}: {figures[name].cpu_share:.3f} CPU, p99 {figures[name].p99_ms:,.0f} ms")
    return OverloadReport(scenario="overload", size=size, figures=figures)


def _measure(plane: ControlPlane, api: KubeApi, size: OverloadSize, name: str, progress: Progress) -> OverloadFigures:
    with SCHEDULERS[name](plane) as scheduler, plane.client(server=scheduler.url) as pages:
        pid = scheduler.process.pid
        scheduler.process.wait_ready(pages.healthy)

        def attempts() -> int:
            return unschedulable_attempts(parse_samples(str(pages.request("GET", "/metrics")["message"])))

        progress(f"{name}: waiting for the first attempt of {size.pods:,} pods")
        wait_until(lambda: attempts() >= size.pods, timeout=_START_TIMEOUT_SECONDS, every=1.0, what="attempts")
        sleep(SETTLE_SECONDS)
        before, cpu, since = attempts(), cpu_seconds(pid), monotonic()
        with BindingWatch(plane, api) as watch:
            freed = end_pods(api, size)
            sleep(SETTLE_SECONDS)
            took, used = monotonic() - since, cpu_seconds(pid) - cpu
            bindings = watch.bindings
        delays = sorted(delays_of(freed, bindings))
        return OverloadFigures(
            cpu_share=used / took,
            bound=len(bindings),
            freed=len(freed),
            p50_ms=median(delays) * 1000 if delays else 0.0,
            p99_ms=delays[len(delays) * 99 // 100] * 1000 if delays else 0.0,
            max_ms=delays[-1] * 1000 if delays else 0.0,
            inversions=inversions_of([binding.priority for binding in bindings]),
            attempts=attempts() - before,
            rss_mib=rss_mib(pid),
        )


def end_pods(api: KubeApi, size: OverloadSize) -> list[tuple[float, str]]:
    """Delete running pods at the rate; returns when, and the node of each."""
    freed, due = [], monotonic()
    for number in range(min(size.ending_per_second * size.seconds, size.nodes * PODS_PER_NODE)):
        due += 1 / size.ending_per_second
        sleep(max(due - monotonic(), 0))
        freed.append((monotonic(), _node_name(number % size.nodes)))
        api.delete("Pod", f"running-{number}")
    return freed


def delays_of(freed: Sequence[tuple[float, str]], bindings: Sequence[ObservedBinding]) -> Iterator[float]:
    """Seconds from each deletion on a node to the next binding there."""
    waiting: dict[str, deque[float]] = {}
    for at, node in freed:
        waiting.setdefault(node, deque()).append(at)
    for binding in bindings:
        if waiting.get(binding.node):
            yield max(binding.at - waiting[binding.node].popleft(), 0.0)


def inversions_of(priorities: Sequence[int]) -> int:
    """Bindings before bindings of a higher priority, apart from those that are sent at the same time.

    Pods of a higher priority are smaller, so they fit wherever the others fit.
    """
    found, later = 0, -1
    for at in range(len(priorities) - 1 - CONCURRENT_BINDINGS, -1, -1):
        later = max(later, priorities[at + CONCURRENT_BINDINGS])
        found += priorities[at] < later
    return found


# Objects
def node_requests(size: OverloadSize) -> Iterator[Request]:
    amounts = {"cpu": str(PODS_PER_NODE), "memory": "32Gi", "pods": "110"}
    for number in range(size.nodes):
        name = _node_name(number)
        meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        yield _post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status})


def running_requests(size: OverloadSize) -> Iterator[Request]:
    for number in range(size.nodes * PODS_PER_NODE):
        more = {"nodeName": _node_name(number % size.nodes), "priority": RUNNING_PRIORITY}
        yield _post(PODS, _pod(f"running-{number}", "running", 1000, more))


def pending_requests(size: OverloadSize) -> Iterator[Request]:
    """Pods of templates with different requests, each for most of a place; the template's number is the priority."""
    for number in range(size.pods):
        template = number % size.templates
        millicores = 1000 - 400 * template // size.templates
        yield _post(PODS, _pod(f"pending-{number}", f"template-{template}", millicores, {"priority": template}))


def _pod(name: str, app: str, millicores: int, spec: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": f"{millicores}m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def _post(path: str, body: dict[str, Any]) -> Request:
    return b"POST", path.encode(), json.dumps(body).encode()


def _node_name(number: int) -> str:
    return f"node-{number}"
