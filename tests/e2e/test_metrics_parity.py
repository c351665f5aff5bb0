"""The same pods for kube-scheduler and for us, and what each has to tell about them afterwards.

Names, kinds, help texts, labels, their values and buckets have to be the same; we may tell more, not less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.conftest import StartStowplan

from stowplan.testing import (
    ADMIN,
    SCHEDULER,
    ControlPlane,
    KubeApi,
    KubeScheduler,
    NotInTimeError,
    free_port,
    node,
    pod,
    wait_until,
)

pytestmark = [pytest.mark.e2e, pytest.mark.since("v1.36")]

NOT_FOR_US = {
    "go_": "the runtime of another language",
    "workqueue_": "queues of controllers in Kubernetes' server library; the scheduler's own queue is told otherwise",
}

TOLD_BY_VALUE = ("scheduler_", "rest_client_requests_total", "leader_election_")
"""Metrics whose labels have values that dashboards know."""

BY_CHANCE = {
    ("scheduler_inflight_events", "event"): "what happened while a pod was in flight",
    ("rest_client_requests_total", "host"): "where the API server is",
}
"""Labels whose values say nothing about the scheduler."""

ELECTION = {"leaderElection": {"leaderElect": True}}


class Shape(NamedTuple):
    """All that a dashboard relies on in a metric."""

    kind: str
    labels: frozenset[str]
    buckets: tuple[str, ...]
    help_text: str


def shapes(text: str) -> dict[str, Shape]:
    found = {}
    for family in text_string_to_metric_families(text):
        names = {name for sample in family.samples for name in sample.labels} - {"le"}
        buckets = dict.fromkeys(sample.labels["le"] for sample in family.samples if "le" in sample.labels)
        found[family.name] = Shape(family.type, frozenset(names), tuple(buckets), family.documentation)
    return found


def values(text: str) -> dict[tuple[str, str], set[str]]:
    """By metric and label, the values that there are."""
    found: dict[tuple[str, str], set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples if family.name.startswith(TOLD_BY_VALUE) else ():
            for label, value in sample.labels.items():
                found.setdefault((family.name, label), set()).add(value)
    return found


def give_it_work(api: KubeApi, namespace: str) -> None:
    """Pods that fit, one that never will, one behind a gate, one that preempts, and a node that wakes some."""
    api.create_all([node("n1"), node("n2")])
    fillers = [pod(name, namespace, cpu="3", terminationGracePeriodSeconds=0) for name in ("fill1", "fill2")]
    gated = pod("gated", namespace, schedulingGates=[{"name": "example.com/wait"}])
    api.create_all([pod("small", namespace), gated, pod("big", namespace, cpu="100"), *fillers])
    api.wait_for_pods_bound(namespace, 3)
    api.create(pod("urgent", namespace, cpu="3", priorityClassName="system-node-critical"))
    wait_until(lambda: api.bound_pods(namespace).get("urgent"), what="the preemptor is bound")
    api.create(node("n3", cpu="1"))


@pytest.fixture
def clean(kube_api: KubeApi) -> Iterator[Callable[[str], None]]:
    def empty(namespace: str) -> None:
        for kind, where in (("Pod", namespace), ("Node", "")):
            for item in kube_api.list(kind, where):
                kube_api.delete(kind, item["metadata"]["name"], where, gracePeriodSeconds=0)
        wait_until(lambda: not kube_api.list("Pod", namespace), what="the pods are gone")

    return empty


@pytest.mark.slow
def test_we_tell_what_kube_scheduler_tells(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    clean: Callable[[str], None],
    start_kube_scheduler: Callable[..., KubeScheduler],
    start_stowplan: StartStowplan,
) -> None:
    theirs = start_kube_scheduler(config=ELECTION)
    give_it_work(kube_api, namespace)
    expected = wait_until(lambda: _when_woken(theirs.scrape()), what="kube-scheduler has heard of the node")
    theirs.stop()
    clean(namespace)

    port, kubeconfig = free_port(), control_plane.kubeconfig(SCHEDULER)
    serving = control_plane.authority.server("kube-scheduler")
    start_stowplan(
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        config=ELECTION,
    )
    with control_plane.client(ADMIN, server=f"https://127.0.0.1:{port}") as client:
        wait_until(client.healthy, what="stowplan is ready")
        give_it_work(kube_api, namespace)
        told = ""

        def all_told() -> bool:
            nonlocal told
            told = str(client.request("GET", "/metrics")["message"])
            return not _missing(shapes(expected), shapes(told)) and not _unsaid(expected, told)

        with suppress(NotInTimeError):
            wait_until(all_told, every=0.2)
    assert _missing(shapes(expected), shapes(told)) == {}
    assert _unsaid(expected, told) == {}


def _when_woken(text: str) -> str:
    """The text once a plugin was asked about the new node, which is the last thing that happens."""
    return text if "scheduler_queueing_hint_execution_duration_seconds" in text else ""


def _unsaid(expected: str, told: str) -> dict[tuple[str, str], set[str]]:
    """By metric and label, the values that are told of by one and not by the other."""
    ours = values(told)
    found = {label: theirs - ours.get(label, set()) for label, theirs in values(expected).items()}
    return {label: lost for label, lost in found.items() if lost and label not in BY_CHANCE}


def _missing(expected: dict[str, Shape], told: dict[str, Shape]) -> dict[str, tuple[Shape, Shape | None]]:
    """What is told otherwise, or not at all."""
    return {
        name: (shape, told.get(name))
        for name, shape in expected.items()
        if not name.startswith(tuple(NOT_FOR_US)) and _comparable(told.get(name), shape) != shape
    }


def _comparable(ours: Shape | None, theirs: Shape) -> Shape | None:
    """Ours, with their help text where they have none."""
    return ours if ours is None or theirs.help_text.strip() != "[ALPHA]" else ours._replace(help_text=theirs.help_text)
