import pytest
from tests.builders import node, typed
from tests.builders.plugin_rig import PluginRig, filter_statuses

from stowplan import api
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


def declaring(*features: str) -> api.Node:
    made: api.Node = typed(node("n", status={"declaredFeatures": list(features)}))
    return made


@pytest.fixture
def plugin() -> NodeDeclaredFeatures:
    return PluginRig(NodeDeclaredFeatures).plugin


def pod_with(plugin: NodeDeclaredFeatures, spec: api.PodSpec, uid: str = "u") -> Pod:
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
    plugin.cluster.put_node(declaring(*features))
    asking, state, nodes = pod_with(plugin, spec), CycleState(), plugin.nodes.everything()
    assert plugin.concerns(asking.template)
    assert plugin.pre_filter(state, asking, nodes) is None
    rejected = filter_statuses(plugin, plugin.cluster, asking, state)
    assert rejected == ({} if expected is None else {"n": expected})


@pytest.mark.parametrize("spec", NEITHER)
def test_most_pods_are_skipped(plugin: NodeDeclaredFeatures, spec: api.PodSpec) -> None:
    asking = pod_with(plugin, spec)
    status = plugin.pre_filter(CycleState(), asking, plugin.nodes.everything())
    assert not plugin.concerns(asking.template)
    assert status is not None
    assert status.code is Code.Skip


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, declaring(), QUEUE),
        (declaring("A"), declaring("A"), SKIP),
        (declaring("A"), declaring("A", "B"), QUEUE),
    ],
)
def test_node_events(plugin: NodeDeclaredFeatures, old: api.Node | None, new: api.Node, hint: QueueingHint) -> None:
    registration = next(r for r in plugin.events_to_register() if r.event.resource == EventResource.Node)
    assert registration.event.action == Action.Add | Action.UpdateNodeDeclaredFeature
    assert registration.hint is not None
    assert registration.hint(pod_with(plugin, RESTARTS), old, new) is hint


@pytest.mark.parametrize(
    ("uid", "changed", "hint"), [("u", PLAIN, QUEUE), ("u", RESTARTS_FROM_INIT, SKIP), ("other", PLAIN, SKIP)]
)
def test_pod_updates(plugin: NodeDeclaredFeatures, uid: str, changed: api.PodSpec, hint: QueueingHint) -> None:
    registration = next(r for r in plugin.events_to_register() if r.event.resource == EventResource.Pod)
    assert registration.event.action == Action.Update
    assert registration.hint is not None
    old, new = pod_with(plugin, RESTARTS, uid), pod_with(plugin, changed, uid)
    assert registration.hint(pod_with(plugin, RESTARTS), old, new) is hint
