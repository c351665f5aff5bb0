"""The library and the kubectl plugin on a real API server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stowplan import Cluster
from stowplan.testing import ControlPlane, KubeApi, node, pod
from stowplan.testing.binaries import require
from stowplan.testing.errors import UnavailableError

pytestmark = pytest.mark.e2e


def fill(kube_api: KubeApi, namespace: str) -> None:
    kube_api.create(node("ant", cpu="1"))
    kube_api.create(pod("big", namespace, cpu="4"))


def test_a_live_cluster_as_a_value(control_plane: ControlPlane, kube_api: KubeApi, namespace: str) -> None:
    fill(kube_api, namespace)
    cluster = Cluster.from_cluster(kubeconfig=str(control_plane.kubeconfig()), namespace=namespace)
    assert [each.metadata.name for each in cluster.nodes] == ["ant"]
    answer = cluster.explain("big")
    assert answer.because.id == "resources.too-small"
    assert answer.as_of.source == "cluster"
    assert cluster.simulate().pod("big").node == ""
    larger = node("bee", cpu="8")
    assert cluster.add_nodes(1, like=larger).simulate().pod("big").node == "bee-new-1"
    assert kube_api.get("Pod", "big", namespace)["spec"].get("nodeName") is None


def test_kubectl_finds_the_plugin(control_plane: ControlPlane, kube_api: KubeApi, namespace: str) -> None:
    fill(kube_api, namespace)
    try:
        (kubectl,) = require(["kubectl"])
    except UnavailableError as reason:
        pytest.skip(str(reason))
    folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "KUBECONFIG": str(control_plane.kubeconfig()),
    }
    done = subprocess.run(
        [kubectl, "stow", "explain", "big", "-n", namespace],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "4 CPU" in done.stdout
