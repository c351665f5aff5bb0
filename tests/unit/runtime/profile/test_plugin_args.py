"""pluginConfig of out-of-tree plugins: decoded into a Struct or a dataclass, with errors that name the path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from tests.builders import Json, World, profile_config

from stowplan.errors import ConfigError
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod
from stowplan.runtime.profile.plugin_args import decode_args


@dataclass
class Pool:
    name: str
    size: int = 1


@dataclass
class PoolArgs:
    label: str = "pool"
    pools: list[Pool] = field(default_factory=list)
    by_zone: dict[str, Pool] = field(default_factory=dict)
    default: Pool | None = None

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("label must not be empty")


class PoolStruct(msgspec.Struct):
    label: str = "pool"
    pools: list[Pool] = []
    by_zone: dict[str, Pool] = {}
    default: Pool | None = None


class Pools(Plugin):
    name = "pools"
    Args = PoolArgs
    args: PoolArgs

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None


class Plain(Plugin):
    name = "plain"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None


def made(kind: type[Plugin], args: Json | None) -> Any:
    config = profile_config(args={} if args is None else {kind.name: args})
    return World(plugins={kind.name: kind}, config=config).profile.points["filter"][-1].args


def test_args_may_be_a_dataclass() -> None:
    assert made(Pools, None) == PoolArgs()
    given = {"label": "x", "pools": [{"name": "a"}], "by_zone": {"z": {"name": "b", "size": 2}}, "default": None}
    assert made(Pools, given) == PoolArgs("x", [Pool("a")], {"z": Pool("b", 2)})


@pytest.mark.parametrize("kind", [PoolArgs, PoolStruct])
@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"labell": "x"}, '$.labell: unknown field (did you mean "label"?)'),
        ({"byZone": {}}, '$.byZone: unknown field (did you mean "by_zone"?)'),
        ({"label": 3}, "$.label: Expected `str`, got `int`"),
        ({"pools": [{"name": "a"}, {"nme": "b"}]}, '$.pools[1].nme: unknown field (did you mean "name"?)'),
        ({"pools": [{"size": 3}]}, "$.pools[0]: Object missing required field `name`"),
        ({"by_zone": {"z": {"name": "a", "size": "big"}}}, "$.by_zone.z.size: Expected `int`, got `str`"),
        ({"by_zone": {"z": {"name": "a", "sizee": 1}}}, '$.by_zone.z.sizee: unknown field (did you mean "size"?)'),
        ({"default": {"name": "a", "colour": 1}}, "$.default.colour: unknown field"),
    ],
)
def test_errors_name_the_path(kind: type, args: Json, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        decode_args(kind, "pools", args)
    assert str(caught.value) == f'pluginConfig of "pools": {problem}'


def test_all_unknown_fields_are_named() -> None:
    with pytest.raises(ConfigError) as caught:
        made(Pools, {"a": 1, "b": 2})
    assert [problem.split(": ")[1] for problem in caught.value.problems] == ["$.a", "$.b"]


def test_a_check_of_the_dataclass_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="label must not be empty"):
        made(Pools, {"label": ""})


def test_args_are_a_dict_where_none_are_given() -> None:
    assert made(Plain, None) == {}
    assert made(Plain, {"anything": [1]}) == {"anything": [1]}
