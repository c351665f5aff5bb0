import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster

from stowplan.api import KINDS
from stowplan.errors import InputError
from stowplan.simulator.input.apply import LiveObjects
from stowplan.simulator.input.reading import Input, refuse
from stowplan.simulator.input.reading import read_input as load


def read(text: str, name: str = "f.yaml") -> Input:
    return load([name], lambda _: text.encode())


def names(manifests: Input) -> list[str]:
    return [f"{type(item).__name__} {item.metadata.namespace}/{item.metadata.name}" for item, _ in manifests.objects]


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value).splitlines()


def test_objects_keep_their_order_and_place() -> None:
    found = read("kind: Pod\nmetadata: {name: b}\n---\nkind: Node\nmetadata: {name: a}\n")
    assert names(found) == ["Pod default/b", "Node /a"]
    assert [str(origin) for _, origin in found.objects] == ["f.yaml[0]", "f.yaml[1]"]


def test_lists_of_any_sort() -> None:
    of_pods = {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}
    mixed = {"kind": "List", "items": [of_pods, {"kind": "Node", "metadata": {"name": "n"}}, {"kind": "NodeList"}]}
    found = read(json.dumps(mixed))
    assert names(found) == ["Pod default/a", "Node /n"]
    assert [origin.path for _, origin in found.objects] == ["$.items[0].items[0]", "$.items[1]"]
    assert found.unknown == {"NodeList": 1}
    assert names(read("kind: PodList\nitems: null\n")) == []


def test_items_of_a_plain_list_are_known_by_their_kind() -> None:
    deployment = {"kind": "Deployment", "metadata": {"name": "web"}}
    foreign = {"kind": "Deployment", "apiVersion": "example.com/v1"}
    found = read(json.dumps({"kind": "List", "apiVersion": "v1", "items": [deployment, foreign, {"kind": "Event"}]}))
    assert names(found) == ["Deployment default/web"]
    assert found.unknown == {"Deployment (example.com/v1)": 1, "Event": 1}
    typed = {"kind": "DeploymentList", "apiVersion": "example.com/v1", "items": [{"metadata": {"name": "web"}}]}
    assert read(json.dumps(typed)).unknown == {"Deployment (example.com/v1)": 1}


def test_unknown_kinds_are_counted() -> None:
    kinds = ("v1", "ConfigMap"), ("v1", "ConfigMap"), ("serving.knative.dev/v1", "Service"), ("v1", "Event")
    text = "\n---\n".join(f"apiVersion: {version}\nkind: {kind}\nmetadata: 5" for version, kind in kinds)
    assert read(text).unknown == {"ConfigMap": 2, "Service (serving.knative.dev/v1)": 1, "Event (v1)": 1}


def test_other_versions_of_a_group_will_do() -> None:
    assert names(read("apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: a}")) == ["Deployment default/a"]


def test_names_may_be_generated() -> None:
    text = "kind: Pod\nmetadata: {generateName: job-}\n---\nkind: Pod\nmetadata: {generateName: job-}\n"
    one, two = names(read(text))
    assert one.startswith("Pod default/job-")
    assert one != two
    assert names(read(text)) == [one, two]


def test_all_problems_are_told() -> None:
    text = """
kind: Deployment
metadata: {name: d}
spec: {replicas: -1, template: {spec: {containers: [{resources: {requests: {cpu: "-1"}}}]}}}
---
kind: Deployment
metadata: {name: e, labels: {version: 1}}
---
metadata: {name: f}
---
kind: Pod
---
- 1
---
kind: PodList
items: 5
---
kind: List
items: [{kind: Node, metadata: {name: 5}}]
"""
    assert problems(text) == [
        "f.yaml[0]: $.spec.replicas: must be greater than or equal to 0: -1",
        'f.yaml[0]: $.spec.template.spec.containers[0].resources.requests.cpu: must not be negative: "-1"',
        "f.yaml[1]: $.metadata.labels.version: Expected `str`, got `int`",
        "f.yaml[2]: $.kind: required",
        "f.yaml[3]: $.metadata.name: must not be empty",
        "f.yaml[4]: $: Expected `object`, got `array`",
        "f.yaml[5]: $.items: Expected `array | null`, got `int`",
        "f.yaml[6]: $.items[0].metadata.name: Expected `str`, got `int`",
    ]


def test_no_name_is_given_twice() -> None:
    text = "kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: a, namespace: default}\n"
    assert problems(text) == ['f.yaml[1]: $.metadata.name: duplicate Pod "default/a", first in f.yaml[0]']
    apart = "kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: a, namespace: x}\n---\n"
    assert len(read(apart + "kind: Service\nmetadata: {name: a}").objects) == 3


