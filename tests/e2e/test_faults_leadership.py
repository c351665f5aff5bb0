"""Replicas of a scheduler: which one works, and when another one takes over."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan
from tests.e2e.electing import ELECTING, LEASE_SECONDS, Lease, leader_and_follower, leads

from stowplan.testing import ControlPlane, Drop, FaultProxy, KubeApi, Rule, free_port, node, pod, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SLEEP_SECONDS = 60
PROBE_SECONDS = 15
"""How long kubeadm lets a probe wait."""

SLEEPY = '''
import time

from stowplan import Plugin


class Sleepy(Plugin):
    """Takes its time where a pod asks for that."""

    name = "Sleepy"
    scope = "cluster"

    def filter(self, state, pod, node):
        time.sleep(float(pod.labels.get("sleep", "0")))
'''


def test_the_next_replica_takes_over_when_the_leader_is_killed(
    kube_api: KubeApi, namespace: str, audit: Audit, lease: Lease, start_stowplan: StartStowplan
) -> None:
    kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(2))
    leader, follower = leader_and_follower(start_stowplan)
    with arriving(kube_api, namespace, 200, within=15, cpu="100m"):
        wait_until(lambda: audit.seen >= 20)
        leader.kill()
        killed = time.monotonic()
        time.sleep(0.5)  # for what was on its way to arrive
        bound = audit.seen
        wait_until(lambda: audit.seen > bound)
        assert time.monotonic() - killed <= LEASE_SECONDS + 2
    audit.wait_for_all(namespace, 200)
    assert leads(follower)
    assert lease["leaseTransitions"] == 1


def test_a_leader_that_cannot_renew_stops_binding_before_its_lease_ends(
    kube_api: KubeApi,
    namespace: str,
    audit: Audit,
    lease: Lease,
    start_stowplan: StartStowplan,
    start_fault_proxy: Callable[..., FaultProxy],
) -> None:
    proxy = start_fault_proxy()
    kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(2))
    leader = start_stowplan(config=ELECTING, name="cut-off", server=proxy.url)
    with arriving(kube_api, namespace, 200, within=15, cpu="100m"):
        wait_until(lambda: audit.seen >= 20)
        proxy.add(Rule(Drop(), path="/leases/"))
        assert leader.wait() == 1, "it is to be started again"
        assert "Leaderelection lost" in leader.log.read_text()
        bound = audit.seen
        renewed = datetime.fromisoformat(lease["renewTime"]).timestamp()
        assert audit.last_seen < renewed + LEASE_SECONDS
        start_stowplan(config=ELECTING, name="another")
        wait_until(lambda: audit.seen > bound)
    audit.wait_for_all(namespace, 200)


def test_a_plugin_that_takes_longer_than_the_lease_lasts(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    audit: Audit,
    lease: Lease,
    start_stowplan: StartStowplan,
    tmp_path: Path,
) -> None:
    """Neither is the lease lost, nor does the health probe fail: both are on threads of their own."""
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    kube_api.create(node("n", cpu="10"))
    port, tls = free_port(), control_plane.authority.server("stowplan")
    leader = start_stowplan(
        f"--plugin={tmp_path}/sleepy.py:Sleepy",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={tls.certificate}",
        f"--tls-private-key-file={tls.key}",
        config=ELECTING,
    )
    kube_api.create(pod("quick", namespace))
    audit.wait_for_all(namespace, 1)
    follower = start_stowplan(config=ELECTING, name="follower")
    kube_api.create(pod("slow", namespace, labels={"sleep": str(SLEEP_SECONDS)}))
    began, slowest, renewals = time.monotonic(), 0.0, set()
    with KubeApi(f"https://127.0.0.1:{port}", control_plane.tls(), timeout=SLEEP_SECONDS) as probe:
        while audit.seen < 2:
            asked = time.monotonic()
            assert all(probe.healthy(path) for path in ("/healthz", "/livez", "/readyz"))
            slowest = max(slowest, time.monotonic() - asked)
            renewals.add(lease["renewTime"])
            time.sleep(0.2)
    assert time.monotonic() - began > SLEEP_SECONDS - 1, "it did not sleep"
    assert len(renewals) > 5
    assert slowest < PROBE_SECONDS
    assert lease["leaseTransitions"] == 0
    kube_api.create(pod("after", namespace))
    audit.wait_for_all(namespace, 3)
    assert not leads(follower)
    assert leader.alive


def test_a_leader_that_ends_hands_its_lease_on(
    kube_api: KubeApi, namespace: str, audit: Audit, lease: Lease, start_stowplan: StartStowplan
) -> None:
    kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(2))
    leader, follower = leader_and_follower(start_stowplan)
    with arriving(kube_api, namespace, 100, within=5, cpu="100m"):
        wait_until(lambda: audit.seen >= 10)
        leader.stop()
        assert leader.returncode == 0
        ended = time.monotonic()
        wait_until(lambda: leads(follower))
        assert time.monotonic() - ended < LEASE_SECONDS - 1
    audit.wait_for_all(namespace, 100)
