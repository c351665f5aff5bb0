"""Who may see what of a scheduler, decided by a real API server that is asked with kube-scheduler's rights alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stowplan.config.flags.parsing import parse
from stowplan.scheduler.monitoring import Monitor
from stowplan.testing import (
    ADMIN,
    NOBODY,
    SCHEDULER,
    ControlPlane,
    KubeApi,
    RefusedError,
    User,
    free_port,
    wait_until,
)

pytestmark = pytest.mark.e2e


@pytest.fixture
def url(control_plane: ControlPlane) -> Iterator[str]:
    """A server with nothing behind it, on the shared control plane."""
    port, kubeconfig = free_port(), control_plane.kubeconfig(SCHEDULER)
    serving = control_plane.authority.server("kube-scheduler")
    flags = {
        "--secure-port": port,
        "--bind-address": "127.0.0.1",
        "--authentication-kubeconfig": kubeconfig,
        "--authorization-kubeconfig": kubeconfig,
        "--tls-cert-file": serving.certificate,
        "--tls-private-key-file": serving.key,
    }
    monitor = Monitor(parse(f"{flag}={value}" for flag, value in flags.items()), "127.0.0.1:6443")
    monitor.start()
    yield f"https://127.0.0.1:{port}"
    monitor.stop()


def visit(client: KubeApi, path: str) -> int:
    try:
        client.request("GET", path)
    except RefusedError as refusal:
        return refusal.status
    return 200


STRANGER = User("stranger", "a-token-that-nobody-issued")


@pytest.mark.parametrize(
    ("user", "path", "status"),
    [
        (ADMIN, "/metrics", 200),
        (ADMIN, "/configz", 200),
        (NOBODY, "/metrics", 403),
        (NOBODY, "/healthz", 200),
        (NOBODY, "/healthz/leaderElection", 403),
        (NOBODY, "/nowhere", 403),
        (ADMIN, "/nowhere", 404),
        (ADMIN, "/readyz", 500),
        (STRANGER, "/metrics", 401),
        (STRANGER, "/healthz", 401),
    ],
)
def test_tokens(control_plane: ControlPlane, url: str, user: User, path: str, status: int) -> None:
    with control_plane.client(user, server=url) as client:
        assert visit(client, path) == status


def test_rights_that_were_granted(control_plane: ControlPlane, kube_api: KubeApi, url: str) -> None:
    role = "see-the-scheduler"
    group = "rbac.authorization.k8s.io"
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    subjects = [{"kind": "User", "apiGroup": group, "name": NOBODY.name}]
    reference = {"kind": "ClusterRole", "apiGroup": group, "name": role}
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": role}}
    kube_api.create({**head, "kind": "ClusterRole", "rules": rules})
    kube_api.create({**head, "kind": "ClusterRoleBinding", "subjects": subjects, "roleRef": reference})
    asked = {"user": NOBODY.name, "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": asked}
    try:
        wait_until(lambda: kube_api.create(review)["status"]["allowed"], what="the server to heed the role")
        with control_plane.client(NOBODY, server=url) as client:
            assert (visit(client, "/metrics"), visit(client, "/configz")) == (200, 403)
    finally:
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            kube_api.delete(f"{group}/v1/{kind}", role, "")


@pytest.mark.parametrize(("group", "status"), [("system:masters", 200), ("", 403)])
def test_client_certificates(control_plane: ControlPlane, url: str, group: str, status: int) -> None:
    pair = control_plane.authority.client("ada", group)
    tls = control_plane.tls()
    tls.load_cert_chain(pair.certificate, pair.key)
    with KubeApi(url, tls) as client:
        assert visit(client, "/metrics") == status


def test_without_credentials(control_plane: ControlPlane, url: str) -> None:
    with KubeApi(url, control_plane.tls()) as client:
        assert visit(client, "/livez") == 200
        with pytest.raises(RefusedError, match='User "system:anonymous" cannot get path "/metrics"'):
            client.request("GET", "/metrics")
