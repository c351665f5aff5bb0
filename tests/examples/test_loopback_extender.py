"""An extender on loopback, called by the scheduler of a static pod: of v1.36 and of v1.16."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.extending import wait_for_failure
from tests.examples.conftest import Start
from tests.examples.static_pods import ExampleExtender, StaticPod, folder_of

from stowplan.testing import ControlPlane, KubeApi, node, pod, wait_until

FOLDER = Path(__file__).parents[2] / "examples" / "01-loopback-extender"
HERE = "http://127.0.0.1:8080/"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.parametrize("release", ["v1.16", "v1.36"])
def test_filter_and_priority(
    release: str, control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path, start: Start
) -> None:
    leaving = {"example.com/leaving": "soon", "example.com/stars": "10"}
    kube_api.create_all([node("old", labels=leaving), node("plain"), node("grand", labels={"example.com/stars": "9"})])
    extender = ExampleExtender(
        tmp_path, f"--plugin={FOLDER}/plugin.py:Landlord", "--prioritize-verb=priority", "--log-requests"
    )
    start(extender)
    scheduler = StaticPod(FOLDER / folder_of(release), tmp_path / "etc", control_plane, {HERE: f"{extender.url}/"})
    assert scheduler.mounted == {
        "scheduler.conf",
        "scheduler-extender.yaml",
        *(["scheduler-extender-policy.json"] if release == "v1.16" else []),
    }
    assert scheduler.probe["port"] == (10251 if release == "v1.16" else 10259)
    start(scheduler)
    kube_api.create(pod("tenant", namespace))
    wait_until(lambda: kube_api.get("Pod", "tenant", namespace)["spec"].get("nodeName") == "grand")
    wait_until(lambda: extender.calls(f"{namespace}/tenant")[:2] == ["filter", "prioritize"])
    for name in ("plain", "grand"):
        kube_api.patch("Node", name, {"metadata": {"labels": {"example.com/leaving": "now"}}})
    kube_api.create(pod("late", namespace))
    wait_for_failure(kube_api, namespace, "late", "3 node(s) are about to be emptied")
    log = extender.process.log.read_text()
    reply = [{"Host": "grand", "Score": 9}, {"Host": "plain", "Score": 0}]
    assert any(json.dumps(json.dumps(order, separators=(",", ":"))) in log for order in (reply, reply[::-1]))


def test_the_default_manifest_works_with_the_command_swapped(
    control_plane: ControlPlane, kube_api: KubeApi, namespace: str, tmp_path: Path, start: Start
) -> None:
    """No extender, the probe over TLS."""
    scheduler = StaticPod(FOLDER / folder_of("v1.18"), tmp_path / "etc", control_plane, {})
    assert (scheduler.probe["scheme"], scheduler.probe["port"]) == ("HTTPS", 10259)
    start(scheduler)
    kube_api.create_all([node("ant"), pod("tenant", namespace)])
    wait_until(lambda: kube_api.get("Pod", "tenant", namespace)["spec"].get("nodeName") == "ant")
