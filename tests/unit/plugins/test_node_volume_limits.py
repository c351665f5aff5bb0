from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.volume_fakes import (
    EPHEMERAL,
    StorageCluster,
    claim,
    csi_node,
    labelled,
    owned_by,
    pvc,
    storage_class,
    volume,
)

from stowplan import api
from stowplan.api import codec
from stowplan.framework import Action, Code, CycleState, EventResource, QueueingHint, Status
from stowplan.plugins.node_volume_limits import NodeVolumeLimits
from stowplan.plugins.node_volume_limits.plugin import TOO_MANY

QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
CSI = "csi.example.com"
EBS = "ebs.csi.aws.com"
BAD_EBS = {"awsElasticBlockStore": {"volumeID": "aws://zone/nonsense"}}
BAD_EBS_TEXT = "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/nonsense)"


def csi(name: str, driver: str = CSI, handle: str | None = None) -> api.PersistentVolume:
    return volume(name, spec={"csi": {"driver": driver, "volumeHandle": name if handle is None else handle}})


def attachment(name: str, node_name: str, volume_name: str | None, attacher: str = CSI) -> api.VolumeAttachment:
    spec = {"attacher": attacher, "nodeName": node_name, "source": {"persistentVolumeName": volume_name}}
    return codec.convert(api.VolumeAttachment, {"metadata": {"name": name}, "spec": spec})


def world_with(*items: Any, limit: int = 1, driver: str = CSI) -> StorageCluster:
    """Node `a` has a limit, `b` has a CSINode without, `c` has none."""
    return StorageCluster(
        labelled("a"), labelled("b"), labelled("c"), csi_node("a", {driver: limit}), csi_node("b"), *items
    )


def error(text: str) -> Status:
    return Status(Code.Error, text, plugin="NodeVolumeLimits")


@pytest.mark.parametrize(
    ("limit", "present", "wanted", "fits"),
    [
        (1, [], ["x"], True),
        (0, [], ["x"], False),
        (1, ["y"], ["x"], False),
        (2, ["y"], ["x"], True),
        (2, ["y"], ["x", "z"], False),
        # A volume that a pod on the node uses is there already.
        (1, ["x"], ["x"], True),
        (1, ["y", "x"], ["x"], True),
        (2, ["y", "x"], ["x", "z"], False),
        (1, [], ["x", "x"], True),
        # Neither volumes of another driver nor those that are no CSI volumes count.
        (1, ["foreign", "local", "nowhere"], ["x"], True),
        (0, [], ["foreign", "local"], True),
    ],
)
def test_volumes_of_pods_count_once(limit: int, present: list[str], wanted: list[str], fits: bool) -> None:
    world = world_with(csi("x"), csi("y"), csi("z"), csi("foreign", "other.example.com"), volume("local"), limit=limit)
    world.put(*(claim(name, name) for name in ("x", "y", "z", "foreign", "local")))
    for name in present:
        world.pod(pvc(name), name=f"with-{name}", on="a")
    answer = world.judge(world.plugin(NodeVolumeLimits), world.pod(*map(pvc, wanted)))
    assert answer == ({} if fits else {"a": TOO_MANY})
    assert TOO_MANY.code is Code.Unschedulable


@pytest.mark.parametrize(
    ("attachments", "fits"),
    [
        ([attachment("1", "a", "y")], False),
        ([attachment("1", "b", "y")], True),
        ([attachment("1", "a", "gone")], True),
        ([attachment("1", "a", None)], True),
        ([attachment("1", "a", "local")], True),
        ([attachment("1", "a", "y", attacher="")], True),
        ([attachment("1", "a", "y", attacher="other.example.com")], True),
        # An attached volume that no pod on the node uses counts, even if it is the one that the pod brings.
        ([attachment("1", "a", "x")], False),
    ],
)
def test_attached_volumes_count(attachments: list[api.VolumeAttachment], fits: bool) -> None:
    world = world_with(csi("x"), csi("y"), volume("local"), claim("x", "x"), *attachments)
    answer = world.judge(world.plugin(NodeVolumeLimits), world.pod(pvc("x")))
    assert answer == ({} if fits else {"a": TOO_MANY})


