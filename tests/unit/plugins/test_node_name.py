import numpy as np
import pytest
from tests.builders import node
from tests.builders.plugin_rig import PluginRig

from stowplan import api
from stowplan.framework import Action, ClusterEvent, CycleState, EventResource, Pod
from stowplan.plugins.node_name import OTHER_NODE, NodeName


@pytest.fixture
def plugin() -> NodeName:
    return PluginRig(NodeName, map(node, "abc")).plugin


def asking_for(plugin: NodeName, node: str) -> Pod:
    return plugin.cluster.pod(api.Pod(spec=api.PodSpec(node_name=node)))


@pytest.mark.parametrize(
    ("wanted", "rejected"), [("", set()), ("b", {"a", "c"}), ("gone", {"a", "b", "c"}), ("unknown", {"a", "b", "c"})]
)
def test_both_forms_leave_the_requested_node(plugin: NodeName, wanted: str, rejected: set[str]) -> None:
    pod, state = asking_for(plugin, wanted), CycleState()
    assert {i.name for i in plugin.nodes if plugin.filter(state, pod, i) == OTHER_NODE} == rejected
    assert {i.name for i in plugin.nodes if plugin.filter(state, pod, i) is None} == {"a", "b", "c"} - rejected
    for nodes in (plugin.nodes.everything(), plugin.nodes.subset(np.array([1, 2], dtype=np.intp))):
        masks = list(plugin.filter_nodes(state, pod, nodes))
        assert all(status is OTHER_NODE for _, status in masks)
        names = {info.name for position, info in nodes.infos() if any(mask[position] for mask, _ in masks)}
        assert names == rejected & {info.name for _, info in nodes.infos()}


def test_it_is_idle_for_pods_that_name_no_node(plugin: NodeName) -> None:
    assert plugin.idle_filter(asking_for(plugin, ""))
    assert not plugin.idle_filter(asking_for(plugin, "a"))


def test_any_new_node_is_worth_an_attempt(plugin: NodeName) -> None:
    (registration,) = plugin.events_to_register()
    assert registration.event == ClusterEvent(EventResource.Node, Action.Add)
    assert registration.hint is None
