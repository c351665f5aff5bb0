"""The scheduler on the control plane of `$STOWPLAN_RELEASE`: it decides by the rules of that release."""

from __future__ import annotations

import pytest
from tests.e2e.conftest import StartStowplan

from stowplan.config.releases import release_of
from stowplan.testing import KubeApi, node, pod, wait_until
from stowplan.testing.binaries import kubernetes_version

pytestmark = pytest.mark.e2e

RULES = release_of(kubernetes_version()).rules
LOCAL = "kubernetes.io/no-provisioner"


def message(api: KubeApi, name: str, namespace: str) -> str:
    conditions = api.get("Pod", name, namespace)["status"].get("conditions", ())
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


def test_messages_are_those_of_the_release(kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan) -> None:
    tainted = node("a")
    tainted["spec"] = {**tainted.get("spec", {}), "taints": [{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]}
    kube_api.create(tainted)
    start_stowplan()
    kube_api.create(pod("p", namespace))
    expected = f"0/1 nodes are available: 1 {RULES.untolerated_taint.format(key='gpu', value='a100')}."
    wait_until(lambda: message(kube_api, "p", namespace))
    assert message(kube_api, "p", namespace).startswith(expected)


def test_a_bound_pod_with_a_volume_has_no_nomination(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    """An API server before v1.35 would keep it."""
    storage = {"storageClassName": "local", "accessModes": ["ReadWriteOnce"]}
    place = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}
    kube_api.create_all(
        [
            node("a"),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "local"},
                "provisioner": LOCAL,
                "volumeBindingMode": "WaitForFirstConsumer",
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": "disk"},
                "spec": {
                    **storage,
                    "capacity": {"storage": "1Gi"},
                    "local": {"path": "/disk"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]}},
                },
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data", "namespace": namespace},
                "spec": {**storage, "resources": {"requests": {"storage": "1Gi"}}},
            },
        ]
    )
    kube_api.patch("PersistentVolume", "disk", {"status": {"phase": "Available"}}, subresource="status")
    start_stowplan()
    kube_api.create(pod("p", namespace, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]))
    wait_until(lambda: kube_api.get("PersistentVolume", "disk")["spec"].get("claimRef"))
    # There is no controller that completes the binding.
    kube_api.patch("PersistentVolume", "disk", {"status": {"phase": "Bound"}}, subresource="status")
    bound = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "disk"}}
    kube_api.patch("PersistentVolumeClaim", "data", bound, namespace)
    assert kube_api.wait_for_pods_bound(namespace, 1) == {"p": "a"}
    assert "nominatedNodeName" not in kube_api.get("Pod", "p", namespace)["status"]