def test_filter_gets_along_without_pre_filter() -> None:
    world = world_with(csi("x"), claim("x", "x"), limit=0)
    assert world.filter(world.plugin(NodeVolumeLimits), world.pod(pvc("x")), CycleState()) == {"a": TOO_MANY}


def test_an_attached_volume_in_use_counts_once() -> None:
    world = world_with(csi("x"), csi("y"), claim("x", "x"), claim("y", "y"), attachment("1", "a", "y"), limit=2)
    world.pod(pvc("y"), name="other", on="a")
    plugin, pod = world.plugin(NodeVolumeLimits), world.pod(pvc("x"))
    assert world.judge(plugin, pod) == {}
    world.put(csi("z"), attachment("2", "a", "z"))
    assert world.judge(plugin, pod) == {"a": TOO_MANY}
    world.put(csi_node("a", {CSI: 3}))
    assert world.judge(plugin, pod) == {}


@pytest.mark.parametrize(
    ("items", "driver", "fits"),
    [
        ([storage_class()], CSI, False),
        ([], CSI, True),
        ([storage_class(provisioner="kubernetes.io/aws-ebs")], EBS, False),
        ([storage_class(provisioner="kubernetes.io/azure-file")], "file.csi.azure.com", True),
        ([storage_class(provisioner="kubernetes.io/azure-file")], "kubernetes.io/azure-file", True),
    ],
)
def test_unbound_claims_count_by_their_class(items: list[Any], driver: str, fits: bool) -> None:
    world = world_with(claim("c"), claim("prebound", "not there yet", bound=False), *items, limit=0, driver=driver)
    plugin = world.plugin(NodeVolumeLimits)
    for name in ("c", "prebound"):
        assert world.judge(plugin, world.pod(pvc(name))) == ({} if fits else {"a": TOO_MANY})


@pytest.mark.parametrize(
    ("source", "driver"),
    [
        ({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}, EBS),
        ({"gcePersistentDisk": {"pdName": "d"}}, "pd.csi.storage.gke.io"),
        ({"azureDisk": {"diskName": "d", "diskURI": "u"}}, "disk.csi.azure.com"),
        ({"cinder": {"volumeID": "v"}}, "cinder.csi.openstack.org"),
        ({"portworxVolume": {"volumeID": "v"}}, "pxd.portworx.com"),
    ],
)
def test_in_tree_volumes_count_for_their_drivers(source: dict[str, Any], driver: str) -> None:
    world = world_with(volume("pv", spec=source), claim("c", "pv"), limit=0, driver=driver)
    plugin = world.plugin(NodeVolumeLimits)
    assert world.judge(plugin, world.pod(source)) == {"a": TOO_MANY}
    assert world.judge(plugin, world.pod(pvc("c"))) == {"a": TOO_MANY}


