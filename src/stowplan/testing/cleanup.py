"""Cleanup of a control plane after a test, in place of namespace controller and garbage collector."""

from stowplan.testing.errors import RefusedError
from stowplan.testing.kube_api import KubeApi
from stowplan.testing.objects import JsonObject

NAMESPACED = (
    "Pod",
    "PersistentVolumeClaim",
    "ReplicationController",
    "Service",
    "apps/v1/ReplicaSet",
    "apps/v1/StatefulSet",
    "coordination.k8s.io/v1/Lease",
    "policy/v1/PodDisruptionBudget",
    "resource.k8s.io/v1/ResourceClaim",
    "resource.k8s.io/v1/ResourceClaimTemplate",
    "storage.k8s.io/v1/CSIStorageCapacity",
)
CLUSTER_WIDE = (
    "Node",
    "PersistentVolume",
    "resource.k8s.io/v1/DeviceClass",
    "resource.k8s.io/v1/ResourceSlice",
    "scheduling.k8s.io/v1/PriorityClass",
    "storage.k8s.io/v1/CSIDriver",
    "storage.k8s.io/v1/CSINode",
    "storage.k8s.io/v1/StorageClass",
    "storage.k8s.io/v1/VolumeAttachment",
)
PERMANENT_OBJECTS = frozenset({("Service", "kubernetes")})
PERMANENT_PREFIXES = {"Lease": "apiserver-", "PriorityClass": "system-"}
"""The API server made these and would make them again."""


def clear_cluster(api: KubeApi) -> None:
    """Delete the objects that schedulers read and create, in all namespaces. The namespaces stay."""
    for kind in (*NAMESPACED, *CLUSTER_WIDE):
        clear(api, kind)


def delete_namespace(api: KubeApi, namespace: str) -> None:
    """Delete a namespace and the objects in it that schedulers read."""
    for kind in NAMESPACED:
        clear(api, kind, namespace)
    gone = api.delete("Namespace", namespace)
    gone["spec"]["finalizers"] = []
    api.replace(gone, "finalize")


def clear(api: KubeApi, kind: str, namespace: str = "") -> None:
    """Delete all objects of a kind, in one namespace or in all; finalizers are removed, since no controller does.

    A kind that the server does not have is skipped.
    """
    try:
        found = api.list(kind, namespace)
    except RefusedError as problem:
        if problem.status == 404:
            return
        raise
    doomed = [obj for obj in found if not _is_kept(kind, obj)]
    if len(doomed) == len(found):
        for place in {obj["metadata"].get("namespace", "") for obj in doomed}:
            _delete_all(api, api.path(kind, namespace=place))
        doomed = [obj for obj in doomed if obj["metadata"].get("finalizers")]
    for obj in doomed:
        _delete(api, kind, obj)


def _delete_all(api: KubeApi, path: str) -> None:
    """Thousands of objects may be more than a slow server deletes in a minute, after which it gives up."""
    while True:
        try:
            api.request("DELETE", path, {"gracePeriodSeconds": 0})
            return
        except RefusedError as problem:
            if problem.status != 504:
                raise


def _delete(api: KubeApi, kind: str, obj: JsonObject) -> None:
    meta = obj["metadata"]
    try:
        if meta.get("finalizers"):
            api.patch(kind, meta["name"], {"metadata": {"finalizers": None}}, meta.get("namespace", ""))
        api.delete(kind, meta["name"], meta.get("namespace", ""))
    except RefusedError as problem:
        if problem.status != 404:
            raise


def _is_kept(kind: str, obj: JsonObject) -> bool:
    short, name = kind.rpartition("/")[2], obj["metadata"]["name"]
    return (short, name) in PERMANENT_OBJECTS or (
        short in PERMANENT_PREFIXES and name.startswith(PERMANENT_PREFIXES[short])
    )