def test_owners_and_limits_are_looked_at() -> None:
    owner = "[{kind: ReplicaSet, name: a, controller: true}]"
    assert "cycle: " in problems(f"kind: ReplicaSet\nmetadata: {{name: a, ownerReferences: {owner}}}")[0]
    assert "200000" in problems("kind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1000000}")[0]


def test_notes() -> None:
    owner = "[{kind: ReplicaSet, name: a, uid: u, controller: true}]"
    text = f"kind: Pod\nmetadata: {{name: a, ownerReferences: {owner}}}\nspec: {{nodeName: n}}"
    assert read(text).notes == []
    assert [(each.kind, each.objects) for each in read(text).assumptions] == [
        ("ReplicaSet", ("default/a",)),
        ("Node", ("n",)),
    ]


def test_every_object_has_a_uid() -> None:
    ((item, _),) = read("kind: Pod\nmetadata: {name: a}").objects
    assert item.metadata.uid


def test_files_folders_and_what_is_wrong_with_each(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.yaml").write_text("kind: Pod\nmetadata: {name: b}")
    (folder / "a.json").write_text('{"kind": "Pod", "metadata": {"name": "a"}}')
    given: list[Any] = [str(folder), "-"]

    def content(name: str) -> bytes:
        return b"kind: Pod\nmetadata: {name: c}" if name == "-" else Path(name).read_bytes()

    assert names(load(given, content)) == ["Pod default/a", "Pod default/b", "Pod default/c"]
    (folder / "b.yaml").write_text("")
    (folder / "c.yaml").write_text("kind: 5")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError) as caught:
        load([*given, str(empty)], content)
    assert [line.split(": ", 1)[0] for line in str(caught.value).splitlines()] == [
        str(folder / "b.yaml"),
        str(folder / "c.yaml"),
        str(empty),
    ]


def test_long_lists_of_problems_are_cut() -> None:
    refuse([])
    with pytest.raises(InputError) as caught:
        refuse([f"problem {i}" for i in range(23)])
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 3 more"


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_nothing_but_an_input_error_comes_of_nonsense(data: bytes) -> None:
    with contextlib.suppress(InputError):
        assert load(["f"], lambda _: data).objects == []


WORDS = st.sampled_from(["", "a", "kind", "metadata", "name", "items", "spec", "List", *KINDS])
JSON = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-1, 3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(WORDS, JSON, max_size=5), WORDS)
def test_nothing_but_an_input_error_comes_of_odd_objects(document: dict[str, Any], kind: str) -> None:
    data = json.dumps({**document, "kind": kind}).encode()
    with contextlib.suppress(InputError):
        SimulatedCluster(*(item for item, _ in load(["f"], lambda _: data).objects))


# On top of a cluster
def test_manifests_are_laid_over_a_cluster() -> None:
    stored = [
        make("Pod", "runs", namespace="team", uid="r", owner={"kind": "Rocket", "name": "x", "uid": "x"}),
        make("Service", "web", namespace="team", uid="s"),
        make("Node", "n", uid="n", status={"allocatable": {"pods": "1"}}),
    ]
    live = LiveObjects(stored, ("default-scheduler",), "team")
    text = "kind: Service\nmetadata: {name: web}\n---\nkind: Pod\nmetadata: {name: new, namespace: other}"
    found = load(["f.yaml"], lambda _: text.encode(), live)
    assert names(found) == ["Node /n", "Pod team/runs", "Service team/web", "Pod other/new"]
    assert found.preexisting == {"r", "n"}
    assert found.notes == ["in the cluster already, and updated by the manifests: 1 Service (team/web)"]
    assert load([], lambda _: b"", live).preexisting == {"r", "s", "n"}


# Fields that Kubernetes does not know
MISSPELT = "kind: Pod\nmetadata: {name: a%s}\nspec: {containers: [{name: c, resources: {requestz: {cpu: 1}}}]}\n"
UNKNOWN = 'strict decoding error: unknown field "spec.containers[0].resources.requestz" (did you mean "requests"?)'


def test_misspelt_fields_are_errors() -> None:
    assert problems(MISSPELT % "") == [f"f.yaml: Pod default/a: {UNKNOWN}"]
    listed = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}, "sepc": {}}]})
    (problem,) = problems(listed)
    assert problem.startswith('f.yaml: $.items[0]: Pod default/a: strict decoding error: unknown field "sepc"')


def test_objects_of_another_release_keep_fields_that_it_has() -> None:
    (found,) = read(MISSPELT % ", uid: u, resourceVersion: '5'").assumptions[-1:]
    assert found.kind == "Service"
    (found,) = (each for each in read(MISSPELT % ", uid: u, resourceVersion: '5'").assumptions if each.kind == "Pod")
    assert found.objects == ("default/a",)
    assert "requestz" in found.assumption


def test_fields_of_unknown_versions_are_not_checked() -> None:
    assert names(read("apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: a}\nfoo: 1")) == [
        "Deployment default/a"
    ]
