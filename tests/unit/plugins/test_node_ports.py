import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import node
from tests.builders.plugin_rig import PluginRig

from stowplan import api
from stowplan.framework import Action, Code, CycleState, EventResource, Pod, QueueingHint, Status
from stowplan.plugins.node_ports import TAKEN, NodePorts

QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
Port = tuple[str, int, str]

PORTS = st.tuples(st.sampled_from(("TCP", "UDP", "")), st.integers(0, 2), st.sampled_from(("", "10.0.0.1", "10.0.0.2")))


def make_plugin(nodes: int = 1) -> NodePorts:
    return PluginRig(NodePorts, [node(f"n{number}") for number in range(nodes)]).plugin


def pod_with(plugin: NodePorts, *ports: Port, uid: str = "u", on: str = "", restart_policy: str | None = None) -> Pod:
    container = api.Container(
        name="c",
        restart_policy=restart_policy,
        ports=tuple(api.ContainerPort(protocol=proto, host_port=port, host_ip=ip) for proto, port, ip in ports),
    )
    spec = api.PodSpec(containers=(container,), node_name=on)
    if restart_policy is not None:
        spec = api.PodSpec(init_containers=(container,), node_name=on)
    return plugin.cluster.pod(api.Pod(metadata=api.ObjectMeta(name=uid, uid=uid), spec=spec))


@pytest.mark.parametrize(
    ("used", "wanted", "conflict"),
    [
        (("TCP", 80, ""), ("TCP", 80, ""), True),
        (("TCP", 80, ""), ("", 80, ""), True),
        (("TCP", 80, ""), ("UDP", 80, ""), False),
        (("TCP", 80, ""), ("TCP", 81, ""), False),
        (("TCP", 80, "10.0.0.1"), ("TCP", 80, "10.0.0.2"), False),
        (("TCP", 80, "10.0.0.1"), ("TCP", 80, "10.0.0.1"), True),
        (("TCP", 80, "10.0.0.1"), ("TCP", 80, "0.0.0.0"), True),
        (("TCP", 80, "0.0.0.0"), ("TCP", 80, "10.0.0.1"), True),
    ],
)
def test_conflicts(used: Port, wanted: Port, conflict: bool) -> None:
    plugin = make_plugin()
    plugin.cluster.add_pod(pod_with(plugin, used, uid="running", on="n0"))
    (info,) = plugin.nodes
    expected = Status(
        Code.Unschedulable, "node(s) didn't have free ports for the requested pod ports", plugin="NodePorts"
    )
    assert plugin.filter(CycleState(), pod_with(plugin, wanted), info) == (expected if conflict else None)


@given(st.lists(st.tuples(st.integers(0, 3), PORTS), max_size=8), st.lists(PORTS, max_size=3))
def test_both_forms_agree(running: list[tuple[int, Port]], wanted: list[Port]) -> None:
    plugin = make_plugin(4)
    for number, (host, port) in enumerate(running):
        plugin.cluster.add_pod(pod_with(plugin, port, uid=f"r{number}", on=f"n{host}"))
    plugin.cluster.remove_node("n1")
    newcomer, state = pod_with(plugin, *wanted), CycleState()
    for nodes in (plugin.nodes.everything(), plugin.nodes.subset(np.array([3, 0], dtype=np.intp))):
        ((mask, status),) = plugin.filter_nodes(state, newcomer, nodes)
        assert status is TAKEN
        for position, info in nodes.infos():
            assert bool(mask[position]) == (plugin.filter(state, newcomer, info) is not None)


def test_ports_of_a_pod_that_left_are_free_again() -> None:
    plugin = make_plugin()
    wanted, (info,) = pod_with(plugin, ("TCP", 80, "")), plugin.nodes
    plugin.cluster.add_pod(pod_with(plugin, ("TCP", 80, ""), uid="running", on="n0"))
    with plugin.cluster.what_if() as journal:
        journal.remove(plugin.cluster.pods["running"], info)
        assert plugin.filter(CycleState(), wanted, info) is None
    assert plugin.filter(CycleState(), wanted, info) == TAKEN


@pytest.mark.parametrize(
    ("ports", "restart_policy", "concerned"),
    [
        ((), None, False),
        ((("TCP", 0, ""),), None, False),
        ((("TCP", 80, ""),), None, True),
        ((("TCP", 80, ""),), "Always", True),
        ((("TCP", 80, ""),), "OnFailure", False),
    ],
)
def test_pods_without_host_ports_are_skipped(
    ports: tuple[Port, ...], restart_policy: str | None, concerned: bool
) -> None:
    plugin = make_plugin()
    asking = pod_with(plugin, *ports, restart_policy=restart_policy)
    status = plugin.pre_filter(CycleState(), asking, plugin.nodes.everything())
    assert plugin.concerns(asking.template) is concerned
    assert (status is None) is concerned
    assert status is None or status.code is Code.Skip


@pytest.mark.parametrize(
    ("freed", "on", "nominated", "hint"),
    [
        (("TCP", 80, ""), "n0", "", QUEUE),
        (("TCP", 80, ""), "", "n0", QUEUE),
        (("TCP", 80, ""), "", "", SKIP),
        (("TCP", 81, ""), "n0", "", SKIP),
        (("TCP", 0, ""), "n0", "", SKIP),
    ],
)
def test_deleted_pods(freed: Port, on: str, nominated: str, hint: QueueingHint) -> None:
    plugin = make_plugin()
    deletion, addition = plugin.events_to_register()
    assert (deletion.event.resource, deletion.event.action) == (EventResource.Pod, Action.Delete)
    assert (addition.event.resource, addition.event.action) == (EventResource.Node, Action.Add)
    assert addition.hint is None
    deleted = pod_with(plugin, freed, uid="gone", on=on)
    deleted.nominated_node_name = nominated
    assert deletion.hint is not None
    assert deletion.hint(pod_with(plugin, ("TCP", 80, "10.0.0.1")), deleted, None) is hint
