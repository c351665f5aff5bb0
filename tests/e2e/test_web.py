"""The page of a running scheduler and of a watched cluster, on a real API server."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowplan.testing import ADMIN, NOBODY, SCHEDULER, ControlPlane, KubeApi, Process, free_port, node, pod, wait_until

pytestmark = pytest.mark.e2e

RBAC = "rbac.authorization.k8s.io"
ROLE = "see-the-page"
DEPLOY = Path(__file__).parents[2] / "deploy"
PATHS = ("hello", "map", "pods", "pods?names", "pending", "queue", "config", "history", "node/ant", "events")


@pytest.fixture
def url(control_plane: ControlPlane, start_stowplan: Callable[..., Process]) -> str:
    """The secure port of a scheduler that serves the page."""
    port, kubeconfig = free_port(), control_plane.kubeconfig(SCHEDULER)
    serving = control_plane.authority.server("kube-scheduler")
    start_stowplan(
        "--web",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
    )
    return f"https://127.0.0.1:{port}"


@pytest.fixture
def large(kube_api: KubeApi, namespace: str, url: str) -> str:
    """A pod that the scheduler has tried in vain, beside one that is bound."""
    kube_api.create_all([node("ant", cpu="4"), pod("small", namespace, cpu="1"), pod("large", namespace, cpu="9")])

    def tried() -> bool:
        conditions = kube_api.get("Pod", "large", namespace).get("status", {}).get("conditions", ())
        return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)

    wait_until(tried, what="the first attempt")
    return f"{namespace}/large"


@pytest.fixture
def grant(kube_api: KubeApi) -> Iterator[Callable[[list[Any]], None]]:
    """Lets NOBODY do what some rules say."""

    def bind(rules: list[Any]) -> None:
        head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": ROLE}}
        kube_api.create({**head, "kind": "ClusterRole", "rules": rules})
        subjects = [{"kind": "User", "apiGroup": RBAC, "name": NOBODY.name}]
        reference = {"kind": "ClusterRole", "apiGroup": RBAC, "name": ROLE}
        kube_api.create({**head, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference})

    yield bind
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        kube_api.delete(f"{RBAC}/v1/{kind}", ROLE, "")


class Page:
    """`stowplan web`, and requests to it."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "stowplan", "web", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        if not address:
            assert self.process.stderr is not None
            pytest.fail(self.process.stderr.read())
        self.address, _, self.token = address.partition("/login?token=")

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self._request(path), timeout=30) as reply:
            return json.load(reply)

    def first_event(self, path: str = "events?since=x-1") -> str:
        with urllib.request.urlopen(self._request(path), timeout=30) as reply:
            while not (line := reply.readline().decode()).startswith("event:"):
                assert line
            return line.strip()

    def _request(self, path: str) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self.token}"}
        return urllib.request.Request(f"{self.address}/api/v1/{path}", headers=headers)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=20)


@pytest.fixture
def start_page() -> Iterator[Callable[..., Page]]:
    pages: list[Page] = []

    def start(*arguments: str) -> Page:
        pages.append(Page(*arguments))
        return pages[-1]

    yield start
    for page in pages:
        page.stop()


def status(url: str, path: str, token: str, authority: str) -> int:
    context = ssl.create_default_context(cafile=authority)
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
    except http.client.HTTPException:
        return 0


def test_the_page_of_a_scheduler(
    control_plane: ControlPlane,
    start_page: Callable[..., Page],
    kube_api: KubeApi,
    url: str,
    large: str,
    namespace: str,
) -> None:
    page = start_page("--from", url, "--kubeconfig", str(control_plane.kubeconfig(ADMIN)))
    hello = page.get("hello")
    assert (hello["kind"], hello["nodes"], hello["pods"], hello["pending"]) == ("scheduler", 1, 1, 1)
    assert set(hello["features"]) >= {"stream", "queue", "history"}
    assert "ant" in page.get("map")["nodes"]["name"]
    assert page.get(f"explain/{large}")["sentence"].startswith("Asks for 9 CPU")
    assert page.get("pending")["groups"][0]["sample"] == [large]
    assert page.get(f"fit/{large}")["steps"][-1]["plugin"] == "NodeResourcesFit"
    assert page.get(f"points/{namespace}/small")["slot"]
    assert [each["pod"] for each in page.get("node/ant")["pods"]] == [f"{namespace}/small"]
    assert page.get("queue")["counts"]["unschedulable"] == 1
    assert page.first_event() == "event: reset"
    kube_api.create_all([node("bee", cpu="16")])
    wait_until(lambda: page.get("hello")["pending"] == 0, what="the pod to fit on the new node")
    wait_until(lambda: "bee" in page.get("map")["nodes"]["name"], what="the map, which is copied once a second")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        page.get(f"explain/{namespace}/nothing")


def test_a_viewer_without_rights_sees_403_only(
    control_plane: ControlPlane, url: str, large: str, grant: Callable[[list[Any]], None]
) -> None:
    authority = str(control_plane.authority.file)
    token = NOBODY.token
    data = [f"/insight/v1/page/{path}" for path in (*PATHS, f"explain/{large}", f"fit/{large}")]
    for path in (*data, "/ui/", "/ui/static/app.js"):
        assert status(url, path, token, authority) == 403
        assert status(url, path, "", authority) in (401, 403)
    grant([{"nonResourceURLs": ["/insight/v1/*", "/ui/", "/ui/*"], "verbs": ["get"]}])
    wait_until(lambda: status(url, "/insight/v1/pending", token, authority) == 200, what="the server to heed the role")
    # The path is not enough: all pods are shown, so pods have to be readable in all namespaces.
    for path in (*data, "/ui/", "/ui/static/app.js"):
        assert status(url, path, token, authority) == 403


def test_the_role_for_viewers_is_enough(
    control_plane: ControlPlane,
    start_page: Callable[..., Page],
    url: str,
    large: str,
    grant: Callable[[list[Any]], None],
) -> None:
    grant(yaml.safe_load((DEPLOY / "rbac-web.yaml").read_text())["rules"])
    authority, token = str(control_plane.authority.file), NOBODY.token
    wait_until(lambda: status(url, "/ui/", token, authority) == 200, what="the server to heed the role")
    page = start_page("--from", url, "--kubeconfig", str(control_plane.kubeconfig(NOBODY)))
    assert page.get("hello")["nodes"] == 1


def test_the_page_of_a_cluster_that_is_watched(
    control_plane: ControlPlane, start_page: Callable[..., Page], kube_api: KubeApi, namespace: str
) -> None:
    kube_api.create_all([node("ant", cpu="4"), pod("large", namespace, cpu="9")])
    page = start_page("--from-cluster", "--kubeconfig", str(control_plane.kubeconfig(ADMIN)))
    hello = page.get("hello")
    assert (hello["kind"], hello["nodes"], hello["pending"]) == ("cluster", 1, 1)
    explanation = page.get(f"explain/{namespace}/large")
    assert explanation["sentence"].startswith("Asks for 9 CPU")
    assert "queue" not in explanation
    kube_api.create_all([node("bee", cpu="16")])
    wait_until(lambda: "bee" in page.get("map")["nodes"]["name"], what="the watch")
    assert page.get("hello")["pending"] == 1  # Explained, never scheduled.
