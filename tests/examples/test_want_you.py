"""The extender that gives one node to pods that want it, behind the schedulers of two times."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.e2e.extending import wait_for_failure
from tests.examples.conftest import Start
from tests.examples.static_pods import ExampleExtender, StaticPod

from stowplan.testing import ControlPlane, KubeApi, node, pod, wait_until

FOLDER = Path(__file__).parents[2] / "examples" / "02-want-you"
README = (FOLDER / "README.md").read_text()
PREFIX = "http://127.0.0.1:8888/"
WANTED = "10-9-101-66"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("well_known_ports"),
]


def asked(extender: ExampleExtender, body: str, path: str = "/filter") -> str:
    with urllib.request.urlopen(f"{extender.url}{path}", body.encode(), timeout=10) as reply:
        return str(reply.read().decode())


@pytest.mark.parametrize(
    ("era", "cached"), [("v1.15", True), ("v1.36", True), ("v1.36", False)], ids=["v1.15", "names", "nodes"]
)
def test_behind_a_scheduler(
    era: str,
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
    start(StaticPod(FOLDER / era, tmp_path / "etc", control_plane, {PREFIX: f"{extender.url}/", **capable}))
    kube_api.create_all(
        [*(pod(f"p-{i}", namespace, labels={"want": "you"}) for i in range(3)), pod("other", namespace)]
    )
    for i in range(3):
        wait_until(lambda i=i: kube_api.get("Pod", f"p-{i}", namespace)["spec"].get("nodeName") == WANTED)
    wait_for_failure(kube_api, namespace, "other", "0/2 nodes are available: 2 pod(s) did not want you.")
    log = extender.process.log.read_text()
    mode = r"\"NodeNames\":[\"10-9-101-66\"]" if cached else r"\"NodeNames\":null"
    assert any(mode in line.partition("reply=")[2] for line in log.splitlines()), log


def test_what_the_readme_shows(tmp_path: Path, start: Start) -> None:
    extender = start(ExampleExtender(tmp_path, f"--plugin={FOLDER}/plugin.py:WantYou", "--bare-names"))
    bodies = re.findall(r"curl -d '([^']*)' http://127.0.0.1:8888/filter", README)
    (shown,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    assert [asked(extender, body) for body in bodies] == shown.splitlines()
    assert len(bodies) == 2
    for path in ("//filter", "/filter/", "/v1/filter"):
        assert asked(extender, bodies[0], path) == shown.splitlines()[0]


def test_errors_are_told_in_the_result(tmp_path: Path, start: Start) -> None:
    extender = start(ExampleExtender(tmp_path, f"--plugin={FOLDER}/plugin.py:WantYou", "--bare-names"))
    for nonsense in ("", "{", "[]", '{"Pod": 7, "NodeNames": []}'):
        with pytest.raises(urllib.error.HTTPError, match="400") as refused:
            asked(extender, nonsense)
        assert json.loads(refused.value.read())["Error"]


def test_another_node_and_the_kinder_rule(tmp_path: Path, start: Start) -> None:
    extender = start(ExampleExtender(tmp_path, f"--config={FOLDER}/extender.yaml"))
    names = ["node-6", "node-7"]
    for labels, left in (({"want": "you"}, ["node-7"]), ({}, names)):
        body = json.dumps({"Pod": {"metadata": {"name": "p", "labels": labels}}, "NodeNames": names})
        assert json.loads(asked(extender, body))["NodeNames"] == left


def test_as_a_function(tmp_path: Path, start: Start) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "extender.py").write_text(program.replace("port=8888", "port=0, metrics_port=0"))
    extender = start(ExampleExtender(tmp_path, program=tmp_path / "extender.py"))
    body = json.dumps({"Pod": {"metadata": {"name": "p", "labels": {"want": "you"}}}, "NodeNames": [WANTED, "x"]})
    assert json.loads(asked(extender, body))["NodeNames"] == [WANTED]
