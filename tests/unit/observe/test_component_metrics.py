import os
import time

import pytest

from stowplan.observe.component_metrics import add_component_metrics, process_start_time
from stowplan.observe.registry import MetricRegistry


def exposed(leads: bool | None = True, **options: object) -> str:
    registry = MetricRegistry(**options)  # type: ignore[arg-type]
    add_component_metrics(registry, {("AllAlpha", "ALPHA"): False, ("Ready", ""): True}, lambda: leads)
    return registry.expose().decode()


def test_build_and_version() -> None:
    text = exposed()
    assert 'kubernetes_build_info{build_date="",compiler="cpython"' in text
    assert 'version_info{binary="1.36.4",component="kube",emulation="1.36",min_compat="1.35"} 1\n' in text


def test_features_by_stage() -> None:
    text = exposed()
    assert 'kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0\n' in text
    assert 'kubernetes_feature_enabled{name="Ready",stage=""} 1\n' in text


@pytest.mark.parametrize(("leads", "value"), [(True, "1"), (False, "0")])
def test_who_leads(leads: bool, value: str) -> None:
    assert f'leader_election_master_status{{name="kube-scheduler"}} {value}\n' in exposed(leads)


def test_nobody_leads_without_an_election() -> None:
    assert "leader_election_master_status" not in exposed(None)


def test_metrics_about_metrics() -> None:
    text = exposed(disabled=("x", "y"))
    assert "disabled_metrics_total 2\n" in text
    assert 'registered_metrics_total{deprecated_version="",stability_level="BETA"} 7\n' in text


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="needs /proc")
def test_the_process() -> None:
    text = exposed()
    for name in ("resident_memory_bytes", "open_fds", "network_receive_bytes_total", "virtual_memory_max_bytes"):
        assert f"\nprocess_{name} " in text
    assert process_start_time() == pytest.approx(time.time(), abs=3600)


def test_idle_ones_are_there_and_zero() -> None:
    text = exposed()
    assert "apiserver_audit_event_total 0\n" in text
    assert 'apiserver_client_certificate_expiration_seconds_bucket{le="1800"} 0\n' in text
