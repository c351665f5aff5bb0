import pytest
from tests.builders import node, typed
from tests.builders.plugin_rig import PluginRig, filter_statuses

from stowplan import api
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


OPEN, SHUT = typed(node("n")), typed(node("n", unschedulable=True))


@pytest.fixture
def plugin() -> NodeUnschedulable:
    nodes = [node("open"), node("shut", unschedulable=True), node("also-open")]
    return PluginRig(NodeUnschedulable, nodes).plugin


def tolerating(plugin: NodeUnschedulable, *tolerations: api.Toleration, uid: str = "u") -> Pod:
    metadata = api.ObjectMeta(name="p", uid=uid)
    return plugin.cluster.pod(api.Pod(metadata=metadata, spec=api.PodSpec(tolerations=tolerations)))


@pytest.mark.parametrize(("tolerations", "tolerated"), TOLERATIONS)
def test_cordoned_nodes(plugin: NodeUnschedulable, tolerations: tuple[api.Toleration, ...], tolerated: bool) -> None:
    pod = tolerating(plugin, *tolerations)
    assert plugin.concerns(pod.template) is not tolerated
    rejected = filter_statuses(plugin, plugin.cluster, pod, CycleState())
    assert rejected == ({} if tolerated else {"shut": CORDONED})


def test_reason() -> None:
    assert repr(CORDONED) == "<UnschedulableAndUnresolvable by NodeUnschedulable: node(s) were unschedulable>"


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, OPEN, QUEUE),
        (None, SHUT, SKIP),
        (SHUT, OPEN, QUEUE),
        (OPEN, OPEN, SKIP),
        (OPEN, SHUT, SKIP),
        (SHUT, SHUT, SKIP),
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
