"""From a configuration to profiles, and what is refused on the way."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.builders import Json, World, node, pod, profile_config

from stowplan.cache import Cluster
from stowplan.config import IN_TREE_PLUGINS, default_configuration, from_builtins
from stowplan.errors import ConfigError, PluginBugError, PluginError, StowplanError
from stowplan.framework import CycleState, Handle, Mask, NodeInfo, Nodes, Plugin, Pod, QueuedPodInfo, Status, reject
from stowplan.framework.plugin_checks import check_forms
from stowplan.framework.points import RUN_POINTS
from stowplan.optional_plugins.registry import MODULES, optional_classes
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.base.plugin import FORMS
from stowplan.plugins.node_name import NodeName
from stowplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.registry import REGISTRY
from stowplan.queue.nominator import Nominator
from stowplan.runtime import build_profiles, enable_everywhere


class Colour(Plugin):
    name = "colour"

    class Args(msgspec.Struct):
        favorite_color: str = "#326CE5"
        favorite_number: int = 7

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None if node.labels.get("color") == self.args.favorite_color else reject("colourless")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return int(self.args.favorite_number)


class Bare(Plugin):
    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None


def names(world: World, point: str) -> list[str]:
    return [plugin.name for plugin in world.profile.points[point]]


def test_default_profile() -> None:
    world = World()
    assert list(world.profiles) == ["default-scheduler"]
    assert names(world, "postFilter") == ["DynamicResources", "DefaultPreemption"]
    assert {plugin.name: weight for plugin, weight in world.profile.scorers} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_a_plugin_that_nobody_names_is_enabled_where_it_can_do_something() -> None:
    world = World(plugins={"colour": Colour})
    assert [point.name for point in RUN_POINTS if "colour" in names(world, point.name)] == ["filter", "score"]
    assert names(world, "filter")[-1] == "colour"
    assert world.profile.scorers[-1][1] == 1


def test_a_plugin_that_is_named_is_enabled_there_alone() -> None:
    config = profile_config({"score": {"enabled": [{"name": "colour", "weight": 9}]}})
    world = World(plugins={"colour": Colour}, config=config)
    assert [point.name for point in RUN_POINTS if "colour" in names(world, point.name)] == ["score"]
    assert world.profile.scorers[-1][1] == 9


def test_enable_everywhere_looks_at_each_profile() -> None:
    config = profile_config({"score": {"enabled": [{"name": "colour"}]}})
    config["profiles"].append({"schedulerName": "second"})
    world = World(plugins={"colour": Colour}, config=config)
    enabled = {
        name: [point.name for point in RUN_POINTS if "colour" in [p.name for p in profile.points[point.name]]]
        for name, profile in world.profiles.items()
    }
    assert enabled == {"default-scheduler": ["score"], "second": ["filter", "score"]}


def test_a_plugin_that_sorts_the_queue_takes_the_place_of_the_default_one() -> None:
    class Youngest(Plugin):
        name = "youngest"

        def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
            return a.timestamp > b.timestamp

    assert names(World(plugins={"youngest": Youngest}), "queueSort") == ["youngest"]
    chosen = profile_config({"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}]}})
    assert names(World(plugins={"youngest": Youngest}, config=chosen), "queueSort") == ["PrioritySort"]


def test_each_profile_has_plugins_of_its_own() -> None:
    config = profile_config()
    config["profiles"].append({"schedulerName": "second"})
    world = World(plugins={"colour": Colour}, config=config)
    first, second = (profile.points["filter"][-1] for profile in world.profiles.values())
    assert first is not second


@pytest.mark.parametrize(
    ("args", "expected"),
    [(None, ("#326CE5", 7)), ({}, ("#326CE5", 7)), ({"favorite_color": "red"}, ("red", 7))],
)
def test_args_of_a_struct(args: Json | None, expected: tuple[str, int]) -> None:
    config = profile_config(args={} if args is None else {"colour": args})
    made = World(plugins={"colour": Colour}, config=config).profile.points["filter"][-1].args
    assert isinstance(made, Colour.Args)
    assert (made.favorite_color, made.favorite_number) == expected


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"favourite_color": "red"}, "favourite_color"),
        ({"favorite_number": "seven"}, "favorite_number"),
        ({"favorite_color": 7}, "favorite_color"),
    ],
)
def test_args_are_read_strictly(args: Json, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        World(plugins={"colour": Colour}, config=profile_config(args={"colour": args}))
    assert '"colour"' in str(caught.value)


@pytest.mark.parametrize("args", [None, {"anything": [1, {"goes": True}]}])
def test_args_without_a_struct_are_passed_on(args: Json | None) -> None:
    config = profile_config(args={} if args is None else {"bare": args})
    made: Any = World(plugins={"bare": Bare}, config=config).profile.points["filter"][-1]
    assert (made.args or None) == args


def test_factories() -> None:
    def factory(args: Any, handle: Handle) -> Plugin:
        assert handle.profile_name == "default-scheduler"
        return Bare({"made": args}, handle)

    made: Any = World(plugins={"by-factory": factory}).profile.points["filter"][-1]
    assert made.name == "by-factory"
    assert "made" in made.args


def failing(args: Any, handle: Handle) -> Plugin:
    raise OSError("no file")


@pytest.mark.parametrize(
    ("factory", "text"),
    [
        (failing, 'initializing plugin "x": OSError: no file'),
        (lambda args, handle: 5, 'initializing plugin "x": the factory returned 5, which is not a Plugin'),
        (lambda args, handle: None, "which is not a Plugin"),
        (lambda: None, 'initializing plugin "x": TypeError'),
    ],
)
def test_factories_that_fail(factory: Any, text: str) -> None:
    with pytest.raises(PluginError) as caught:
        World(plugins={"x": factory})
    assert text in str(caught.value)


class NameSuffices(NodeName):
    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None


class AnyName(NameSuffices):
    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Mask, Status]]:
        return iter(())


class OtherWeights(NodeResourcesBalancedAllocation):
    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 0


class Renamed(NodeName):
    name = "Renamed"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (NameSuffices, "class NameSuffices: it overrides filter and inherits filter_nodes, "),
        (OtherWeights, "class OtherWeights: it overrides score and inherits score_nodes, "),
    ],
)
def test_a_subclass_of_an_in_tree_plugin_overrides_all_forms_of_a_rule(kind: type[InTreePlugin], text: str) -> None:
    with pytest.raises(PluginBugError, match=re.escape(text)):
        World(plugins={kind.__name__: kind})


@pytest.mark.parametrize("kind", [Renamed, AnyName, *REGISTRY.values(), *optional_classes(MODULES).values()])
def test_these_do(kind: type[InTreePlugin]) -> None:
    check_forms(kind, InTreePlugin, FORMS)


def build(config: Json, **plugins: Any) -> None:
    known = frozenset(IN_TREE_PLUGINS) | frozenset(plugins)
    settings = enable_everywhere(from_builtins(config, "c", known), {})
    build_profiles(settings, {**REGISTRY, **plugins}, Cluster(), Nominator(), random.Random(0))


def sets(point: str, *enabled: str) -> Json:
    return profile_config({point: {"enabled": [{"name": name} for name in enabled]}})


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (sets("filter", "Bare", "Bare"), 'plugin "Bare" already registered as "FilterPlugin"'),
        (sets("score", "Bare"), 'plugin "Bare" does not extend ScorePlugin plugin'),
        (sets("bind", "NodeName"), 'plugin "NodeName" does not extend BindPlugin plugin'),
        (profile_config({"bind": {"disabled": [{"name": "*"}]}}), "at least one bind plugin is needed"),
        (profile_config({"queueSort": {"disabled": [{"name": "*"}]}}), "only one queue sort plugin"),
    ],
)
def test_configurations_that_kube_scheduler_would_not_start_with(config: Json, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(config, Bare=Bare)
    assert text in str(caught.value)


def test_unknown_plugins() -> None:
    with pytest.raises(StowplanError, match="Nobody"):
        build(sets("filter", "Nobody"))


def test_needs_objects() -> None:
    seen: list[Any] = []

    class Curious(Plugin):
        name = "curious"
        needs_objects = True

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            seen.append((pod.object["spec"]["unknown"], node.object["status"]["unknown"]))
            return None

    world = World([node("n", status={"unknown": 2})], plugins={"curious": Curious})
    world.decide(pod("p", unknown=1))
    assert seen == [(1, 2)]
    world.put_node(node("n", status={"unknown": 3}))
    world.decide(pod("p", unknown=1))
    assert seen[-1] == (1, 3)


def test_whole_objects_for_those_who_do_not_declare_their_need() -> None:
    class Careless(Plugin):
        name = "careless"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return reject(str(pod.object))

    decision = World([node("n")], plugins={"careless": Careless}).decide(pod("p"))
    assert "needs_objects = True" in decision.message


def test_pre_filter_is_given_all_nodes() -> None:
    class Counting(Plugin):
        name = "counting"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status:
            return reject(f"{nodes.meant} nodes: {sorted(info.name for _, info in nodes.infos())}")

    world = World([node("a"), node("b"), node("c")], plugins={"counting": Counting})
    world.cluster.remove_node("b")
    for _ in range(3):
        assert world.decide(pod("p")).message.startswith("0/2 nodes are available: 2 nodes: ['a', 'c'].")


def test_default_configuration_is_what_an_empty_one_becomes() -> None:
    assert from_builtins(profile_config(), "c", frozenset(IN_TREE_PLUGINS)) == default_configuration()
