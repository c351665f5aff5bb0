import pytest

from stowplan import api
from stowplan.simulator import api_writes


@pytest.mark.parametrize(
    ("kind", "resource"),
    [("Pod", "pods"), ("ResourceClaim", "resourceclaims.resource.k8s.io"), ("ReplicaSet", "replicasets.apps")],
)
def test_resources_are_named_with_their_group(kind: str, resource: str) -> None:
    assert api_writes.resource_of(api.KINDS[kind]) == resource


def test_a_wrong_uid_is_told_as_the_storage_does() -> None:
    stored = api.ObjectMeta(name="web", namespace="default", uid="new")
    failure = api_writes.other_uid("pods", stored, "old")
    assert failure.reason == "Conflict"
    assert failure.message == (
        'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, '
        "Key: /registry/pods/default/web, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: old, UID in object meta: new"
    )


def test_keys_of_cluster_scoped_objects_have_no_namespace() -> None:
    failure = api_writes.other_uid("resourceslices.resource.k8s.io", api.ObjectMeta(name="s", uid="new"), "old")
    assert "Key: /registry/resourceslices/s," in failure.message
