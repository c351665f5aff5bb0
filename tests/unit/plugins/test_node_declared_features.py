from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Action, Code, CycleState, EventResource, Pod, QueueingHint, Status
from stowplan.plugins.node_declared_features import NodeDeclaredFeatures

RESTART = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
MISSING = Status(
    Code.UnschedulableAndUnresolvable,
    "node(s) didn't match Pod's required features",
    plugin="NodeDeclaredFeatures",
)
QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip


def restarting(action: str) -> api.Container:
    return api.Container(restart_policy_rules=(api.ContainerRestartRule(action=action),))


PLAIN = api.PodSpec(containers=(api.Container(),))
RESTARTS = api.PodSpec(containers=(restarting("RestartAllContainers"),))
RESTARTS_FROM_INIT = api.PodSpec(init_containers=(restarting("Restart"), restarting("RestartAllContainers")))
NAMESPACED = api.PodSpec(host_network=True, host_users=False)
BOTH = api.PodSpec(containers=RESTARTS.containers, host_network=True, host_users=False)
NEITHER = (
    PLAIN,
    api.PodSpec(containers=(restarting("Restart"),)),
    api.PodSpec(host_network=True),
    api.PodSpec(host_network=True, host_users=True),
    api.PodSpec(host_users=False),
)


def node(*features: str) -> api.Node:
    return api.Node(metadata=api.ObjectMeta(name="n"), status=api.NodeStatus(declared_features=features))


@pytest.fixture
def plugin() -> NodeDeclaredFeatures:
    return NodeDeclaredFeatures(None, cast(Any, SimpleNamespace(cluster=Cluster())))


def pod(plugin: NodeDeclaredFeatures, spec: api.PodSpec, uid: str = "u") -> Pod:
    return plugin.cluster.pod(api.Pod(metadata=api.ObjectMeta(name="p", uid=uid), spec=spec))


@pytest.mark.parametrize(
    ("spec", "features", "expected"),
    [
        (RESTARTS, (), MISSING),
        (RESTARTS, (RESTART,), None),
        (RESTARTS_FROM_INIT, (USER_NAMESPACES,), MISSING),
        (RESTARTS_FROM_INIT, ("InPlacePodLevelResourcesVerticalScaling", RESTART), None),
        (NAMESPACED, (RESTART,), MISSING),
        (NAMESPACED, (RESTART, USER_NAMESPACES), None),
        (BOTH, (RESTART,), MISSING),
        (BOTH, (RESTART, "Unknown", USER_NAMESPACES), None),
        # A list out of order is read as if it were sorted.
        (BOTH, (USER_NAMESPACES, RESTART), MISSING),
        (NAMESPACED, ("Zebra", USER_NAMESPACES), MISSING),
    ],
)
def test_both_forms(
    plugin: NodeDeclaredFeatures, spec: api.PodSpec, features: tuple[str, ...], expected: Status | None
) -> None:
    plugin.cluster.put_node(api.Node(metadata=api.ObjectMeta(name="before")))
    info = plugin.cluster.put_node(node(*features))
    plugin.cluster.remove_node("before")
    asking, state, nodes = pod(plugin, spec), CycleState(), plugin.nodes.everything()
    assert plugin.concerns(asking.template)
    assert plugin.pre_filter(state, asking, nodes) is None
    assert plugin.filter(state, asking, info) == expected
    ((mask, status),) = plugin.filter_nodes(state, asking, nodes)
    assert status == MISSING
    assert mask.tolist() == [False, expected is not None]


@pytest.mark.parametrize("spec", NEITHER)
def test_most_pods_are_skipped(plugin: NodeDeclaredFeatures, spec: api.PodSpec) -> None:
    asking = pod(plugin, spec)
    status = plugin.pre_filter(CycleState(), asking, plugin.nodes.everything())
    assert not plugin.concerns(asking.template)
    assert status is not None
    assert status.code is Code.Skip


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [(None, node(), QUEUE), (node("A"), node("A"), SKIP), (node("A"), node("A", "B"), QUEUE)],
)
def test_node_events(plugin: NodeDeclaredFeatures, old: api.Node | None, new: api.Node, hint: QueueingHint) -> None:
    registration = next(r for r in plugin.events_to_register() if r.event.resource == EventResource.Node)
    assert registration.event.action == Action.Add | Action.UpdateNodeDeclaredFeature
    assert registration.hint is not None
    assert registration.hint(pod(plugin, RESTARTS), old, new) is hint


@pytest.mark.parametrize(
    ("uid", "changed", "hint"), [("u", PLAIN, QUEUE), ("u", RESTARTS_FROM_INIT, SKIP), ("other", PLAIN, SKIP)]
)
def test_pod_updates(plugin: NodeDeclaredFeatures, uid: str, changed: api.PodSpec, hint: QueueingHint) -> None:
    registration = next(r for r in plugin.events_to_register() if r.event.resource == EventResource.Pod)
    assert registration.event.action == Action.Update
    assert registration.hint is not None
    old, new = pod(plugin, RESTARTS, uid), pod(plugin, changed, uid)
    assert registration.hint(pod(plugin, RESTARTS), old, new) is hint
