"""Pods that take everything that a scheduler can do: bind, explain, preempt, and have volumes ready."""

from __future__ import annotations

from typing import Any

from tests.e2e.audit import Audit
from tests.e2e.devices import claim, device_class, device_slice

from stowplan.config.releases import release_of
from stowplan.testing import KubeApi, node, pod, wait_until
from stowplan.testing.binaries import kubernetes_version
from stowplan.testing.objects import JsonObject


class Workload:
    """Two nodes, and what is to be done on them, one after the other."""

    def __init__(self, api: KubeApi, namespace: str, audit: Audit) -> None:
        self._api = api
        self._namespace = namespace
        self._audit = audit

    def prepare(self) -> None:
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        self._api.create({**kind, "metadata": {"name": f"high-{self._namespace}"}, "value": 1000})
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("made", "example.com/made")):
            self._api.create(
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "StorageClass",
                    "metadata": {"name": name},
                    "provisioner": provisioner,
                    "volumeBindingMode": "WaitForFirstConsumer",
                }
            )
        self._api.create_all([node("ant", cpu="2"), node("bee", cpu="2")])

    def schedule(self, name: str, **of: Any) -> None:
        self._api.create(pod(name, self._namespace, **{"cpu": "1", "terminationGracePeriodSeconds": 0, **of}))

    def is_bound(self, name: str) -> bool:
        return name in self._api.bound_pods(self._namespace)

    def plain_pods(self) -> None:
        for name in ("one", "two", "three", "four"):
            self.schedule(name)
        self._audit.wait_for_all(self._namespace, 4)

    def unschedulable_pod(self) -> None:
        self.schedule("big", cpu="3")
        wait_until(lambda: self._api.get("Pod", "big", self._namespace)["status"].get("conditions"))
        wait_until(lambda: {"Scheduled", "FailedScheduling"} <= self.events())

    def urgent_pod(self) -> None:
        self.schedule("urgent", cpu="2", priorityClassName=f"high-{self._namespace}")

    def preemption(self) -> None:
        self.urgent_pod()
        wait_until(lambda: self.is_bound("urgent"))
        wait_until(lambda: "Preempted" in self.events())
        self._api.delete("Pod", "urgent", self._namespace)

    def volumes(self) -> None:
        self.create_volume("existing", "local")
        self.create_claim("claim-1", "local")
        self.create_claim("claim-2", "made")
        self.schedule("with-volumes", cpu="100m", volumes=[using("claim-1"), using("claim-2")])
        wait_until(lambda: self._api.get("PersistentVolume", "existing")["spec"].get("claimRef"))
        self.bind_claim("claim-1", "existing")
        selected = "volume.kubernetes.io/selected-node"
        wait_until(lambda: selected in self.claim("claim-2")["metadata"].get("annotations", {}))
        self.create_volume("provisioned", "made", claim=self.claim("claim-2"))
        self.bind_claim("claim-2", "provisioned")
        wait_until(lambda: self.is_bound("with-volumes"))

    def devices(self) -> None:
        self._api.create(device_class(extendedResourceName="example.com/gpu"))
        for name in ("ant", "bee"):  # One of them is full of pods.
            self._api.create(device_slice(name, 2))
        self._api.create(claim("claim-3", self._namespace))
        self.schedule("with-device", cpu="100m", resourceClaims=[{"name": "c", "resourceClaimName": "claim-3"}])
        bound = ["with-device"]
        if release_of(kubernetes_version()).has("DRAExtendedResource"):
            self.request_extended_resource()
            bound.append("with-extended-resource")
        wait_until(lambda: all(map(self.is_bound, bound)))

    def request_extended_resource(self) -> None:
        amount = {"example.com/gpu": "1"}
        container = {"name": "app", "image": "example.com/app:1", "resources": {"requests": amount, "limits": amount}}
        self.schedule("with-extended-resource", containers=[container])

    def events(self) -> set[str]:
        return {event["reason"] for event in self._api.list("events.k8s.io/v1/Event", self._namespace)}

    def claim(self, name: str) -> JsonObject:
        return self._api.get("PersistentVolumeClaim", name, self._namespace)

    def create_volume(self, name: str, class_name: str, claim: JsonObject | None = None) -> None:
        spec: JsonObject = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "hostPath": {"path": "/nowhere"},
        }
        if claim is not None:
            meta = claim["metadata"]
            identity = {field: meta[field] for field in ("namespace", "name", "uid")}
            spec["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **identity}
        self._api.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})
        if claim is None:
            self._api.patch("PersistentVolume", name, {"status": {"phase": "Available"}}, "", subresource="status")

    def create_claim(self, name: str, class_name: str) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": class_name}
        self._api.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": self._namespace},
                "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}},
            }
        )

    def bind_claim(self, name: str, volume: str) -> None:
        """What the controller of volumes does, of which there is none here."""
        done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": volume}}
        self._api.patch("PersistentVolumeClaim", name, done, self._namespace)
        bound = {"status": {"phase": "Bound"}}
        self._api.patch("PersistentVolumeClaim", name, bound, self._namespace, subresource="status")
        self._api.patch("PersistentVolume", volume, bound, "", subresource="status")


def using(claim: str) -> JsonObject:
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}
