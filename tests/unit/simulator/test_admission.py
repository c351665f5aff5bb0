from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, pod

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.admission import located


def admit(item: Any, *others: Any) -> Any:
    return SimulatedCluster(*others).controllers.admission.admit(item)


@pytest.mark.parametrize(
    ("item", "namespace"),
    [
        (make("Pod", "a"), "default"),
        (make("Pod", "a", namespace="own"), "own"),
        (make("Node", "a"), ""),
        (make("Node", "a", namespace="wrong"), ""),
        (make("PriorityClass", "a"), ""),
    ],
)
def test_objects_are_in_the_namespace_that_they_belong_to(item: Any, namespace: str) -> None:
    assert located(item).metadata.namespace == namespace


def priority_class(name: str, value: int, **more: Any) -> Any:
    return make("PriorityClass", name, value=value, **more)


def test_priority_comes_from_the_class() -> None:
    spec = admit(pod("a", priorityClassName="high"), priority_class("high", 7, preemptionPolicy="Never")).spec
    assert (spec.priority, spec.priority_class_name, spec.preemption_policy) == (7, "high", "Never")


def test_without_a_class_the_default_counts() -> None:
    classes = priority_class("normal", 3, globalDefault=True), priority_class("high", 7)
    spec = admit(pod("a"), *classes).spec
    assert (spec.priority, spec.priority_class_name) == (3, "normal")
    assert admit(pod("a")).spec.priority == 0


@pytest.mark.parametrize(
    ("name", "value"), [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
)
def test_the_classes_of_the_system_are_always_there(name: str, value: int) -> None:
    assert admit(pod("a", priorityClassName=name)).spec.priority == value


def test_a_priority_that_is_given_was_resolved_before() -> None:
    spec = admit(pod("a", priority=5, priorityClassName="gone"), priority_class("normal", 3, globalDefault=True)).spec
    assert (spec.priority, spec.priority_class_name) == (5, "gone")


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(InputError, match=r"^\$\.spec\.priorityClassName: no PriorityClass with name high was found$"):
        admit(pod("a", priorityClassName="high"))


def test_pods_are_pending_at_first_and_have_their_defaults() -> None:
    admitted = admit(pod("a"))
    assert admitted.status.phase == "Pending"
    assert len(admitted.spec.tolerations) == 2
    assert admitted.spec.scheduler_name == "default-scheduler"
    assert admit(pod("a", status={"phase": "Running"})).status.phase == "Running"


def storage_class(name: str, default: str = "", **more: Any) -> Any:
    annotations = {"storageclass.kubernetes.io/is-default-class": default} if default else {}
    return make("StorageClass", name, annotations=annotations, **more)


def claim(**spec: Any) -> Any:
    return make("PersistentVolumeClaim", "c", spec=spec)


def test_claims_get_the_default_class() -> None:
    classes = storage_class("slow"), storage_class("fast", "true"), storage_class("off", "false")
    assert admit(claim(), *classes).spec.storage_class_name == "fast"
    assert admit(claim(storageClassName=""), *classes).spec.storage_class_name == ""
    assert admit(claim(storageClassName="slow"), *classes).spec.storage_class_name == "slow"
    assert admit(claim(), storage_class("slow")).spec.storage_class_name is None
    assert admit(claim()).status.phase == "Pending"


def test_an_annotation_is_a_class_too() -> None:
    old = make("PersistentVolumeClaim", "c", annotations={"volume.beta.kubernetes.io/storage-class": "slow"})
    assert admit(old, storage_class("fast", "true")).spec.storage_class_name is None


def test_of_two_default_classes_the_newer_one_counts() -> None:
    def dated(name: str, created: str) -> Any:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
        metadata = api.ObjectMeta(name=name, creation_timestamp=created, annotations=annotations)
        return api.StorageClass(metadata=metadata)

    classes = dated("a", "2001-01-01T00:00:00Z"), dated("b", "2002-01-01T00:00:00Z"), dated("c", "2002-01-01T00:00:00Z")
    assert admit(claim(), *classes).spec.storage_class_name == "b"


def test_storage_classes_bind_at_once_unless_they_say_otherwise() -> None:
    assert admit(storage_class("a")).volume_binding_mode == "Immediate"
    waits = storage_class("a", volumeBindingMode="WaitForFirstConsumer")
    assert admit(waits).volume_binding_mode == "WaitForFirstConsumer"


def test_nodes_offer_all_they_have() -> None:
    assert admit(make("Node", "n", status={"capacity": {"cpu": "4"}})).status.allocatable == {"cpu": "4"}
    both = make("Node", "n", status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}})
    assert admit(both).status.allocatable == {"cpu": "3"}


def test_namespaces_carry_their_name() -> None:
    assert admit(make("Namespace", "n", labels={"a": "b"})).metadata.labels == {
        "a": "b",
        "kubernetes.io/metadata.name": "n",
    }


def test_replication_controllers_select_what_they_make() -> None:
    template = {"metadata": {"labels": {"app": "a"}}}
    assert admit(make("ReplicationController", "r", spec={"template": template})).spec.selector == {"app": "a"}
    given = make("ReplicationController", "r", spec={"template": template, "selector": {"b": "c"}})
    assert admit(given).spec.selector == {"b": "c"}
    assert admit(make("ReplicationController", "r")).spec.selector == {}