def test_a_volume_is_the_same_in_the_spec_of_a_pod_and_behind_a_claim() -> None:
    ebs = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    behind_claim = {"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}
    world = world_with(volume("pv", spec=behind_claim), claim("c", "pv"), driver=EBS)
    world.pod(ebs, name="other", on="a")
    assert world.judge(world.plugin(NodeVolumeLimits), world.pod(pvc("c"))) == {}


def test_a_missing_claim_stops_a_new_pod_everywhere() -> None:
    world = world_with()
    answer = world.judge(world.plugin(NodeVolumeLimits), world.pod(pvc("c")))
    reason = 'looking up PVC ns/c: persistentvolumeclaim "c" not found'
    status = Status(Code.UnschedulableAndUnresolvable, reason, plugin="NodeVolumeLimits")
    assert answer == dict.fromkeys("abc", status)


def test_ephemeral_volumes_have_claims_of_their_own() -> None:
    world = world_with(csi("x"), csi("y"), claim("p-v0", "x", metadata=owned_by("p")))
    plugin = world.plugin(NodeVolumeLimits)
    assert world.judge(plugin, world.pod(EPHEMERAL)) == {}
    world.put(claim("other-v0", "y", metadata=owned_by("other")))
    world.pod(EPHEMERAL, name="other", on="a")
    assert world.judge(plugin, world.pod(EPHEMERAL)) == {"a": TOO_MANY}


def test_a_claim_that_is_not_the_pods_own_breaks_the_cycle() -> None:
    world = world_with(csi("x"), claim("x", "x"), claim("p-v0"), claim("other-v0"))
    plugin = world.plugin(NodeVolumeLimits)
    foreign = error("PVC ns/p-v0 was not created for pod ns/p (pod is not owner)")
    assert world.judge(plugin, world.pod(EPHEMERAL)) == dict.fromkeys("abc", foreign)
    world.pod(EPHEMERAL, name="other", on="a")
    broken = error("PVC ns/other-v0 was not created for pod ns/other (pod is not owner)")
    assert world.judge(plugin, world.pod(pvc("x"))) == {"a": broken}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (pvc(""), dict.fromkeys("abc", error("PersistentVolumeClaim had no name"))),
        (BAD_EBS, dict.fromkeys("ab", error(f"converting volume(v0) from inline to csi: {BAD_EBS_TEXT}"))),
    ],
)
def test_volumes_that_make_no_sense(source: dict[str, Any], expected: dict[str, Status]) -> None:
    world = world_with()
    assert world.judge(world.plugin(NodeVolumeLimits), world.pod(source)) == expected


def test_volumes_behind_claims_that_make_no_sense_do_not_count() -> None:
    world = world_with(volume("pv", spec=BAD_EBS), claim("c", "pv"), limit=0, driver=EBS)
    assert world.judge(world.plugin(NodeVolumeLimits), world.pod(pvc("c"))) == {}


@pytest.mark.parametrize(
    ("volumes", "concerned"),
    [
        ([], False),
        ([{"emptyDir": {}}, {"rbd": {"monitors": []}}, {"csi": {"driver": CSI}}], False),
        ([pvc("c")], True),
        ([EPHEMERAL], True),
        ([{"vsphereVolume": {"volumePath": "x"}}], True),
    ],
)
def test_whom_it_concerns(volumes: list[dict[str, Any]], concerned: bool) -> None:
    world = StorageCluster(labelled("a"))
    plugin, pod = world.plugin(NodeVolumeLimits), world.pod(*volumes)
    assert plugin.concerns(pod.template) is concerned
    answer = plugin.pre_filter(CycleState(), pod, world.cluster.nodes.everything())
    assert (answer is None) is concerned
    assert answer is None or answer.code is Code.Skip


def test_what_is_registered() -> None:
    registered = [(r.event.resource, r.event.action, r.hint is None) for r in _plugin().events_to_register()]
    assert registered == [
        (EventResource.CSINode, Action.Add, True),
        (EventResource.CSINode, Action.Update, False),
        (EventResource.Pod, Action.Delete, False),
        (EventResource.PersistentVolumeClaim, Action.Add, False),
        (EventResource.VolumeAttachment, Action.Delete, False),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({CSI: 1}, {CSI: 2}, QUEUE),
        ({CSI: 2}, {CSI: 1}, SKIP),
        ({CSI: 1}, {CSI: 1}, SKIP),
        ({}, {CSI: 1}, QUEUE),
        ({CSI: 1}, {}, SKIP),
        ({}, {CSI: 0}, SKIP),
    ],
)
def test_hint_after_csi_node_update(old: dict[str, int], new: dict[str, int], expected: QueueingHint) -> None:
    assert _hint(1)(StorageCluster().pod(pvc("c")), csi_node("a", old), csi_node("a", new)) is expected


