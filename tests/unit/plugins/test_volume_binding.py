from typing import Any

import pytest
from tests.builders import HOSTNAME, ZONE
from tests.unit.plugins.volume_fakes import (
    EPHEMERAL,
    StorageCluster,
    affinity,
    claim,
    csi_node,
    labelled,
    owned_by,
    pvc,
    reasons,
    rejected_forever,
    storage_class,
    volume,
)

from stowplan import api
from stowplan.framework import Code, CycleState, Status, implements
from stowplan.plugins.volume_binding import VolumeBinding, VolumeDecision
from stowplan.plugins.volume_binding.plugin import STATE

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")
SELECTED = "volume.kubernetes.io/selected-node"
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def local_claim(name: str, size: str = "1Gi", **metadata: Any) -> api.PersistentVolumeClaim:
    spec = {"storageClassName": "local", "resources": {"requests": {"storage": size}}}
    return claim(name, metadata=metadata, spec=spec)


def local_volume(name: str, host: str, size: str = "1Gi", **spec: Any) -> api.PersistentVolume:
    return volume(name, on=[host], spec={"storageClassName": "local", "capacity": {"storage": size}, **spec})


@pytest.mark.parametrize(
    ("items", "source", "reason"),
    [
        ([], pvc("c"), 'persistentvolumeclaim "c" not found'),
        ([], EPHEMERAL, 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v0"'),
        (
            [claim("c", "pv", status={"phase": "Lost"})],
            pvc("c"),
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "pv"',
        ),
        (
            [claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            pvc("c"),
            'persistentvolumeclaim "c" is being deleted',
        ),
        ([claim("p-v0")], EPHEMERAL, "PVC ns/p-v0 was not created for pod ns/p (pod is not owner)"),
        ([claim("c")], pvc("c"), "pod has unbound immediate PersistentVolumeClaims"),
        (
            [claim("c", spec={"storageClassName": None})],
            pvc("c"),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            [storage_class(mode="Immediate"), claim("c")],
            pvc("c"),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        # A claim that names a volume waits for the binding to be completed, whatever its class says.
        (
            [storage_class(), volume("pv"), claim("c", "pv", bound=False)],
            pvc("c"),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_claims_that_keep_a_pod_from_every_node(items: list[Any], source: dict[str, Any], reason: str) -> None:
    world = StorageCluster(labelled("a"), *items)
    answer = world.judge(world.plugin(VolumeBinding), world.pod(source))
    assert answer == Status(Code.UnschedulableAndUnresolvable, reason, plugin="VolumeBinding")


def test_a_class_without_a_binding_mode_is_an_error() -> None:
    world = StorageCluster(labelled("a"), storage_class(mode=None), claim("c"))
    answer = world.judge(world.plugin(VolumeBinding), world.pod(pvc("c")))
    assert answer == Status(Code.Error, 'VolumeBindingMode not set for StorageClass "wait"', plugin="VolumeBinding")


def test_bound_volumes_are_reached_from_their_nodes() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), labelled("c"))
    world.put(volume("ab", on=["a", "b"]), volume("bc", on=["b", "c"]), claim("x", "ab"), claim("y", "bc"))
    answer = world.judge(world.plugin(VolumeBinding), world.pod(pvc("x"), pvc("y")))
    assert reasons(answer) == {"a": (NODE_CONFLICT,), "c": (NODE_CONFLICT,)}
    assert rejected_forever(answer)


def test_the_first_bound_claim_with_a_problem_decides() -> None:
    world = StorageCluster(
        labelled("a"), labelled("b"), volume("pv", on=["a"]), claim("x", "pv"), claim("gone", "no such volume")
    )
    plugin = world.plugin(VolumeBinding)
    reached_first = world.judge(plugin, world.pod(pvc("x"), pvc("gone")))
    assert reasons(reached_first) == {"a": (MISSING,), "b": (NODE_CONFLICT,)}
    missing_first = world.judge(plugin, world.pod(pvc("gone"), pvc("x"), name="q"))
    assert reasons(missing_first) == {"a": (MISSING,), "b": (MISSING,)}


def test_claims_find_volumes_of_the_node() -> None:
    world = StorageCluster(
        labelled("a"), labelled("b"), labelled("c"), LOCAL, local_claim("x", "2Gi"), local_claim("y", "1Gi")
    )
    world.put(local_volume("a1", "a", "1Gi"), local_volume("a2", "a", "5Gi"), local_volume("b1", "b", "5Gi"))
    answer = world.judge(world.plugin(VolumeBinding), world.pod(pvc("x"), pvc("y")))
    assert reasons(answer) == {"b": (BIND_CONFLICT,), "c": (BIND_CONFLICT,)}
    assert rejected_forever(answer)


def test_small_claims_choose_first() -> None:
    world = StorageCluster(labelled("a"), LOCAL, local_claim("large", "2Gi"), local_claim("small", "1Gi"))
    world.put(local_volume("3Gi", "a", "3Gi"), local_volume("5Gi", "a", "5Gi"))
    plugin, pod, state = world.plugin(VolumeBinding), world.pod(pvc("large"), pvc("small")), CycleState()
    assert world.judge(plugin, pod, state) == {}
    plugin.reserve(state, pod, "a")
    bindings = {c.metadata.name: v.metadata.name for c, v in state.read(STATE).decision.bindings}
    assert bindings == {"small": "3Gi", "large": "5Gi"}


def test_all_that_is_wrong_is_told_in_one_order() -> None:
    driver = api.CSIDriver(
        metadata=api.ObjectMeta(name="csi.example.com"), spec=api.CSIDriverSpec(storage_capacity=True)
    )
    world = StorageCluster(labelled("a"), storage_class(), LOCAL, driver, claim("new"), local_claim("old"))
    world.put(volume("pv", on=["b"]), claim("bound", "pv"), claim("gone", "no such volume"))
    plugin = world.plugin(VolumeBinding)
    table = {
        ("bound", "old"): (NODE_CONFLICT, BIND_CONFLICT),
        ("old", "gone"): (BIND_CONFLICT, MISSING),
        ("new", "gone"): (NO_SPACE, MISSING),
        ("bound", "new"): (NODE_CONFLICT, NO_SPACE),
        # Claims are looked at in the order of their sizes, and the first that cannot be provisioned decides.
        ("new", "old"): (NO_SPACE,),
        ("old", "new"): (BIND_CONFLICT,),
    }
    for i, (claims, expected) in enumerate(table.items()):
        answer = world.judge(plugin, world.pod(*map(pvc, claims), name=f"p{i}"))
        assert reasons(answer) == {"a": expected}, claims


def test_topology_of_the_class() -> None:
    term = {"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}
    world = StorageCluster(labelled("a", **{ZONE: "x"}), labelled("b", **{ZONE: "y"}), labelled("c"), claim("new"))
    world.put(storage_class(allowedTopologies=[term]))
    answer = world.judge(world.plugin(VolumeBinding), world.pod(pvc("new")))
    assert reasons(answer) == {"b": (BIND_CONFLICT,), "c": (BIND_CONFLICT,)}


def test_a_claim_that_is_being_provisioned_stays_with_its_node() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), storage_class(), volume("free"))
    world.put(claim("new", metadata={"annotations": {SELECTED: "b"}}))
    plugin, pod, state = world.plugin(VolumeBinding), world.pod(pvc("new")), CycleState()
    assert reasons(world.judge(plugin, pod, state)) == {"a": (BIND_CONFLICT,)}
    assert plugin.reserve(state, pod, "b") is None
    decision = state.read(STATE).decision
    assert decision.bindings == ()
    assert [c.metadata.name for c in decision.provisions] == ["new"]


def test_ephemeral_volumes() -> None:
    world = StorageCluster(
        labelled("a"), labelled("b"), LOCAL, local_volume("pv", "b"), local_claim("p-v0", **owned_by("p"))
    )
    assert reasons(world.judge(world.plugin(VolumeBinding), world.pod(EPHEMERAL))) == {"a": (BIND_CONFLICT,)}


def test_a_malformed_selector_is_an_error() -> None:
    selector = {"matchExpressions": [{"key": "k", "operator": "Near"}]}
    world = StorageCluster(labelled("a"), storage_class(), claim("c", spec={"selector": selector}))
    answer = world.judge(world.plugin(VolumeBinding), world.pod(pvc("c")))
    text = 'error creating internal label selector for claim: ns/c: "Near" is not a valid label selector operator'
    assert answer == {"a": Status(Code.Error, text, plugin="VolumeBinding")}


def test_in_tree_volumes_on_nodes_that_leave_them_to_a_driver() -> None:
    spec = {**EBS, "nodeAffinity": affinity({"key": ZONE, "operator": "In", "values": ["x"]})}
    driver_zone = "topology.ebs.csi.aws.com/zone"
    world = StorageCluster(volume("pv", spec=spec), claim("c", "pv"))
    world.put(
        labelled("old-here", **{ZONE: "x"}),
        labelled("old-there", **{driver_zone: "x"}),
        labelled("new-here", **{driver_zone: "x"}),
        labelled("new-there", **{ZONE: "x"}),
        csi_node("old-there", migrated="kubernetes.io/gce-pd"),
        csi_node("new-here", migrated="kubernetes.io/gce-pd,kubernetes.io/aws-ebs"),
        csi_node("new-there", migrated="kubernetes.io/aws-ebs"),
    )
    plugin = world.plugin(VolumeBinding)
    answer = world.judge(plugin, world.pod(pvc("c")))
    assert reasons(answer) == {"old-there": (NODE_CONFLICT,), "new-there": (NODE_CONFLICT,)}
    world.put(volume("pv", spec={"awsElasticBlockStore": {"volumeID": "aws://zone/nonsense"}}))
    broken = world.judge(plugin, world.pod(pvc("c")))
    assert isinstance(broken, dict)
    assert {name: status.code for name, status in broken.items()} == {"new-here": Code.Error, "new-there": Code.Error}
    assert broken["new-here"].message.startswith("could not translate pv: failed to translate Kubernetes ID")


def test_reserved_volumes_are_not_given_twice() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), LOCAL, local_claim("x"), local_claim("y"))
    world.put(local_volume("a1", "a", "2Gi"), local_volume("b1", "b", "1Gi"))
    plugin, first, second = world.plugin(VolumeBinding), world.pod(pvc("x")), world.pod(pvc("y"), name="q")
    state = CycleState()
    assert world.judge(plugin, first, state) == {}
    assert plugin.reserve(state, first, "a") is None
    assert reasons(world.judge(plugin, second)) == {"a": (BIND_CONFLICT,)}
    # The claim itself keeps its volume: no other node will do for a second pod that uses it.
    assert reasons(world.judge(plugin, world.pod(pvc("x"), name="r"))) == {"b": (BIND_CONFLICT,)}
    (bound_claim, bound_volume), *rest = state.read(STATE).decision.bindings
    assert not rest
    assert bound_claim.metadata.name == "x"
    assert bound_volume.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert bound_volume.spec.claim_ref == api.ObjectReference(
        api_version="v1", kind="PersistentVolumeClaim", namespace="ns", name="x", uid="uid-x"
    )
    plugin.unreserve(state, first, "a")
    plugin.unreserve(state, first, "a")
    assert world.judge(plugin, second) == {}


def test_reserved_provisioning_pins_the_claim_to_its_node() -> None:
    world = StorageCluster(labelled("a"), labelled("b"), storage_class(), claim("shared"))
    plugin, first, second = world.plugin(VolumeBinding), world.pod(pvc("shared")), world.pod(pvc("shared"), name="q")
    state = CycleState()
    assert world.judge(plugin, first, state) == {}
    assert plugin.reserve(state, first, "a") is None
    decision: VolumeDecision = state.read(STATE).decision
    assert [c.metadata.annotations for c in decision.provisions] == [{SELECTED: "a"}]
    assert reasons(world.judge(plugin, second)) == {"b": (BIND_CONFLICT,)}
    plugin.unreserve(state, first, "a")
    assert world.judge(plugin, second) == {}


def test_a_reservation_fails_where_objects_changed() -> None:
    world = StorageCluster(labelled("a"), LOCAL, storage_class(), local_claim("x"), local_claim("z"), claim("y"))
    world.put(local_volume("a1", "a"))
    plugin, pod, state = world.plugin(VolumeBinding), world.pod(pvc("x"), pvc("y")), CycleState()
    assert world.judge(plugin, pod, state) == {}
    world.put(claim("y", metadata={"resourceVersion": "7"}))
    text = '"ns/y" is out of sync (stored: 7, assume: )'
    assert plugin.reserve(state, pod, "a") == Status(Code.Error, text, plugin="VolumeBinding")
    assert state.read(STATE).decision is None
    # What was assumed before the failure is taken back.
    assert world.judge(plugin, world.pod(pvc("z"), name="q")) == {}


def test_there_is_something_to_write_unless_all_is_bound() -> None:
    world = StorageCluster(labelled("a"), storage_class(), claim("new"), volume("pv"), claim("bound", "pv"))
    plugin = world.plugin(VolumeBinding)
    for source, pending in ((pvc("new"), True), (pvc("bound"), False), ({"emptyDir": {}}, False)):
        pod, state = world.pod(source), CycleState()
        world.judge(plugin, pod, state)
        assert plugin.reserve(state, pod, "a") is None
        flight = plugin.pre_bind_pre_flight(state, pod, "a")
        assert (flight is None) is pending
        assert flight is None or flight.code is Code.Skip
        plugin.unreserve(state, pod, "a")


def test_clones_of_the_state_share_the_decision() -> None:
    world = StorageCluster(labelled("a"), storage_class(), claim("new"))
    plugin, pod, state = world.plugin(VolumeBinding), world.pod(pvc("new")), CycleState()
    world.judge(plugin, pod, state)
    plugin.reserve(state.clone(), pod, "a")
    assert state.read(STATE).decision is not None


@pytest.mark.parametrize(
    ("volumes", "concerned"),
    [([], False), ([{"emptyDir": {}}, EBS], False), ([pvc("c")], True), ([EPHEMERAL], True)],
)
def test_whom_it_concerns(volumes: list[dict[str, Any]], concerned: bool) -> None:
    world = StorageCluster(labelled("a"))
    plugin, pod = world.plugin(VolumeBinding), world.pod(*volumes)
    assert plugin.concerns(pod.template) is concerned
    if not concerned:
        answer = world.judge(plugin, pod)
        assert isinstance(answer, Status)
        assert answer.code is Code.Skip


def test_points() -> None:
    points = "pre_filter filter reserve unreserve pre_bind_pre_flight pre_bind pre_score score events_to_register"
    assert all(implements(VolumeBinding, point) for point in points.split())
    assert not implements(VolumeBinding, "add_pod")
    world = StorageCluster(labelled("a"), labelled("b"))
    plugin, pod, nodes = world.plugin(VolumeBinding), world.pod(), world.cluster.nodes.everything()
    assert plugin.pre_score(CycleState(), pod, nodes).code is Code.Skip
    assert plugin.score_nodes(CycleState(), pod, nodes).tolist() == [0, 0]
    info = world.cluster.nodes.get("a")
    assert info is not None
    assert plugin.score(CycleState(), pod, info) == 0


def test_many_local_volumes_are_found_by_host() -> None:
    hosts = [f"n{i}" for i in range(30)]
    world = StorageCluster(*map(labelled, hosts), LOCAL, local_claim("x"))
    world.put(*(local_volume(f"pv-{host}", host) for host in hosts[::2]))
    assert HOSTNAME in next(iter(world.cluster.nodes)).labels
    answer = world.judge(world.plugin(VolumeBinding), world.pod(pvc("x")))
    assert reasons(answer) == dict.fromkeys(hosts[1::2], (BIND_CONFLICT,))
