"""Pods that are made to be expensive: what an innocent pod beside them waits, compared with kube-scheduler.

The sizes are those at which a test takes seconds. Larger ones: STOWPLAN_HOSTILE_NODES=860 STOWPLAN_HOSTILE_SCALE=1
STOWPLAN_HOSTILE_CHURN=6240 with `--timeout=0 --log-cli-level=INFO`, which also logs the figures.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from tests.e2e.conftest import StartStowplan
from tests.e2e.hostile_cluster import churned_node, clear_tenant, create_cluster
from tests.e2e.hostile_pods import BUILDERS, repelling

from stowplan.testing import KubeApi, KubeScheduler, Process, cpu_seconds, peak_rss_mib, pod, rss_mib, wait_until
from stowplan.testing.cleanup import delete_namespace

pytestmark = pytest.mark.e2e

log = logging.getLogger(__name__)

NODES = int(os.environ.get("STOWPLAN_HOSTILE_NODES", "60"))
SCALE = float(os.environ.get("STOWPLAN_HOSTILE_SCALE", "0.25"))
"""Size of the hostile pods; 1 is the size at which they are as large as an API server accepts, about."""
ROUNDS = 4
NOISE_SECONDS = 0.5
"""Added to the bar: what a busy machine with two cores adds to the delay of a pod, in either scheduler."""
KEPT_MIB = 40
"""Memory that may stay after hostile pods are gone: fragments, and buffers of the connection."""
SIGTERM_SECONDS = 5.0
CHURNED_NODES = int(os.environ.get("STOWPLAN_HOSTILE_CHURN", "600"))
CHURN_ALIVE = 20


class Figures(NamedTuple):
    delay: float
    """The longest time from the creation of an innocent pod until it was bound."""
    before: float
    peak: float
    after: float
    """MiB: before hostile pods came, at most, and after they were deleted."""


@pytest.fixture
def hostile_namespace(kube_api: KubeApi) -> Iterator[str]:
    name = "hostile"
    kube_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    delete_namespace(kube_api, name)


@pytest.fixture
def cluster(kube_api: KubeApi) -> KubeApi:
    create_cluster(kube_api, NODES)
    return kube_api


def innocent_delay(api: KubeApi, namespace: str, name: str) -> float:
    """The time that a pod takes from its creation until it is bound."""
    api.create(pod(name, namespace, cpu="1m", memory="1Mi"))
    began = time.monotonic()
    wait_until(lambda: api.get("Pod", name, namespace)["spec"].get("nodeName"), timeout=600, every=0.01)
    return time.monotonic() - began


def measure(api: KubeApi, process: Process, kind: str, namespace: str, hostile: str) -> Figures:
    """Create hostile pods, after each an innocent one."""
    build, size = BUILDERS[kind]
    innocent_delay(api, namespace, "first")
    if kind == "repelled preemptor":
        for zone in "ab":
            api.create(repelling(hostile, zone))
    before = rss_mib(process.pid)
    delays = []
    for number in range(ROUNDS):
        for each in build(f"h-{number}", hostile, int(SCALE * size) or number):
            api.create(each)
        delays.append(innocent_delay(api, namespace, f"innocent-{number}"))
    peak = peak_rss_mib(process.pid)
    clear_tenant(api, hostile)
    innocent_delay(api, namespace, "last")
    time.sleep(1.0)
    after = rss_mib(process.pid)
    clear_tenant(api, namespace)
    return Figures(max(delays), before, peak, after)


KINDS = [kind for kind in BUILDERS if kind != "annotations"]


@pytest.mark.parametrize("kind", KINDS)
def test_innocent_pods_are_not_held_up(
    cluster: KubeApi,
    namespace: str,
    hostile_namespace: str,
    start_stowplan: StartStowplan,
    start_kube_scheduler: Callable[..., KubeScheduler],
    kind: str,
) -> None:
    stowplan = start_stowplan()
    ours = measure(cluster, stowplan, kind, namespace, hostile_namespace)
    stowplan.stop()
    kube_scheduler = start_kube_scheduler()
    theirs = measure(cluster, kube_scheduler.process, kind, namespace, hostile_namespace)
    log.info("%s: ours %s, kube-scheduler's %s", kind, ours, theirs)
    assert ours.delay <= 2 * theirs.delay + NOISE_SECONDS
    assert ours.after <= ours.before + KEPT_MIB


def test_sigterm_is_honoured_beside_hostile_pods(
    cluster: KubeApi, namespace: str, hostile_namespace: str, start_stowplan: StartStowplan
) -> None:
    stowplan = start_stowplan()
    innocent_delay(cluster, namespace, "first")
    for number, (build, size) in enumerate(BUILDERS.values()):
        for each in build(f"h-{number}", hostile_namespace, int(SCALE * size) or number):
            cluster.create(each)
    began = time.monotonic()
    stowplan.stop(grace=60.0)
    log.info("ended after %.2f s", time.monotonic() - began)
    assert stowplan.returncode == 0
    assert time.monotonic() - began <= SIGTERM_SECONDS


def test_nodes_that_come_and_go_leave_nothing_behind(
    cluster: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    """Each node has labels, taints and resources of its own; at most 20 exist."""
    stowplan = start_stowplan()
    innocent_delay(cluster, namespace, "first")
    used, memory = [cpu_seconds(stowplan.pid)], []
    for part in range(3):
        for number in range(part * CHURNED_NODES // 3, (part + 1) * CHURNED_NODES // 3, CHURN_ALIVE):
            numbers = range(number, number + CHURN_ALIVE)
            cluster.create_all(churned_node(each) for each in numbers)
            for each in numbers:
                cluster.delete("Node", f"churned-{each}", "")
        innocent_delay(cluster, namespace, f"after-{part}")
        used.append(cpu_seconds(stowplan.pid))
        memory.append(rss_mib(stowplan.pid))
    log.info("CPU seconds %s, MiB %s", used, memory)
    assert memory[2] <= memory[0] + KEPT_MIB / 4
    assert used[3] - used[2] <= 1.5 * (used[1] - used[0]) + NOISE_SECONDS
