import pytest

from stowplan.api.kinds import KINDS
from stowplan.cluster.paths import collection_path, object_path


@pytest.mark.parametrize(
    ("kind", "namespace", "expected"),
    [
        ("Pod", "", "/api/v1/pods"),
        ("Pod", "web", "/api/v1/namespaces/web/pods"),
        ("CSINode", "", "/apis/storage.k8s.io/v1/csinodes"),
        ("Lease", "kube-system", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"),
    ],
)
def test_collections(kind: str, namespace: str, expected: str) -> None:
    assert collection_path(KINDS[kind], namespace) == expected


def test_objects() -> None:
    assert object_path(KINDS["Node"], "n1") == "/api/v1/nodes/n1"
    assert object_path(KINDS["Pod"], "p", "web") == "/api/v1/namespaces/web/pods/p"
