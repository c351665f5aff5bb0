from types import ModuleType

import msgspec
import pytest

from stowplan import api
from stowplan.api import ContainerPort, DeviceAttribute, ObjectMeta, Pod
from stowplan.api.meta import Wire

STRUCTS = [each for each in vars(api).values() if isinstance(each, type) and issubclass(each, Wire)]


def test_each_name_is_exported_by_one_module() -> None:
    modules = [module for module in vars(api).values() if isinstance(module, ModuleType) and hasattr(module, "__all__")]
    names = [name for module in modules for name in module.__all__]
    assert len(modules) > 10
    assert len(set(names)) == len(names) > 100
    assert [name for name in names if not hasattr(api, name)] == []


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_structs_are_frozen_lean_and_can_be_empty(struct: type[Wire]) -> None:
    config = struct.__struct_config__
    assert config.frozen
    assert config.omit_defaults
    assert not config.gc
    assert msgspec.json.encode(struct()) == b"{}"
    assert msgspec.json.decode(b'{"fieldOfAFutureRelease": 1}', type=struct) == struct()


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_fields_are_given_by_keyword_only(struct: type[Wire]) -> None:
    if struct is not Wire:
        with pytest.raises(TypeError):
            struct("positional")


IRREGULAR = {"hostIP", "volumeID", "diskURI", "nodeID", "shareID"}
DEVICE_VALUES = {"int", "bool", "string", "version", "ints", "bools", "strings", "versions"}


def test_only_known_fields_are_spelled_irregularly() -> None:
    found = set()
    for struct in STRUCTS:
        for field in msgspec.structs.fields(struct):
            first, *rest = field.name.split("_")
            if field.encode_name != first + "".join(word.capitalize() for word in rest):
                found.add(field.encode_name)
    assert found == IRREGULAR | DEVICE_VALUES


def test_irregular_fields_decode() -> None:
    assert msgspec.json.decode(b'{"hostIP": "::"}', type=ContainerPort).host_ip == "::"
    assert msgspec.json.decode(b'{"int": 4}', type=DeviceAttribute) == DeviceAttribute(int_value=4)


def test_structs_do_not_share_their_maps() -> None:
    with pytest.raises(TypeError, match="read-only"):
        ObjectMeta().labels["a"] = "b"
    assert ObjectMeta().labels == {}


def test_structs_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Pod().metadata = ObjectMeta(name="x")
