"""Leader election on a real API server, under exactly the rights that kube-scheduler has."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.e2e.electing import ELECTING

from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.leader_election import ElectorThread
from stowplan.config import Duration
from stowplan.config.types import LeaderElection
from stowplan.testing import SCHEDULER, ControlPlane, FaultProxy, KubeApi, KubeScheduler, Reply, Rule, wait_until

pytestmark = pytest.mark.e2e

LEASE = "coordination.k8s.io/v1/Lease"
QUICK = LeaderElection(
    lease_duration=Duration.of_seconds(6),
    renew_deadline=Duration.of_seconds(5),
    retry_period=Duration.parse("300ms"),
)


@pytest.fixture
def stand(control_plane: ControlPlane, kube_api: KubeApi) -> Iterator[Callable[..., ElectorThread]]:
    """A function that lets a candidate stand; all are stopped in the end, and the lease is removed."""
    standing: list[ElectorThread] = []

    def start(identity: str, server: str = "") -> ElectorThread:
        connection = load_connection(str(control_plane.kubeconfig(SCHEDULER, server=server)), env={})
        elector = ElectorThread(connection, QUICK, identity=identity, on_started=lambda: None, on_stopped=lambda: None)
        standing.append(elector)
        elector.start()
        return elector

    yield start
    for elector in standing:
        elector.stop()
    kube_api.delete(LEASE, "kube-scheduler", "kube-system")


def _spec(kube_api: KubeApi) -> dict[str, Any]:
    spec: dict[str, Any] = kube_api.get(LEASE, "kube-scheduler", "kube-system")["spec"]
    return spec


def _events(kube_api: KubeApi) -> list[dict[str, Any]]:
    return kube_api.list("Event", "kube-system", fieldSelector="reason=LeaderElection")


def test_acquire_renew_and_hand_on(kube_api: KubeApi, stand: Callable[..., ElectorThread]) -> None:
    first = stand("first")
    wait_until(first.is_leader)
    acquired = _spec(kube_api)
    assert acquired["holderIdentity"] == "first"
    assert (acquired["leaseDurationSeconds"], acquired["leaseTransitions"]) == (6, 0)
    second = stand("second")
    time.sleep(QUICK.lease_duration.seconds + 1)  # this thread is busy, the elector's is not
    assert first.is_leader()
    assert not second.is_leader()
    renewed = _spec(kube_api)
    assert renewed["acquireTime"] == acquired["acquireTime"]
    assert renewed["renewTime"] > acquired["renewTime"]
    first.stop()
    wait_until(second.is_leader)
    taken = _spec(kube_api)
    assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("second", 1)
    expected = {"first became leader", "first stopped leading", "second became leader"}
    wait_until(lambda: {event["message"] for event in _events(kube_api)} >= expected, what="the events")
    about = _events(kube_api)[0]["involvedObject"]
    assert (about["kind"], about["name"]) == ("Lease", "kube-scheduler")


def test_a_leader_that_cannot_renew_stops_before_another_takes_over(
    kube_api: KubeApi, stand: Callable[..., ElectorThread], start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    proxy = start_fault_proxy()
    cut_off = stand("cut-off", proxy.url)
    wait_until(cut_off.is_leader)
    other = stand("other")
    proxy.add(Rule(Reply(500)))
    failed = time.monotonic()
    leads_until = 0.0
    while not other.is_leader():
        asked = time.monotonic()
        if cut_off.is_leader():
            leads_until = asked
        time.sleep(0.01)
    assert not cut_off.is_leader()
    assert 0 < leads_until - failed <= QUICK.renew_deadline.seconds
    assert _spec(kube_api)["holderIdentity"] == "other"


def test_it_takes_turns_with_kube_scheduler(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    stand: Callable[..., ElectorThread],
    start_kube_scheduler: Callable[..., KubeScheduler],
) -> None:
    ours = stand("ours")
    wait_until(ours.is_leader)
    theirs = start_kube_scheduler(config=ELECTING)
    time.sleep(QUICK.lease_duration.seconds + 1)
    assert ours.is_leader()
    ours.stop()
    wait_until(lambda: _spec(kube_api)["holderIdentity"] not in ("", "ours"))
    back = stand("back")
    time.sleep(1)
    assert not back.is_leader()
    theirs.stop()
    wait_until(back.is_leader)
    assert _spec(kube_api)["leaseTransitions"] == 2
