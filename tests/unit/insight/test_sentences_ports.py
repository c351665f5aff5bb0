"""Refusals because of host ports, disks and claims that other pods hold."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, container, node, pod

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.closest import check
from stowplan.insight.explain import explain, run
from stowplan.insight.matrix import FilterMatrix

DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ingress", "uid": "ingress"}
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "d1"}}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}


def listening(name: str, on: str = "", *, port: int = 8443, ip: str = "", **more: Any) -> dict[str, Any]:
    ports = [{"containerPort": 80, "hostPort": port, "hostIP": ip}]
    return pod(name, on, containers=[container(ports=ports)], **more)


def explained(world: World, item: dict[str, Any]) -> Explanation:
    return run(explain(world.profile, world.pod(item)))


def refusals(world: World, on: str, plugin: str, item: dict[str, Any]) -> list[Refusal]:
    info = world.cluster.nodes.get(on)
    assert info is not None
    return FilterMatrix(world.profile, world.pod(item)).explain(plugin, info)


def claims() -> World:
    """A claim for one pod at a time, and two nodes."""
    world = World([node("a"), node("b")])
    volume = {"accessModes": ["ReadWriteOncePod"], "capacity": {"storage": "1Gi"}}
    world.put("PersistentVolume", name="pv", spec=volume)
    spec = {"accessModes": ["ReadWriteOncePod"], "volumeName": "pv"}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    for namespace in ("default", "other"):
        world.put("PersistentVolumeClaim", name="data", namespace=namespace, spec=spec, annotations=bound)
    return world


def test_a_port_that_another_pod_has() -> None:
    world = World([node("a")], [listening("x", "a")])
    (found,) = refusals(world, "a", "NodePorts", listening("p"))
    assert (found.id, found.lasting) == ("ports.taken", False)
    assert found.text == "host port 8443/TCP is taken by default/x"
    assert (found.wanted, found.rule) == ("host port 8443/TCP", "host port 8443/TCP free")
    assert found.facts == {"port": 8443, "protocol": "TCP", "ip": "0.0.0.0", "pods": ["default/x"]}
    assert [(each.kind, each.effort, each.text) for each in found.changes] == [
        ("port", 4, "no host port 8443/TCP"),
        ("leave", 10, "default/x leaves"),
    ]
    info = world.cluster.nodes.get("a")
    assert info is not None
    for change in found.changes:
        assert check(world.profile, world.pod(listening("p")), info, (change,)) is None


def test_a_pod_of_a_daemon_set_comes_back() -> None:
    world = World([node("a")], [listening("x", "a", owner=DAEMON_SET)])
    (found,) = refusals(world, "a", "NodePorts", listening("p"))
    assert found.text == "host port 8443/TCP is taken by default/x (DaemonSet: it comes back)"


def test_addresses_and_sidecars() -> None:
    world = World([node("a")], [listening("x", "a", ip="10.0.0.1")])
    sidecar = {**listening("p", ip="10.0.0.1")["spec"]["containers"][0], "name": "s", "restartPolicy": "Always"}
    item = pod("p", initContainers=[sidecar])
    (found,) = refusals(world, "a", "NodePorts", item)
    assert found.text == "host port 8443/TCP on 10.0.0.1 is taken by default/x"
    assert [each.path for each in found.changes[0].patch] == ["/spec/initContainers/0/ports/0/hostPort"]


def test_no_port_is_given_up_on_the_host_network() -> None:
    world = World([node("a")], [listening("x", "a")])
    (found,) = refusals(world, "a", "NodePorts", listening("p", hostNetwork=True))
    assert [change.kind for change in found.changes] == ["leave"]


def test_all_nodes_have_the_port_taken() -> None:
    world = World([node("a"), node("b")], [listening("x", "a", owner=DAEMON_SET), listening("y", "b")])
    answer = explained(world, listening("p"))
    assert answer.sentence == (
        "Needs host port 8443/TCP on its node, not free on any of the 2 nodes: on a, host port 8443/TCP is taken "
        "by default/x (DaemonSet: it comes back)."
    )
    assert answer.verdict == "not-now"
    assert answer.proposals[0].change.text == "no host port 8443/TCP"
    assert [change.text for change in answer.closest[1].changes] == ["no host port 8443/TCP", "default/y leaves"]


def test_requirement_of_ports() -> None:
    world = World([node("a"), node("b")], [listening("x", "a")])
    plugin, item = world.plugin("NodePorts"), world.pod(listening("p"))
    a, b = (plugin.requirement(CycleState(), item, world.cluster.nodes.get(name)) for name in "ab")
    assert (a.wanted, a.there, b.there) == ("host port 8443/TCP", "8443/TCP taken", "free")
    assert plugin.requirement(CycleState(), world.pod(pod("q")), world.cluster.nodes.get("a")) is None


@pytest.mark.parametrize(
    ("disk", "text"),
    [
        ({"gcePersistentDisk": {"pdName": "d1"}}, "GCE disk d1 is mounted for writing by default/x"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "EBS volume vol-1 is mounted for writing by default/x"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}}, "EBS volume vol-1 is mounted by default/x"),
        ({"iscsi": {"iqn": "iqn.x", "targetPortal": "t"}}, "iSCSI disk iqn.x is mounted for writing by default/x"),
        ({"rbd": {"image": "i", "pool": "p", "monitors": ["m"]}}, "RBD image p/i is mounted for writing by default/x"),
    ],
)
def test_a_disk_in_use(disk: dict[str, Any], text: str) -> None:
    volumes = [{"name": "v", **disk}]
    world = World([node("a")], [pod("x", "a", volumes=volumes)])
    (found,) = refusals(world, "a", "VolumeRestrictions", pod("p", volumes=volumes))
    assert (found.id, found.text, found.lasting) == ("disk.in-use", text, False)
    assert found.facts["pods"] == ["default/x"]
    assert [change.text for change in found.changes] == ["default/x leaves"]


def test_the_only_node_has_the_disk_in_use() -> None:
    world = World([node("a")], [pod("x", "a", volumes=[DISK])])
    assert explained(world, pod("p", volumes=[DISK])).sentence == (
        "Needs GCE disk d1 on its node; on the only node, GCE disk d1 is mounted for writing by default/x."
    )


def test_a_claim_for_one_pod_at_a_time() -> None:
    world = claims()
    world.add_pod(pod("x", "a", volumes=[CLAIM]))
    world.add_pod(pod("y", "b", namespace="other", volumes=[CLAIM]))
    answer = explained(world, pod("p", volumes=[CLAIM]))
    assert answer.because is not None
    assert answer.because.id == "claim.exclusive"
    assert answer.because.facts == {"claim": "data", "pods": ["default/x"], "nodes": ["a"]}
    assert answer.sentence == (
        "Claim data may be used by one pod at a time (ReadWriteOncePod), and default/x on a uses it."
    )
    assert answer.verdict == "not-now"
    assert [(each.node, [change.text for change in each.changes]) for each in answer.closest] == [
        ("a", ["default/x leaves"]),
        ("b", ["default/x leaves"]),
    ]


def test_requirement_of_disks_and_claims() -> None:
    world = claims()
    world.add_pod(pod("x", "a", volumes=[CLAIM, DISK]))
    item = world.pod(pod("p", volumes=[CLAIM, DISK]))
    matrix = FilterMatrix(world.profile, item)
    plugin = world.plugin("VolumeRestrictions")
    found = [plugin.requirement(matrix.state, item, world.cluster.nodes.get(name)) for name in "ab"]
    assert [(each.wanted, each.there) for each in found] == [
        ("GCE disk d1, claim data alone", "GCE disk d1, claim data, by default/x, in use"),
        ("GCE disk d1, claim data alone", "claim data, by default/x, in use"),
    ]


def test_a_claim_is_free_when_its_user_is_gone() -> None:
    world = claims()
    leaving = pod("x", "a", volumes=[CLAIM], deletionTimestamp="2026-11-15T13:45:12Z")
    world.add_pod(leaving)
    before = dict(world.cluster.claim_users)
    answer = explained(world, pod("p", volumes=[CLAIM]))
    assert answer.verdict == "waiting"
    assert world.cluster.claim_users == before == {"default/data": 1}


def test_pods_of_daemon_sets_leave_last_and_deleted_ones_are_not_named() -> None:
    world = World([node("a", cpu=6)])
    world.add_pod(pod("daemon", "a", requests={"cpu": "2"}, owner=DAEMON_SET))
    world.add_pod(pod("deleted", "a", requests={"cpu": "2"}, deletionTimestamp="2026-11-15T13:45:12Z"))
    world.add_pod(pod("web", "a", requests={"cpu": "1"}))
    world.add_pod(pod("job", "a", requests={"cpu": "1"}))
    answer = explained(world, pod("p", requests={"cpu": "2"}))
    (leave,) = [change for change in answer.closest[0].changes if change.kind == "leave"]
    assert [each.pod for each in leave.pods] == ["default/job", "default/web"]
