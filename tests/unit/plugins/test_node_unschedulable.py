from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Action, CycleState, EventResource, Pod, QueueingHint
from stowplan.plugins.node_unschedulable import CORDONED, NodeUnschedulable

KEY = "node.kubernetes.io/unschedulable"
QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip

TOLERATIONS = [
    ((), False),
    ((api.Toleration(key=KEY, operator="Exists"),), True),
    ((api.Toleration(key=KEY, operator="Exists", effect="NoSchedule"),), True),
    ((api.Toleration(operator="Exists"),), True),
    ((api.Toleration(key=KEY, operator="Equal"),), True),
    ((api.Toleration(key=KEY, operator="Equal", value="true"),), False),
    ((api.Toleration(key=KEY, operator="Exists", effect="NoExecute"),), False),
    ((api.Toleration(key="other", operator="Exists"),), False),
]


def node(name: str = "n", unschedulable: bool = False) -> api.Node:
    return api.Node(metadata=api.ObjectMeta(name=name), spec=api.NodeSpec(unschedulable=unschedulable))


@pytest.fixture
def plugin() -> NodeUnschedulable:
    cluster = Cluster()
    for name, unschedulable in (("open", False), ("shut", True), ("also-open", False)):
        cluster.put_node(node(name, unschedulable))
    return NodeUnschedulable(None, cast(Any, SimpleNamespace(cluster=cluster)))


def tolerating(plugin: NodeUnschedulable, *tolerations: api.Toleration, uid: str = "u") -> Pod:
    metadata = api.ObjectMeta(name="p", uid=uid)
    return plugin.cluster.pod(api.Pod(metadata=metadata, spec=api.PodSpec(tolerations=tolerations)))


@pytest.mark.parametrize(("tolerations", "tolerated"), TOLERATIONS)
def test_cordoned_nodes(plugin: NodeUnschedulable, tolerations: tuple[api.Toleration, ...], tolerated: bool) -> None:
    pod, state, nodes = tolerating(plugin, *tolerations), CycleState(), plugin.nodes.everything()
    expected = set() if tolerated else {"shut"}
    assert plugin.concerns(pod.template) is not tolerated
    assert {i.name for i in plugin.nodes if plugin.filter(state, pod, i) == CORDONED} == expected
    masks = list(plugin.filter_nodes(state, pod, nodes))
    assert {i.name for p, i in nodes.infos() if any(mask[p] for mask, _ in masks)} == expected


def test_reason() -> None:
    assert repr(CORDONED) == "<UnschedulableAndUnresolvable by NodeUnschedulable: node(s) were unschedulable>"


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, node(), QUEUE),
        (None, node(unschedulable=True), SKIP),
        (node(unschedulable=True), node(), QUEUE),
        (node(), node(), SKIP),
        (node(), node(unschedulable=True), SKIP),
        (node(unschedulable=True), node(unschedulable=True), SKIP),
    ],
)
def test_node_events(plugin: NodeUnschedulable, old: api.Node | None, new: api.Node, hint: QueueingHint) -> None:
    registration = next(r for r in plugin.events_to_register() if r.event.resource == EventResource.Node)
    assert registration.event.action == Action.Add | Action.UpdateNodeTaint
    assert registration.hint is not None
    assert registration.hint(tolerating(plugin), old, new) is hint


@pytest.mark.parametrize(("uid", "key", "hint"), [("u", KEY, QUEUE), ("u", "other", SKIP), ("somebody", KEY, SKIP)])
def test_toleration_events(plugin: NodeUnschedulable, uid: str, key: str, hint: QueueingHint) -> None:
    registration = next(r for r in plugin.events_to_register() if r.event.resource == EventResource.Pod)
    assert registration.event.action == Action.UpdatePodToleration
    assert registration.hint is not None
    changed = tolerating(plugin, api.Toleration(key=key, operator="Exists"), uid=uid)
    assert registration.hint(tolerating(plugin), tolerating(plugin, uid=uid), changed) is hint
