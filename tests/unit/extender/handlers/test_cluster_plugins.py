"""Plugins over one cluster: which of them apply to a pod, and the slots of named nodes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import node, pod, typed
from tests.unit.extender.handlers.handler_fakes import Tiers

from stowplan.api import LabelSelector
from stowplan.cache import Cluster
from stowplan.errors import PluginError
from stowplan.extender.handlers import GroupMember
from stowplan.extender.handlers.cluster_plugins import ClusterPlugins
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.policy import PodSelection
from stowplan.framework import CycleState, NodeInfo, Nodes, Plugin, Pod, PodTemplate, Status


class OnlyLarge(Plugin):
    """Applies to pods with a label; PreFilter records the nodes that it gets."""

    name = "only-large"

    def concerns(self, template: PodTemplate) -> bool:
        return "large" in template.labels

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        state.write("seen", [info.name for _, info in nodes.infos()])
        state.write("count", len(nodes))

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None


def cluster_of(*names: str) -> Cluster:
    cluster = Cluster()
    for name in names:
        cluster.put_node(typed(node(name)))
    return cluster


def applying(plugins: ClusterPlugins, **labels: str) -> list[tuple[str, int]]:
    found = plugins.applying_to(plugins.cluster.pod(typed(pod("p", labels=labels))))
    return [(plugin.name, weight) for plugin, weight in found]


def test_plugins_apply_by_selector_and_by_their_own_choice() -> None:
    blue = PodSelection(labels=LabelSelector(match_labels={"team": "blue"}))
    plugins = ClusterPlugins([GroupMember(Tiers, weight=3, selector=blue), GroupMember(OnlyLarge)], Cluster())
    assert applying(plugins) == []
    assert applying(plugins, team="blue") == [("tiers", 3)]
    assert applying(plugins, team="red", large="") == [("only-large", 1)]
    assert applying(plugins, team="blue", large="") == [("tiers", 3), ("only-large", 1)]


def test_two_plugins_of_one_name_are_refused() -> None:
    with pytest.raises(PluginError, match='there are two plugins named "tiers"'):
        ClusterPlugins([GroupMember(Tiers), GroupMember(Tiers)], Cluster())


def test_slots_follow_the_cluster_between_lookups_of_one_list() -> None:
    plugins = ClusterPlugins([GroupMember(Tiers)], cluster_of("a", "b"))
    names = ["b", "gone", "a"]
    assert plugins.slots(names).tolist() == [1, -1, 0]
    assert plugins.slots(names) is plugins.slots(names)
    plugins.cluster.remove_node("a")
    assert plugins.slots(names).tolist() == [1, -1, -1]
    plugins.cluster.put_node(typed(node("gone")))
    assert (plugins.slots(names) >= 0).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a", "b"], True), (["b"], True), (["a", "a"], False), (["a", "gone"], False), ([], False)],
)
def test_known_nodes_without_repeats(names: list[str], expected: bool) -> None:
    assert bool(ClusterPlugins([GroupMember(Tiers)], cluster_of("a", "b")).all_known_once(names)) is expected


def test_pre_filter_runs_on_known_nodes_and_is_recorded_in_the_cycle() -> None:
    plugins = ClusterPlugins([GroupMember(OnlyLarge)], cluster_of("a", "b", "c"))
    cycle = PodCycle(plugins.cluster.pod(typed(pod("p", labels={"large": ""}))), 0.0)
    assert not cycle.pre_filtered
    plugins.pre_filter(plugins.applying_to(cycle.pod), cycle, np.array([2, -1, 0]))
    assert cycle.pre_filtered
    assert sorted(cycle.state.read("seen")) == ["a", "c"]
    assert cycle.state.read("count") == 2
