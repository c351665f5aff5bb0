"""The example of devices on a real API server."""

import sys
from pathlib import Path

import pytest
import yaml

from stowplan.testing import KubeApi, Process, wait_until
from stowplan.testing.objects import JsonObject

FOLDER = Path(__file__).parents[2] / "examples" / "07-devices"
GROUP = "resource.k8s.io/v1"


def objects(file: str) -> list[JsonObject]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def pods_of(stateful_set: JsonObject, namespace: str) -> list[JsonObject]:
    """What its controller makes, of which there is none here."""
    spec = stateful_set["spec"]
    metadata = {"namespace": namespace, **spec["template"]["metadata"]}
    name = stateful_set["metadata"]["name"]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "name": f"{name}-{number}"},
            "spec": spec["template"]["spec"],
        }
        for number in range(spec["replicas"])
    ]


def give_claim(api: KubeApi, pod: JsonObject, template: JsonObject) -> None:
    """What the controller of claims does."""
    meta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
    made = {"name": f"{meta['name']}-gpu", "namespace": meta["namespace"], "ownerReferences": [owner]}
    api.create({"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": made, "spec": template["spec"]["spec"]})
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": made["name"]}]}
    api.patch("Pod", meta["name"], {"status": status}, meta["namespace"], subresource="status")


@pytest.mark.e2e
@pytest.mark.slow
def test_on_a_real_api_server(kube_api: KubeApi, namespace: str, control_plane, tmp_path: Path) -> None:
    for item in (*objects("cluster.yaml"), *objects("class.yaml")):
        kube_api.create(item)
    template, stateful_set = objects("pods.yaml")
    kube_api.create({**template, "metadata": {**template["metadata"], "namespace": namespace}})
    command = [sys.executable, "-m", "stowplan", "scheduler", "--secure-port=0", "--leader-elect=false"]
    kubeconfig = control_plane.kubeconfig()
    with Process("stowplan", [*command, f"--kubeconfig={kubeconfig}"], tmp_path / "stowplan.log"):
        for pod in pods_of(stateful_set, namespace):
            give_claim(kube_api, kube_api.create(pod), template)
        assert sorted(kube_api.wait_for_pods_bound(namespace, 3).values()) == ["ant", "bee", "bee"]
        wait_until(lambda: "3 cannot allocate all claims" in str(kube_api.list("Pod", namespace)))
    found = kube_api.list(f"{GROUP}/ResourceClaim", namespace)
    given = sorted(
        [f"{each['pool']}/{each['device']}" for each in claim["status"]["allocation"]["devices"]["results"]]
        for claim in found
        if "allocation" in claim.get("status", {})
    )
    assert given == [["ant/gpu-0"], ["bee/gpu-0", "bee/gpu-1"], ["bee/gpu-2", "bee/gpu-3"]]
