"""The extender that pins labelled pods to one node, behind schedulers of v1.15 and v1.36."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.e2e.extending import wait_for_failure
from tests.examples.conftest import Start
from tests.examples.static_pods import ExampleExtender, StaticPod, folder_of

from stowplan.testing import ControlPlane, KubeApi, node, pod, wait_until

FOLDER = Path(__file__).parents[2] / "examples" / "02-want-you"
PREFIX = "http://127.0.0.1:8888/"
WANTED = "10-9-101-66"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def post(extender: ExampleExtender, body: str, path: str = "/filter") -> str:
    with urllib.request.urlopen(f"{extender.url}{path}", body.encode(), timeout=10) as reply:
        return str(reply.read().decode())


@pytest.mark.parametrize(
    ("release", "cached"), [("v1.15", True), ("v1.36", True), ("v1.36", False)], ids=["v1.15", "names", "nodes"]
)
def test_behind_a_scheduler(
    release: str,
    cached: bool,
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    start: Start,
) -> None:
    kube_api.create_all([node(WANTED), node("10-9-101-67")])
    flags = (f"--plugin={FOLDER}/plugin.py:WantYou", "--bare-names", "--log-requests")
    extender = start(ExampleExtender(tmp_path, *flags))
    capable = {"nodeCacheCapable: true": f"nodeCacheCapable: {str(cached).lower()}"}
    start(
        StaticPod(FOLDER / folder_of(release), tmp_path / "etc", control_plane, {PREFIX: f"{extender.url}/", **capable})
    )
    kube_api.create_all(
        [*(pod(f"p-{i}", namespace, labels={"want": "you"}) for i in range(3)), pod("other", namespace)]
    )
    for i in range(3):
        wait_until(lambda i=i: kube_api.get("Pod", f"p-{i}", namespace)["spec"].get("nodeName") == WANTED)
    wait_for_failure(kube_api, namespace, "other", "0/2 nodes are available: 2 pod(s) did not want you.")
    log = extender.process.log.read_text()
    mode = r"\"NodeNames\":[\"10-9-101-66\"]" if cached else r"\"NodeNames\":null"
    assert any(mode in line.partition("reply=")[2] for line in log.splitlines()), log


def test_errors_are_reported_in_the_result_and_extra_slashes_are_accepted(tmp_path: Path, start: Start) -> None:
    extender = start(ExampleExtender(tmp_path, f"--plugin={FOLDER}/plugin.py:WantYou", "--bare-names"))
    body = json.dumps({"Pod": {"metadata": {"name": "p", "labels": {"want": "you"}}}, "NodeNames": [WANTED, "x"]})
    for path in ("/filter", "//filter", "/filter/", "/v1/filter"):
        assert json.loads(post(extender, body, path))["NodeNames"] == [WANTED]
    for nonsense in ("", "{", "[]", '{"Pod": 7, "NodeNames": []}'):
        with pytest.raises(urllib.error.HTTPError, match="400") as refused:
            post(extender, nonsense)
        assert json.loads(refused.value.read())["Error"]


def test_another_node_and_the_kinder_rule(tmp_path: Path, start: Start) -> None:
    extender = start(ExampleExtender(tmp_path, f"--config={FOLDER}/extender.yaml"))
    names = ["node-6", "node-7"]
    for labels, left in (({"want": "you"}, ["node-7"]), ({}, names)):
        body = json.dumps({"Pod": {"metadata": {"name": "p", "labels": labels}}, "NodeNames": names})
        assert json.loads(post(extender, body))["NodeNames"] == left
