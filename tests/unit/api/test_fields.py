"""Field names as Kubernetes knows them, also those that the structs leave out."""

from typing import Any

import msgspec
import pytest

from stowplan.api import KINDS, codec
from stowplan.api.fields import ApiType, find_type, has_known_fields, unknown_fields

OF_SHARED_STRUCTS = {"observedGeneration", "secretNamespace"}
NOT_IN_THE_TABLE = {"DeviceTaintRule", "Event", "Lease", "PodGroup", "Workload"} | {
    name for name, kind in KINDS.items() if kind.custom
}


def of(kind: str) -> ApiType:
    found = find_type(kind, KINDS[kind].api_version)
    assert found is not None
    return found


def paths(kind: str, document: dict[str, Any]) -> list[str]:
    found = [path for path, _ in unknown_fields(document, of(kind))]
    assert has_known_fields(codec.encode(document), of(kind)) == (not found)
    return found


def test_fields_that_only_kubernetes_reads_are_known() -> None:
    spec = {
        "hostPID": True,
        "containers": [
            {"name": "c", "command": ["x"], "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}
        ],
        "volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
    }
    managed = [{"manager": "kubectl", "fieldsV1": {"f:anything": {}}}]
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"managedFields": managed, "labels": {"a": "b"}},
        "spec": spec,
    }
    assert paths("Pod", document) == []


@pytest.mark.parametrize(
    ("kind", "document", "path"),
    [
        ("Pod", {"spec": {"containers": [{"resources": {"requestz": {}}}]}}, "spec.containers[0].resources.requestz"),
        ("Pod", {"sepc": {}}, "sepc"),
        ("Pod", {"Spec": {}}, "Spec"),
        ("Node", {"status": {"nodeInfo": {"kernel": "6"}}}, "status.nodeInfo.kernel"),
        (
            "Deployment",
            {"spec": {"template": {"spec": {"tolerations": [{}, {"kee": "x"}]}}}},
            "spec.template.spec.tolerations[1].kee",
        ),
        (
            "StatefulSet",
            {"spec": {"volumeClaimTemplates": [{"spec": {"storage": 1}}]}},
            "spec.volumeClaimTemplates[0].spec.storage",
        ),
        (
            "ResourceSlice",
            {"spec": {"devices": [{"attributes": {"x": {"strinx": "y"}}}]}},
            "spec.devices[0].attributes.x.strinx",
        ),
    ],
)
def test_misspelt_fields(kind: str, document: dict[str, Any], path: str) -> None:
    assert paths(kind, document) == [path]


def test_names_at_the_place_help_to_correct() -> None:
    ((_, names),) = unknown_fields({"spec": {"nodeNam": "x"}}, of("Pod"))
    assert {"nodeName", "volumes"} <= set(names)


def test_wrong_types_are_not_unknown_fields() -> None:
    document = {"spec": {"containers": 5, "volumes": [3], "nodeSelector": None}}
    assert unknown_fields(document, of("Pod")) == []


def test_only_exact_versions_are_known() -> None:
    assert find_type("Deployment", "apps/v1beta1") is None
    assert find_type("Rollout", "argoproj.io/v1alpha1") is None


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - NOT_IN_THE_TABLE))
def test_every_field_of_our_structs_is_in_the_table(kind: str) -> None:
    def check(struct: Any, known: ApiType, path: str) -> None:
        for field in msgspec.structs.fields(struct):
            name = field.encode_name
            assert name in known.fields or name in OF_SHARED_STRUCTS, f"{path}.{name}"
            below = known.below(name)
            inner = _structs(field.type)
            if below is not None and len(inner) == 1:
                check(inner[0], below, f"{path}.{name}")

    check(KINDS[kind].struct, of(kind), kind)


def _structs(annotation: Any) -> list[Any]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    return [struct for part in getattr(annotation, "__args__", ()) for struct in _structs(part)]
