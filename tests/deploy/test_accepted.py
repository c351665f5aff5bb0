"""Every object that is rendered would be created by a real API server, field by field: `kubectl --dry-run=server`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.conftest import NAMESPACE, Render

from stowplan.testing import ControlPlane, KubeApi, RefusedError, wait_until
from stowplan.testing.objects import JsonObject

pytestmark = pytest.mark.e2e

CRDS = list(yaml.safe_load_all((Path(__file__).parent / "crds.yaml").read_text()))
DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}

EVERYTHING: dict[str, Any] = {
    "mode": "both",
    "image": {"digest": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "pull"}],
    "commonLabels": {"team": "platform"},
    "plugins": {"files": {"a.py": "class A: ..."}, "load": ["a.py:A"]},
    "rbac": {
        "optionalPlugins": True,
        "extraRules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "scrapeTimeout": "5s"},
    "dashboard": {"enabled": True},
    "scheduler": {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        "priorityClassName": "system-cluster-critical",
        "podDisruptionBudget": {"minAvailable": "50%"},
        "groups": {"enabled": True, "featureGates": ["WorkloadAwarePreemption"], "coscheduling": True},
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
    },
    "extender": {
        "bind": True,
        "hostNetwork": True,
        "urlPrefix": "/scheduler",
        "tls": {
            "enabled": True,
            "clientCASecret": "clients",
            "certManager": {"enabled": True, "issuerRef": {"name": "cluster", "kind": "ClusterIssuer"}},
        },
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}},
    },
}
LAYERED: dict[str, Any] = {
    "mode": "extender",
    "plugins": {"layer": {"image": "racks:v1"}, "load": ["racks:Care"]},
    "extender": {"kind": "DaemonSet", "tls": {"enabled": True, "existingSecret": "mine"}},
    "serviceAccount": {"create": False, "name": "default"},
}

ODD: dict[str, Any] = {
    "mode": "both",
    "fullnameOverride": "x" * 70,
    "image": {"repository": "registry.example.com:5000/a/b", "tag": "1.0"},
    "plugins": {"existingConfigMap": "rules", "load": ["./a.py:A", "/opt/b.py:B", "c.d:E"]},
    "serviceAccount": {"name": "given", "annotations": {"example.com/role": "1"}, "automount": False},
    "scheduler": {
        "name": "on",
        "replicas": 0,
        "hostNetwork": True,
        "port": 10260,
        "extraArgs": ["--leader-elect=false"],
        "podAnnotations": {"example.com/n": "1"},
        "podLabels": {"example.com/yes": "true"},
        "nodeSelector": {"example.com/yes": "true"},
        "leaderElection": {"enabled": False},
        "podDisruptionBudget": {"minAvailable": 0},
    },
    "extender": {
        "bind": True,
        "service": {"type": "NodePort", "clusterIP": "10.0.0.77", "annotations": {"example.com/n": "1"}},
        "tls": {"enabled": True, "existingSecret": "mine", "clientCASecret": "theirs"},
        "config": {"failurePolicy": {"filter": "pass"}, "cluster": {"leaderElection": {"resourceName": "other"}}},
    },
}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[KubeApi]:
    """The API server with the kinds and the namespace that the chart wants to find."""
    with control_plane.client() as client:
        for crd in CRDS:
            client.create(crd)
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for crd in CRDS:
            group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
            wait_until(lambda group=group, kind=kind: _lists(client, f"{group}/v1/{kind}"), what=f"the kind {kind}")
        yield client
        for crd in CRDS:
            client.delete("apiextensions.k8s.io/v1/CustomResourceDefinition", crd["metadata"]["name"])


def _lists(client: KubeApi, kind: str) -> bool:
    try:
        client.list(kind)
    except RefusedError:
        return False
    return True


def create(api: KubeApi, objects: list[JsonObject]) -> list[str]:
    """Whatever the server has to say against creating these objects."""
    complaints = []
    for obj in objects:
        path = api.path(f"{obj['apiVersion']}/{obj['kind']}", namespace=obj["metadata"].get("namespace", ""))
        try:
            api.request("POST", path, obj, params=DRY_RUN)
        except RefusedError as refusal:
            complaints.append(str(refusal))
    return complaints


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="as it is"),
        pytest.param({"mode": "extender", "plugins": {"load": ["racks:Care"]}}, id="extender"),
        pytest.param(EVERYTHING, id="everything"),
        pytest.param(LAYERED, id="layered"),
        pytest.param(ODD, id="odd"),
    ],
)
def test_the_chart(api: KubeApi, chart: Render, values: dict[str, Any]) -> None:
    assert create(api, chart(**values)) == []


@pytest.mark.parametrize("name", ["second-scheduler", "replace-kubeadm", "extender-sidecar"])
def test_the_overlays(api: KubeApi, overlay: Render, name: str) -> None:
    assert create(api, overlay(name)) == []


def test_a_wrong_field_would_be_noticed(api: KubeApi, chart: Render) -> None:
    objects = chart(**{**LAYERED, "extender": {"tls": EVERYTHING["extender"]["tls"]}})
    for obj in objects:
        obj.setdefault("spec", {})["unheardOf"] = 1
    complaints = create(api, objects)
    assert len(complaints) == len(objects)
    assert all("unheardOf" in complaint or 'unknown field "spec"' in complaint for complaint in complaints)