@pytest.mark.parametrize(
    ("volumes", "on", "nominated", "expected"),
    [
        ([pvc("c")], "a", "", QUEUE),
        ([EPHEMERAL], "a", "", QUEUE),
        ([BAD_EBS], "a", "", QUEUE),
        ([pvc("c")], "", "a", QUEUE),
        ([pvc("c")], "", "", SKIP),
        ([{"emptyDir": {}}], "a", "", SKIP),
        ([], "a", "", SKIP),
    ],
)
def test_hint_after_pod_delete(volumes: list[dict[str, Any]], on: str, nominated: str, expected: QueueingHint) -> None:
    world = StorageCluster()
    deleted = world.pod(*volumes, name="deleted")
    deleted.node_name, deleted.nominated_node_name = on, nominated
    assert _hint(2)(world.pod(pvc("x")), deleted, None) is expected


@pytest.mark.parametrize(("name", "expected"), [("c", QUEUE), ("p-v1", QUEUE), ("p-v0", SKIP), ("d", SKIP)])
def test_hint_after_claim_add(name: str, expected: QueueingHint) -> None:
    pod = StorageCluster().pod(pvc("c"), EPHEMERAL)
    assert _hint(3)(pod, None, claim(name)) is expected
    assert _hint(3)(pod, None, claim(name, metadata={"namespace": "other"})) is SKIP


@pytest.mark.parametrize(
    ("source", "attacher", "expected"),
    [
        (pvc("c"), "any", QUEUE),
        (EPHEMERAL, CSI, SKIP),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, EBS, QUEUE),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, CSI, SKIP),
        ({"azureFile": {"secretName": "s"}}, "file.csi.azure.com", QUEUE),
        (BAD_EBS, CSI, QUEUE),
        ({"emptyDir": {}}, CSI, SKIP),
    ],
)
def test_hint_after_attachment_delete(source: dict[str, Any], attacher: str, expected: QueueingHint) -> None:
    assert _hint(4)(StorageCluster().pod(source), attachment("1", "a", "pv", attacher), None) is expected


def _plugin() -> NodeVolumeLimits:
    return StorageCluster().plugin(NodeVolumeLimits)


def _hint(index: int) -> Any:
    return list(_plugin().events_to_register())[index].hint


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["pod", "ephemeral", "gone", "attach", "node", "limit"]),
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
def test_bounds_keep_up_with_the_cluster(steps: list[tuple[str, int, int]]) -> None:
    """One plugin lives through all changes; `judge` holds its vector form against the exact count."""
    world = world_with(*(csi(f"x{i}") for i in range(4)), *(claim(f"x{i}", f"x{i}") for i in range(4)), limit=2)
    plugin, pod = world.plugin(NodeVolumeLimits), world.pod(pvc("x0"), pvc("x1"))
    world.judge(plugin, pod)
    for i, (step, a, b) in enumerate(steps):
        host = f"n{a}" if step == "node" else "abc"[a % 3]
        if step == "pod":
            world.pod(pvc(f"x{b}"), name=f"pod-{i}", on=host)
        elif step == "ephemeral":
            world.put(claim(f"pod-{i}-v0", f"x{b}", metadata=owned_by(f"pod-{i}" if b else "nobody")))
            world.pod(EPHEMERAL, name=f"pod-{i}", on=host)
        elif step == "gone":
            world.cluster.remove_pod(f"uid-ns-pod-{a}")
        elif step == "attach":
            world.put(attachment(f"attachment-{i}", host, f"x{b}"))
        elif step == "node":
            world.put(labelled(host), csi_node(host, {CSI: b}))
            world.pod(pvc("x3"), name=f"pod-{i}", on=host)
        else:
            world.put(csi_node(host, {CSI: b}))
        world.judge(plugin, pod)


def test_pods_of_a_what_if_count_in_both_forms() -> None:
    world = world_with(csi("x"), csi("y"), claim("x", "x"), claim("y", "y"))
    plugin, pod = world.plugin(NodeVolumeLimits), world.pod(pvc("x"))
    info = world.cluster.nodes.get("a")
    assert info is not None
    with world.cluster.what_if() as journal:
        journal.add(world.pod(pvc("y"), name="other"), info)
        assert world.judge(plugin, pod) == {"a": TOO_MANY}
    assert world.judge(plugin, pod) == {}
