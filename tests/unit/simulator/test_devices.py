"""Devices in simulations: claims and templates become allocations, and what makes no sense is told on the pod alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.runs import Run
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan import api
from stowplan.simulator.report.report import devices_of

DRIVER = "gpu.example.com"
CLASS = make("DeviceClass", "gpu", spec={"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]})


def gpus(host: str, count: int, name: str = "", **each: Any) -> Any:
    spec = {
        "driver": DRIVER,
        "nodeName": host,
        "pool": {"name": host, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}", **each} for number in range(count)],
    }
    return make("ResourceSlice", name or f"{host}-gpus", spec=spec)


def asking(**exactly: Any) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **exactly}}]}}


def selecting(expression: str) -> dict[str, Any]:
    return asking(selectors=[{"cel": {"expression": expression}}])


def told(run: Run) -> dict[str, Any]:
    return {each.pod.partition("/")[2]: each for each in run.report().pods}


def test_every_pod_gets_a_claim_and_a_device_of_its_own() -> None:
    template = make("ResourceClaimTemplate", "gpu", spec={"spec": asking()})
    claims = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    pods = [pod(name, resourceClaims=claims) for name in "pqr"]
    run = Run(CLASS, node("a"), node("b"), gpus("a", 1), gpus("b", 1), template, *pods)
    reports = told(run)
    assert sorted(each.devices for each in reports.values()) == [(), ("a/gpu-0",), ("b/gpu-0",)]
    (waiting,) = (each for each in reports.values() if not each.devices)
    assert "cannot allocate all claims" in waiting.message
    world = run.simulation.api_server
    assert len(list(world.all(api.ResourceClaim))) == 3
    placed = next(each for each in world.all(api.Pod) if each.spec.node_name)
    world.delete(placed)
    run.simulation.run()
    assert len(devices_of(world)) == 2, "the device of a pod that is gone goes to the one that waited"


def test_pods_share_a_claim() -> None:
    shared = [{"name": "gpu", "resourceClaimName": "shared"}]
    claim = make("ResourceClaim", "shared", spec=asking())
    run = Run(
        CLASS,
        node("a"),
        node("b"),
        gpus("a", 1),
        claim,
        pod("p", resourceClaims=shared),
        pod("q", resourceClaims=shared),
    )
    assert {each.node for each in told(run).values()} == {"a"}
    assert {each.devices for each in told(run).values()} == {("a/gpu-0",)}


NONSENSE: dict[str, tuple[dict[str, Any], str]] = {
    "does not compile": (selecting("device.no-such.thing("), "CEL compile error"),
    "is no bool": (selecting("device.driver"), "must evaluate to bool"),
    "fails": (selecting(f'device.attributes["{DRIVER}"].missing == 1'), "no such key: missing"),
    "costs too much": (
        selecting("[1,2,3,4,5,6,7,8,9,10].all(a, " * 7 + "a > 0" + ")" * 7),
        "cost",
    ),
    "of a class that nobody has": (asking(deviceClassName="other"), "device class other does not exist"),
    "a million": (asking(count=1_000_000), "claim default/nonsense"),
}


@pytest.mark.parametrize(("spec", "reason"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_told_on_the_pod_and_keeps_nobody_else(spec: dict[str, Any], reason: str) -> None:
    claims = [make("ResourceClaim", "nonsense", spec=spec), make("ResourceClaim", "sound", spec=asking(count=0))]
    pods = [pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}]) for name in ("nonsense", "sound")]
    reports = told(Run(CLASS, node("a"), gpus("a", 2), *claims, *pods, pod("plain")))
    assert reports["sound"].devices == ("a/gpu-0",), "a count of 0 means one"
    assert (reports["plain"].node, reports["nonsense"].node) == ("a", "")
    assert reason in reports["nonsense"].message


def test_devices_of_the_same_name() -> None:
    """Node a has a pool that makes no sense, node b is fine."""
    twice = gpus("a", 1, "twice")
    claims = [make("ResourceClaim", name, spec=asking()) for name in "pq"]
    pods = [pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}]) for name in "pq"]
    spec = {"pool": {"name": "a", "generation": 1, "resourceSliceCount": 2}}
    items = [
        make("ResourceSlice", name, spec={**api_spec(each), **spec}) for name, each in (("x", twice), ("y", twice))
    ]
    reports = told(Run(CLASS, node("a"), node("b"), *items, gpus("b", 1), *claims, *pods))
    assert sorted(each.devices for each in reports.values()) == [(), ("b/gpu-0",)]
    (waiting,) = (each for each in reports.values() if not each.devices)
    assert "invalid resource pools were encountered" in waiting.message


def api_spec(item: api.ResourceSlice) -> dict[str, Any]:
    return {"driver": item.spec.driver, "nodeName": item.spec.node_name, "devices": [{"name": "gpu-0"}]}
