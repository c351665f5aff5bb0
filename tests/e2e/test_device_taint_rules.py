"""Rules that taint devices, on a real API server with their gate on: kube-scheduler and ours give the same devices."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.conftest import StartStowplan
from tests.e2e.devices import CLAIM, DRIVER, SLICE, claim, device_class, device_slice, results, user
from tests.parity.outcome import condition_of

from stowplan.testing import ControlPlane, KubeApi, KubeScheduler, node, wait_until
from stowplan.testing.cleanup import clear
from stowplan.testing.objects import JsonObject

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.since("v1.36")]

GATE = "--feature-gates=DRADeviceTaintRules=true"
GROUP = "resource.k8s.io/v1beta2"
RULE = f"{GROUP}/DeviceTaintRule"
NAMESPACE = "default"
CLEARED = ("Pod", CLAIM, RULE, SLICE, "resource.k8s.io/v1/DeviceClass", "Node")
SETTLE_SECONDS = 0.3
TOLERATED = [{"key": "broken", "operator": "Exists"}]


def rule(name: str, effect: str = "NoSchedule", **selector: str) -> JsonObject:
    spec = {"deviceSelector": selector, "taint": {"key": "broken", "effect": effect}}
    return {"apiVersion": GROUP, "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec}


def given(api: KubeApi, name: str) -> list[str] | str:
    """The devices of the claim of a pod that is bound, or why it is not."""

    def look() -> list[str] | str | None:
        pod = api.get("Pod", name, NAMESPACE)
        if pod["spec"].get("nodeName"):
            return results(api.get(CLAIM, name, NAMESPACE))
        condition = condition_of(pod)
        return str(condition["message"]) if condition else None

    return wait_until(look, every=0.02) or ""


def _refused(api: KubeApi, name: str, told: list[str] | str) -> str:
    """Why a pod is not bound. Nobody tells when a scheduler has heard of a rule: one that is bound goes again."""
    if isinstance(told, str):
        return told
    api.delete("Pod", name, NAMESPACE)
    api.patch(CLAIM, name, {"metadata": {"finalizers": None}}, NAMESPACE)
    api.delete(CLAIM, name, NAMESPACE)
    return ""


def outcomes(api: KubeApi, start: Callable[[], object]) -> list[list[str] | str]:
    """What becomes of pods while rules come, change and go. Those that are there at first are known when it starts."""

    def asking(name: str, **exactly: Any) -> list[str] | str:
        api.create_all([claim(name, NAMESPACE, **exactly), user(name, NAMESPACE)])
        return given(api, name)

    api.create_all([rule("one", device="gpu-0"), rule("elsewhere", pool="b", driver=DRIVER)])
    api.create_all([node("a"), device_class(), device_slice("a", 5)])
    start()
    found = [asking("plain"), asking("tolerant", tolerations=TOLERATED)]
    api.create(rule("all", "NoExecute", driver=DRIVER, pool="a"))
    time.sleep(SETTLE_SECONDS)
    found.append(wait_until(lambda: _refused(api, "late", asking("late", count=2))))
    api.patch(RULE, "all", {"spec": {"taint": {"effect": "None"}}})
    wait_until(lambda: api.get("Pod", "late", NAMESPACE)["spec"].get("nodeName"))
    found += [given(api, "late"), asking("last")]
    for kind in CLEARED:
        clear(api, kind)
    return found


def test_the_same_devices_with_rules(
    start_control_plane: Callable[..., ControlPlane],
    start_kube_scheduler: Callable[..., KubeScheduler],
    start_stowplan: StartStowplan,
) -> None:
    place = start_control_plane(flags=[GATE], runtime_config={GROUP: True})
    with place.client() as api:
        started: list[KubeScheduler] = []
        expected = outcomes(api, lambda: started.append(start_kube_scheduler(place, flags=[GATE])))
        started[0].stop()
        found = outcomes(api, lambda: start_stowplan(GATE, control_plane=place))
    assert found == expected
    plain, tolerant, tainted, late, last = found
    assert (plain, tolerant, late, last) == (["a/gpu-1"], ["a/gpu-0"], ["a/gpu-2", "a/gpu-3"], ["a/gpu-4"])
    assert "cannot allocate all claims" in tainted
