"""`-f base -f overlay`: objects of later files are merged into earlier ones."""

import json
from typing import Any

import pytest

from stowplan.api.fields import find_type
from stowplan.errors import InputError
from stowplan.simulator.input import Input, InputOptions, read_input
from stowplan.simulator.input.overlay import merged

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web", "tier": "a"}},
    "spec": {
        "replicas": 1,
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "nodeSelector": {"zone": "a"},
                "tolerations": [{"key": "x"}],
                "containers": [
                    {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
                    {"name": "proxy", "image": "proxy:1"},
                ],
            },
        },
    },
}


def read(*layers: Any, options: InputOptions | None = None) -> Input:
    texts = {f"{i}.yaml": "\n---\n".join(json.dumps(each) for each in layer).encode() for i, layer in enumerate(layers)}
    return read_input(list(texts), lambda name: texts[name], options=options)


def patch(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def test_fields_are_merged_and_lists_by_their_key() -> None:
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    pod_spec = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "y"}],
        "containers": [container, {"name": "new"}],
    }
    found = read([DEPLOYMENT], [patch(replicas=5, template={"spec": pod_spec})])
    ((item, origin),) = found.objects
    spec = item.spec.template.spec
    assert (item.spec.replicas, item.metadata.labels["tier"], str(origin)) == (5, "a", "1.yaml")
    assert [each.name for each in spec.containers] == ["main", "proxy", "new"]
    assert spec.containers[0].resources.requests == {"cpu": "2", "memory": "1Gi"}
    assert spec.node_selector == {"zone": "a", "disk": "ssd"}
    assert [each.key for each in spec.tolerations] == ["y"]


def test_null_and_directives_delete() -> None:
    containers = [{"name": "proxy", "$patch": "delete"}]
    found = read(
        [DEPLOYMENT], [patch(replicas=None, template={"spec": {"containers": containers, "nodeSelector": None}})]
    )
    ((item, _),) = found.objects
    assert item.spec.replicas is None
    assert [each.name for each in item.spec.template.spec.containers] == ["main"]
    assert item.spec.template.spec.node_selector == {}
    assert read([DEPLOYMENT], [{**patch(), "$patch": "delete"}]).objects == []
    ((replaced, _),) = read([DEPLOYMENT], [{**patch(replicas=2), "$patch": "replace"}]).objects
    assert (replaced.spec.replicas, replaced.spec.template.spec.containers) == (2, ())


def test_a_later_layer_may_be_new_and_a_third_one_counts() -> None:
    other = {**DEPLOYMENT, "metadata": {"name": "other"}}
    found = read([DEPLOYMENT], [patch(replicas=2), other], [patch(replicas=3)])
    assert [(item.metadata.name, item.spec.replicas) for item, _ in found.objects] == [("web", 3), ("other", 1)]


def test_in_one_layer_a_name_may_not_be_repeated() -> None:
    with pytest.raises(InputError, match=r'^0\.yaml\[1\]: \$\.metadata\.name: duplicate Deployment "default/web"'):
        read([DEPLOYMENT, patch(replicas=2)], [patch(replicas=3)])


def test_the_result_is_validated_and_fields_are_checked() -> None:
    with pytest.raises(InputError, match=r"^1\.yaml: \$\.spec\.replicas: must be greater than or equal to 0: -1$"):
        read([DEPLOYMENT], [patch(replicas=-1)])
    with pytest.raises(InputError, match=r'^1\.yaml: Deployment default/web: strict .* "spec\.replica" \(did you mean'):
        read([DEPLOYMENT], [patch(replica=2)])


def test_raw_objects_are_merged_too() -> None:
    found = read([DEPLOYMENT], [patch(replicas=2)], options=InputOptions(keep_documents=True))
    ((document),) = found.documents.values()
    assert document["spec"]["replicas"] == 2
    assert document["spec"]["template"]["spec"]["containers"][1]["image"] == "proxy:1"


def test_another_template_replaces_the_pods_of_a_snapshot() -> None:
    def owned(kind: str, name: str, owner: tuple[str, str], **fields: Any) -> dict[str, Any]:
        reference = {"kind": owner[0], "name": owner[1], "uid": owner[1], "controller": True, "apiVersion": "apps/v1"}
        return {"kind": kind, "metadata": {"name": name, "uid": name, "ownerReferences": [reference]}, **fields}

    stored = {**DEPLOYMENT, "metadata": {"name": "web", "uid": "web"}}
    replica_set = owned("ReplicaSet", "web-1", ("Deployment", "web"), spec=DEPLOYMENT["spec"])
    pod = owned("Pod", "web-1-a", ("ReplicaSet", "web-1"), spec={"nodeName": "n"})
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"pods": "9"}}}
    snapshot = [node, stored, replica_set, pod]
    image = {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}
    found = read(snapshot, [patch(**image)])
    assert [item.metadata.name for item, _ in found.objects] == ["n", "web"]
    assert found.notes == ["Deployment default/web gets another pod template, so 1 pod will be replaced, all at once"]
    assert len(read(snapshot, [patch(replicas=1)]).objects) == 4


def test_kinds_without_known_fields_are_merged_as_json() -> None:
    base = {"spec": {"list": [{"name": "a"}, {"name": "b"}], "map": {"x": 1}}}
    assert merged(base, {"spec": {"list": [{"name": "b", "y": 1}], "map": {"z": 2}}}, None) == {
        "spec": {"list": [{"name": "b", "y": 1}], "map": {"x": 1, "z": 2}}
    }


def test_sets_grow() -> None:
    known = find_type("Pod", "v1")
    base = {"metadata": {"finalizers": ["a", "b"]}}
    assert merged(base, {"metadata": {"finalizers": ["b", "c"]}}, known)["metadata"]["finalizers"] == ["a", "b", "c"]
