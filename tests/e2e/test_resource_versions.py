"""Claims on API servers that serve resource.k8s.io in an earlier version, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.e2e.conftest import StartStowplan
from tests.e2e.devices import DRIVER, user

from stowplan.testing import ControlPlane, KubeApi, node, wait_until
from stowplan.testing.binaries import release
from stowplan.testing.objects import JsonObject

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GROUP = "resource.k8s.io"
VERSIONS = {"v1.33": ("v1beta2", "v1beta1")}.get(release(), ("v1", "v1beta2", "v1beta1"))
"""The versions that the control plane knows."""
OTHERS = {f"{GROUP}/{version}": False for version in VERSIONS}
GATE = "--feature-gates=DynamicResourceAllocation=true"
"""Off by default in v1.33."""
NOT_SERVED = "the API server does not serve resource.k8s.io"


def resource(kind: str, name: str, spec: JsonObject, namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


def scheduled(api: KubeApi, name: str) -> JsonObject:
    conditions = api.get("Pod", name)["status"].get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def test_claims_of_v1beta1(start_control_plane: Callable[..., ControlPlane], start_stowplan: StartStowplan) -> None:
    """Requests and devices have another shape; the allocation is written in the version that the server has."""
    place = start_control_plane(runtime_config=OTHERS | {f"{GROUP}/v1beta1": True}, flags=[GATE])
    with place.client() as api:
        selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{number}", "basic": {"attributes": {"size": {"int": number}}}} for number in range(3)]
        request = {
            "name": "gpu",
            "deviceClassName": DRIVER,
            "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].size > 1'}}],
        }
        api.create_all(
            [
                node("a"),
                node("b"),
                resource("DeviceClass", DRIVER, {"selectors": selectors}),
                resource("ResourceSlice", "a", {"driver": DRIVER, "nodeName": "a", "pool": pool, "devices": devices}),
                resource("ResourceClaim", "p", {"devices": {"requests": [request]}}, "default"),
            ]
        )
        start_stowplan(control_plane=place)
        api.create(user("p", "default"))
        assert api.wait_for_pods_bound("default", 1) == {"p": "a"}
        (given,) = api.get(f"{GROUP}/v1beta1/ResourceClaim", "p")["status"]["allocation"]["devices"]["results"]
        assert (given["pool"], given["device"]) == ("a", "gpu-2")


@pytest.mark.since("v1.34")
def test_a_server_without_claims(
    start_control_plane: Callable[..., ControlPlane], start_stowplan: StartStowplan
) -> None:
    """Pods with claims get an event and a condition; others are scheduled."""
    place = start_control_plane(runtime_config=OTHERS)
    with place.client() as api:
        api.create(node("a"))
        start_stowplan(control_plane=place)
        api.create(user("p", "default"))
        wait_until(lambda: NOT_SERVED in scheduled(api, "p").get("message", ""))
        assert scheduled(api, "p")["reason"] == "Unschedulable"
        notes = [event.get("note", "") for event in api.list("events.k8s.io/v1/Event", "default")]
        assert any(NOT_SERVED in note for note in notes), notes
