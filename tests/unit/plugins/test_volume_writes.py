"""PreBind of VolumeBinding: what is written in which order, how long it waits, and every way in which it fails."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import make, node, pod
from tests.builders.engine_host import Host

from stowplan import api
from stowplan.framework import Bind, Failure, Write

SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PREFIX = 'running PreBind plugin "VolumeBinding": '
EBS = {"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}


def storage_class(name: str, provisioner: str) -> Any:
    return make("StorageClass", name, provisioner=provisioner, volumeBindingMode="WaitForFirstConsumer")


def claim(name: str, storage_class: str, size: str = "1Gi") -> Any:
    spec = {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
    return make("PersistentVolumeClaim", name, "default", spec={**spec, "resources": {"requests": {"storage": size}}})


def volume(name: str, size: str = "1Gi", **spec: Any) -> Any:
    reach = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}
    given = {"storageClassName": "local", "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    spec = {**given, "nodeAffinity": {"required": reach}, **spec}
    return make("PersistentVolume", name, spec=spec, status={"phase": "Available"})


def wanting(*claims: str) -> Any:
    return pod("p", volumes=[{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims])


DISK = node("a", labels={"disk": "yes"})
CLASSES = (storage_class("local", "kubernetes.io/no-provisioner"), storage_class("made", "csi.example.com"))


class Disks(Host):
    """A host with storage, and hands for what its controllers would do."""

    def claim(self, name: str) -> api.PersistentVolumeClaim:
        found = self.world.get(api.PersistentVolumeClaim, name, "default")
        assert found is not None
        return found

    def volume(self, name: str) -> api.PersistentVolume:
        found = self.world.get(api.PersistentVolume, name)
        assert found is not None
        return found

    def complete(self, name: str, volume: str, **annotations: str) -> None:
        """The PV controller has bound a claim."""
        known = self.claim(name)
        metadata = replace(known.metadata, annotations={**known.metadata.annotations, COMPLETED: "yes", **annotations})
        self.put(replace(known, metadata=metadata, spec=replace(known.spec, volume_name=volume)))

    def writes(self) -> list[str]:
        self.take()
        told = [each for each in (*self.done, *self.open) if isinstance(each, Write)]
        return [f"{each.verb} {each.kind} {each.item.metadata.name}" for each in told]

    def failure(self) -> str:
        """What is said of the failed attempt, whose end this waits for."""
        self.advance(1)
        self.settle()
        status, reason, message = self.condition("p")
        assert (status, reason) == ("False", "SchedulerError")
        assert message.startswith(PREFIX)
        assert (self.place("p"), self.assumed, self.engine.attempts) == ("error_backoff", set(), {})
        return message.removeprefix(PREFIX)


def both() -> Disks:
    """A claim that gets a volume, and one for which a volume is to be made."""
    return Disks(DISK, *CLASSES, claim("own", "local"), claim("new", "made"), volume("v"), wanting("new", "own"))


def test_first_volumes_are_written_then_claims() -> None:
    host = both()
    host.engine.schedule_one()
    assert host.writes() == ["patch PersistentVolume v"]
    host.do(host.next_open(Write))
    assert host.writes()[1:] == ["patch PersistentVolumeClaim new"]
    host.do(host.next_open(Write))
    ref = host.volume("v").spec.claim_ref
    assert ref is not None
    assert (ref.kind, ref.namespace, ref.name, ref.uid) == (
        "PersistentVolumeClaim",
        "default",
        "own",
        host.claim("own").metadata.uid,
    )
    assert host.volume("v").metadata.annotations == {BY_CONTROLLER: "yes"}
    assert host.claim("new").metadata.annotations == {SELECTED: "a"}
    assert host.pod("p").spec.node_name == ""


def test_a_patch_says_only_what_changes() -> None:
    host = both()
    host.schedule()
    volumes, claims = (each.changes for each in host.done if isinstance(each, Write))
    assert volumes is not None
    assert (set(volumes), set(volumes["spec"])) == ({"metadata", "spec"}, {"claimRef"})
    assert claims == {"metadata": {"annotations": {SELECTED: "a"}}}


def test_it_looks_each_second_until_all_are_bound() -> None:
    host = both()
    host.schedule()
    host.advance(5)
    assert host.assumed == {"p"}
    host.complete("own", "v")
    host.advance(1)
    assert host.assumed == {"p"}
    host.put(volume("made-for-it", storageClassName="made"))
    host.complete("new", "made-for-it")
    host.settle()
    assert not [each for each in host.done if isinstance(each, Bind)], "not before the next look"
    host.advance(1)
    assert host.node_of("p") == "a"


def test_the_first_look_is_after_a_second() -> None:
    host = Disks(DISK, *CLASSES, claim("own", "local"), volume("v"), wanting("own"))
    host.schedule()
    host.complete("own", "v")
    host.advance(0.9)
    assert host.node_of("p") == ""
    host.advance(0.1)
    assert host.node_of("p") == "a"


def test_the_node_is_nominated_meanwhile() -> None:
    host = both()
    host.schedule()
    assert host.pod("p").status.nominated_node_name == "a"


def test_time_is_up() -> None:
    host = both()
    host.schedule()
    host.advance(599.9)
    assert host.assumed == {"p"}
    host.advance(0.2)
    host.settle()
    assert host.condition("p")[2] == f"{PREFIX}binding volumes: context deadline exceeded"
    assert host.pod("p").status.nominated_node_name == ""


def test_how_long_is_configured() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 2}}]}],
    }
    host = Disks(DISK, *CLASSES, claim("new", "made"), wanting("new"), config=config)
    host.schedule()
    host.advance(1)
    assert host.failure() == "binding volumes: context deadline exceeded"


@pytest.mark.parametrize("which", [0, 1])
def test_a_write_that_is_refused(which: int) -> None:
    host = both()
    host.schedule(Write)
    for _ in range(which):
        host.do(host.next_open(Write))
    host.answer(Write, Failure("the object has been modified", "Conflict"))
    assert len(host.writes()) == which + 1
    host.settle()
    assert host.condition("p")[2] == f"{PREFIX}the object has been modified"
    assert host.place("p") == "error_backoff"


def test_what_was_reserved_is_free_again_after_a_failure() -> None:
    host = Disks(DISK, *CLASSES, claim("own", "local"), claim("other", "local"), volume("v"), wanting("own"))
    host.engine.schedule_one()
    host.put({**wanting("other"), "metadata": {"name": "q", "namespace": "default", "uid": "q"}})
    host.engine.schedule_one()
    assert host.place("q") == "unschedulable", "the only volume is spoken for"
    host.answer(Write, Failure("no", "Conflict"))
    host.state.queue.activate([host.engine.pending["q"].pod])
    host.engine.schedule_one()
    assert host.writes()[-1] == "patch PersistentVolume v"
    assert set(host.engine.attempts) == {"q"}


def _moved(host: Disks) -> None:
    host.complete("new", "far")
    expressions = [{"key": "disk", "operator": "In", "values": ["other"]}]
    reach = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    host.put(volume("far", storageClassName="made", nodeAffinity=reach))


def _unclaimed(host: Disks) -> None:
    known = host.volume("v")
    host.put(replace(known, spec=replace(known.spec, claim_ref=None)))


def _annotated(host: Disks, **annotations: str) -> None:
    known = host.claim("new")
    host.put(replace(known, metadata=replace(known.metadata, annotations=annotations)))


MISMATCH = 'node affinity doesn\'t match node "a": no matching NodeSelectorTerms'
WAYS_TO_FAIL: list[tuple[Any, str]] = [
    (lambda host: host.delete(node("a")), 'failed to get node "a": node "a" not found'),
    (lambda host: host.delete(host.volume("v")), 'failed to check binding: persistentvolumes "v" not found'),
    (
        lambda host: host.delete(host.claim("own")),
        'failed to check binding: persistentvolumeclaims "default/own" not found',
    ),
    (lambda host: host.put(node("a")), f'pv "v" {MISMATCH}'),
    (_unclaimed, 'ClaimRef got reset for pv "v"'),
    (
        lambda host: (host.complete("own", "v"), host.delete(host.claim("new"))),
        'failed to check provisioning pvc: persistentvolumeclaims "default/new" not found',
    ),
    (lambda host: (host.complete("own", "v"), _annotated(host)), 'selectedNode annotation reset for PVC "new"'),
    (lambda host: (host.complete("own", "v"), _annotated(host, other="x")), 'provisioning failed for PVC "new"'),
    (
        lambda host: (host.complete("own", "v"), _annotated(host, **{SELECTED: "b"})),
        'provisioning failed for PVC "new"',
    ),
    (lambda host: (host.complete("own", "v"), _moved(host)), f'pv "far" {MISMATCH}'),
]


@pytest.mark.parametrize(("happens", "text"), WAYS_TO_FAIL, ids=[text for _, text in WAYS_TO_FAIL])
def test_what_goes_wrong_while_it_waits(happens: Any, text: str) -> None:
    host = both()
    host.schedule()
    happens(host)
    assert host.failure() == f"binding volumes: {text}"


def test_the_pod_goes_away() -> None:
    host = both()
    host.schedule()
    host.delete(pod("p"))
    host.advance(1)
    assert not host.engine.attempts
    assert (host.events(), host.engine.pending) == ([], {})


def test_an_older_version_is_not_judged() -> None:
    """The watch lags behind what was written: nothing in it can be held against the binding."""
    host = both()
    host.schedule()
    old_volume, old_claim = host.volume("v"), host.claim("new")
    ancient = {"resource_version": "1"}
    unclaimed = replace(old_volume, spec=replace(old_volume.spec, claim_ref=None))
    host.engine.put(replace(unclaimed, metadata=replace(old_volume.metadata, **ancient)))
    host.engine.put(replace(old_claim, metadata=replace(old_claim.metadata, annotations={}, **ancient)))
    host.advance(3)
    assert host.assumed == {"p"}
    host.engine.put(old_volume)
    host.complete("own", "v")
    host.advance(3)
    assert host.assumed == {"p"}
    host.put(volume("fresh", storageClassName="made"))
    host.complete("new", "fresh")
    host.advance(1)
    assert host.node_of("p") == "a"


def test_a_volume_that_is_not_there_yet_is_waited_for() -> None:
    host = Disks(DISK, *CLASSES, claim("new", "made"), wanting("new"))
    host.schedule()
    host.complete("new", "soon")
    host.advance(3)
    assert host.assumed == {"p"}
    host.put(volume("soon", storageClassName="made"))
    host.advance(1)
    assert host.node_of("p") == "a"


@pytest.mark.parametrize(
    ("labels", "zone", "fits"), [({"topology.ebs.csi.aws.com/zone": "z"}, "z", True), ({"disk": "yes"}, "z", False)]
)
def test_volumes_that_migrated_are_judged_by_their_drivers_labels(labels: Any, zone: str, fits: bool) -> None:
    """The node leaves the plugin's volumes to the CSI driver, whose topology has a label of its own."""
    driver = {"name": "ebs.csi.aws.com", "nodeID": "a", "topologyKeys": list(labels)}
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    host = Disks(node("a", labels={"disk": "yes", **labels}), *CLASSES, claim("new", "made"), wanting("new"))
    host.put(make("CSINode", "a", metadata={"annotations": migrated}, spec={"drivers": [driver]}))
    host.schedule()
    expressions = [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]
    reach = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    host.put(volume("disk", storageClassName="made", nodeAffinity=reach, **EBS))
    host.complete("new", "disk")
    if fits:
        host.advance(1)
        assert host.node_of("p") == "a"
    else:
        assert host.failure() == f'binding volumes: pv "disk" {MISMATCH}'
