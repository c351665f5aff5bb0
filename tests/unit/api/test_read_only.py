"""Objects that plugins share with the scheduler refuse changes and stay usable otherwise."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stowplan.api import Container, PodSpec, codec
from stowplan.api.meta import add_wire_names
from stowplan.api.read_only import ReadOnlyDict, ReadOnlyList, freeze, read_only, snake_case

OBJECT = {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "a"}, {"name": "b"}]}}

CHANGES: dict[str, Callable[[Any], Any]] = {
    "set": lambda o: o["spec"].__setitem__("x", 1),
    "delete": lambda o: o["spec"].__delitem__("containers"),
    "or": lambda o: o["spec"].__ior__({"x": 1}),
    "clear": lambda o: o.clear(),
    "pop": lambda o: o["spec"].pop("containers"),
    "popitem": lambda o: o.popitem(),
    "setdefault": lambda o: o["spec"].setdefault("x", 1),
    "update": lambda o: o["spec"]["nodeSelector"].update(disk="hdd"),
    "item": lambda o: o["spec"]["containers"].__setitem__(0, {}),
    "append": lambda o: o["spec"]["containers"].append({}),
    "extend": lambda o: o["spec"]["containers"].__iadd__([{}]),
    "remove": lambda o: o["spec"]["containers"].remove({"name": "a"}),
    "sort": lambda o: o["spec"]["containers"].sort(),
    "inside a list": lambda o: o["spec"]["containers"][1].update(name="c"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_refused_with_advice(change: str) -> None:
    value = read_only(OBJECT)
    with pytest.raises(TypeError, match="read-only: plugins share this"):
        CHANGES[change](value)
    assert value == OBJECT


def test_every_method_that_changes_is_refused() -> None:
    for plain, safe in ((dict, ReadOnlyDict), (list, ReadOnlyList)):
        reading = {"copy", "get", "items", "keys", "values", "fromkeys", "count", "index"}
        changing = {name for name in vars(plain) if not name.startswith("_")} - reading
        assert changing <= set(vars(safe))


def test_copies_are_plain() -> None:
    value = read_only(OBJECT)
    for made in (copy.deepcopy(value), copy.copy(value), dict(value), pickle.loads(pickle.dumps(value)), value | {}):
        assert made == OBJECT
        assert type(made) is dict
    assert type(copy.deepcopy(value)["spec"]["containers"][0]) is dict
    assert type(copy.copy(value["spec"]["containers"])) is list


def test_encoders_take_them() -> None:
    value = read_only(OBJECT)
    assert json.loads(json.dumps(value)) == msgspec.json.decode(msgspec.json.encode(value)) == OBJECT


def test_fields_are_attributes_in_both_spellings() -> None:
    value = read_only(OBJECT)
    assert value.spec.nodeSelector == value.spec.node_selector == {"disk": "ssd"}
    assert value.spec.containers[1].name == "b"
    with pytest.raises(AttributeError, match="no field 'affinity'; the fields here are nodeSelector, containers"):
        _ = value.spec.affinity


def test_names_are_those_of_the_kubernetes_client() -> None:
    names = ("hostIP", "nodeSelector", "podIPs", "csi", "fsType")
    assert [snake_case(name) for name in names] == ["host_ip", "node_selector", "pod_i_ps", "csi", "fs_type"]


def test_structs_become_read_only_in_place() -> None:
    resources = {"requests": {"cpu": "1"}}
    spec = codec.convert(PodSpec, {"nodeSelector": {"a": "b"}, "containers": [{"resources": resources}]})
    before = codec.encode(spec)
    freeze(spec)
    assert codec.encode(spec) == before
    for mapping in (spec.node_selector, spec.overhead, spec.containers[0].resources.requests):
        with pytest.raises(TypeError, match="read-only"):
            mapping["x"] = "y"
    with pytest.raises(AttributeError):
        spec.priority = 3  # type: ignore[misc]


def test_structs_are_read_in_the_spelling_of_manifests() -> None:
    add_wire_names()
    spec: Any = PodSpec(node_selector={"a": "b"}, containers=(Container(restart_policy="Always"),))
    assert spec.nodeSelector == spec.node_selector
    assert spec.containers[0].restartPolicy == "Always"
    with pytest.raises(AttributeError):
        spec.nodeSelector = {}
    assert codec.builtins(spec) == {"nodeSelector": {"a": "b"}, "containers": ({"restartPolicy": "Always"},)}
