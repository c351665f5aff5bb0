"""What the executor writes to a real API server, as the scheduler's user, beside what kube-scheduler writes there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import Json

from stowplan import api
from stowplan.api import codec
from stowplan.bench.upper_bound import PodKey, measure_upper_bound
from stowplan.cache import Cluster
from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.executor import InstructionExecutor
from stowplan.cluster.kubeconfig import load_connection
from stowplan.cluster.write_client import Writer
from stowplan.config.releases import release_of
from stowplan.framework import Bind, EmitEvent, Evict, Failure, Instruction, PatchStatus, Pod, Write
from stowplan.testing import (
    NOBODY,
    SCHEDULER,
    ControlPlane,
    Delay,
    Drop,
    FaultProxy,
    KubeApi,
    KubeScheduler,
    Reply,
    Rule,
    User,
    node,
    pod,
    wait_until,
)
from stowplan.testing.binaries import kubernetes_version

pytestmark = pytest.mark.e2e


_OURS = {"default-scheduler": "SCHEDULER", "mine": "SCHEDULER", "kube-scheduler": "MANAGER", "stowplan": "MANAGER"}
_IDENTITY = re.compile(r"\b(default-scheduler|mine|kube-scheduler|stowplan)\b")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")


def anonymous(value: Any) -> Any:
    """The same with everything masked that is never twice the same: names, times, versions."""
    if isinstance(value, dict):
        return {key: "*" if key == "resourceVersion" else anonymous(member) for key, member in value.items()}
    if isinstance(value, list):
        return [anonymous(member) for member in value]
    if not isinstance(value, str):
        return value
    value = _TIME.sub(lambda found: "MICROTIME" if found[1] else "TIME", _UUID.sub("UUID", value))
    value = re.sub(r"\b(ours|theirs)(-\w+)?(\.[0-9a-f]{16})?\b", "NAME", value)
    return _IDENTITY.sub(lambda found: _OURS[found[0]], value)


def written(kube_api: KubeApi, name: str, namespace: str) -> Json:
    """What a scheduler has a part in: a pod's status, and the fields that the server takes for the scheduler's."""
    stored = kube_api.get("Pod", name, namespace)
    managers = [
        {"fields": entry["fieldsV1"], "as": entry["manager"]}
        for entry in stored["metadata"]["managedFields"]
        if entry["manager"] in _OURS
    ]
    return anonymous({"status": stored["status"], "managers": managers})


def events(kube_api: KubeApi, name: str, namespace: str) -> list[Json]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    found = [each for each in kube_api.request("GET", path)["items"] if each["regarding"]["name"] == name]
    return [{key: each[key] for key in each.keys() - {"metadata"}} for each in found]


class Hands:
    """An executor that carries out some instructions at a time."""

    def __init__(self, control_plane: ControlPlane, kube_api: KubeApi) -> None:
        self._control_plane = control_plane
        self._kube_api = kube_api
        self._cluster = Cluster()

    def pod(self, name: str, namespace: str) -> Pod:
        return self._cluster.pod(codec.convert(api.Pod, self._kube_api.get("Pod", name, namespace)))

    def do(
        self, *instructions: Instruction, server: str = "", user: User = SCHEDULER, timeout: float = 30
    ) -> list[Any]:
        """Carry them out, one after the other was begun; the answers in order of the requests."""
        connection = load_connection(str(self._control_plane.kubeconfig(user, server=server)))

        def version_of(pod: Pod) -> str:
            return str(self._kube_api.get("Pod", pod.name, pod.namespace)["metadata"]["resourceVersion"])

        async def play() -> list[Any]:
            writer = Writer(connection, sweep_seconds=0.05)
            recorder = EventRecorder(Writer(connection), version_of=version_of, hostname="host")
            executor = InstructionExecutor(writer, recorder)
            answers: dict[Instruction, Any] = {}
            for instruction in instructions:
                executor.execute(instruction, answers.__setitem__)
            assert await writer.drain(timeout)
            assert await recorder.drain(timeout)
            return [answers[each] for each in instructions if each in answers]

        return asyncio.run(play())


@pytest.fixture
def hands(control_plane: ControlPlane, kube_api: KubeApi) -> Hands:
    return Hands(control_plane, kube_api)


def scheduled(of: Pod, node_name: str) -> EmitEvent:
    return EmitEvent(of, "Normal", "Scheduled", "Binding", f"Successfully assigned {of.key} to {node_name}")


def failed(of: Pod, message: str) -> EmitEvent:
    return EmitEvent(of, "Warning", "FailedScheduling", "Scheduling", message)


def test_binding_as_kube_scheduler_does(
    hands: Hands, kube_api: KubeApi, namespace: str, start_kube_scheduler: Callable[..., KubeScheduler]
) -> None:
    kube_api.create_all([node("ant"), pod("ours", namespace, schedulerName="mine"), pod("theirs", namespace)])
    ours = hands.pod("ours", namespace)
    bind = Bind(ours, "ant")
    assert hands.do(scheduled(ours, "ant"), bind) == [None]
    start_kube_scheduler()
    assert kube_api.wait_for_pods_bound(namespace, 2) == {"ours": "ant", "theirs": "ant"}
    assert written(kube_api, "ours", namespace) == written(kube_api, "theirs", namespace)
    assert wait_until(lambda: events(kube_api, "theirs", namespace))
    (theirs,), (mine,) = events(kube_api, "theirs", namespace), events(kube_api, "ours", namespace)
    assert mine.pop("reportingInstance") == "mine-host"
    assert theirs.pop("reportingInstance").startswith("default-scheduler-")
    assert anonymous(mine) == anonymous(theirs)


def test_failing_as_kube_scheduler_does(
    hands: Hands, kube_api: KubeApi, namespace: str, start_kube_scheduler: Callable[..., KubeScheduler]
) -> None:
    kube_api.create_all([node("ant"), *(pod(name, namespace, cpu="9", schedulerName=by) for name, by in _BOTH)])
    start_kube_scheduler()
    (theirs,) = wait_until(lambda: events(kube_api, "theirs", namespace))
    stored = wait_until(lambda: kube_api.get("Pod", "theirs", namespace)["status"].get("conditions"))[0]
    condition = codec.convert(api.Condition, stored)
    assert condition.message == theirs["note"]
    ours = hands.pod("ours", namespace)
    hands.do(failed(ours, theirs["note"]), PatchStatus(ours, condition, None))
    assert written(kube_api, "ours", namespace) == written(kube_api, "theirs", namespace)
    (mine,) = events(kube_api, "ours", namespace)
    del mine["reportingInstance"], theirs["reportingInstance"]
    assert anonymous(mine) == anonymous(theirs)


_BOTH = (("ours", "mine"), ("theirs", "default-scheduler"))


def test_evicting_as_kube_scheduler_does(
    hands: Hands, kube_api: KubeApi, namespace: str, start_kube_scheduler: Callable[..., KubeScheduler]
) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p-{namespace}"}}
    kube_api.create({**high, "value": 1000})
    kube_api.create_all([node("ant", cpu="1"), node("bee", cpu="1")])
    kube_api.create_all(pod(f"{whose}-victim", namespace, cpu="1", schedulerName="none") for whose, _ in _BOTH)
    mine = hands.pod("ours-victim", namespace)
    assert hands.do(Bind(mine, "ant"), Bind(hands.pod("theirs-victim", namespace), "bee")) == [None, None]
    bee = {"nodeSelector": {"kubernetes.io/hostname": "bee"}, "priorityClassName": f"p-{namespace}"}
    kube_api.create(pod("theirs-preemptor", namespace, cpu="1", **bee))
    kube_api.create(pod("ours-preemptor", namespace, cpu="1", **{**bee, "schedulerName": "mine"}))
    start_kube_scheduler()
    wait_until(lambda: kube_api.get("Pod", "theirs-victim", namespace)["metadata"].get("deletionTimestamp"))
    conditions = kube_api.get("Pod", "theirs-victim", namespace)["status"]["conditions"]
    target = codec.convert(api.Condition, next(each for each in conditions if each["type"] == "DisruptionTarget"))
    preemptor = hands.pod("ours-preemptor", namespace)
    note = f"Preempted by pod {preemptor.uid} on node ant"
    related = preemptor if release_of(kubernetes_version()).rules.preempted_refers_to_preemptor else None
    assert hands.do(Evict(mine, target)) == [None]
    hands.do(EmitEvent(mine, "Normal", "Preempted", "Preempting", note, related, "mine"))
    assert written(kube_api, "ours-victim", namespace) == written(kube_api, "theirs-victim", namespace)
    assert kube_api.get("Pod", "ours-victim", namespace)["metadata"]["deletionTimestamp"]
    (theirs,) = wait_until(lambda: events(kube_api, "theirs-victim", namespace))
    (ours,) = events(kube_api, "ours-victim", namespace)
    del ours["reportingInstance"], theirs["reportingInstance"]
    assert anonymous(ours) == anonymous({**theirs, "note": theirs["note"].replace("bee", "ant")})


def test_nominations_are_set_and_cleared(hands: Hands, kube_api: KubeApi, namespace: str) -> None:
    kube_api.create(pod("a", namespace))
    of = hands.pod("a", namespace)
    for nominated in ("ant", ""):
        hands.do(PatchStatus(of, None, nominated))
        assert kube_api.get("Pod", "a", namespace)["status"].get("nominatedNodeName", "") == nominated


def test_what_the_server_refuses(hands: Hands, kube_api: KubeApi, namespace: str) -> None:
    kube_api.create_all([node("ant"), node("bee"), *(pod(name, namespace) for name in "ab")])
    a, b = hands.pod("a", namespace), hands.pod("b", namespace)
    assert hands.do(Bind(a, "ant")) == [None]
    assert hands.do(Bind(a, "ant")) == [None], "it is where it should be"
    (conflict,) = hands.do(Bind(a, "bee"))
    assert (conflict.reason, "already assigned" in conflict.message) == ("Conflict", True)
    kube_api.delete("Pod", "b", namespace, gracePeriodSeconds=0)
    wait_until(lambda: len(kube_api.list("Pod", namespace)) == 1)
    target = api.Condition(type="DisruptionTarget", status="True", last_transition_time="2026-01-01T00:00:00Z")
    assert [each.reason for each in hands.do(Bind(b, "ant"), Evict(b, target))] == ["NotFound", "NotFound"]
    kube_api.create(pod("b", namespace))
    assert [each.reason for each in hands.do(Bind(b, "ant"), Evict(b, target))] == ["Conflict", "NotFound"]
    hands.do(PatchStatus(b, target, "ant"))
    stored = kube_api.get("Pod", "b", namespace)
    assert "nodeName" not in stored["spec"]
    assert "conditions" not in stored["status"], "another pod of that name"
    (forbidden,) = hands.do(Bind(a, "ant"), user=NOBODY)
    assert forbidden.reason == "Forbidden"
    assert "cannot create resource" in forbidden.message


def test_a_series_of_events(hands: Hands, kube_api: KubeApi, namespace: str) -> None:
    kube_api.create(pod("a", namespace))
    of = hands.pod("a", namespace)
    hands.do(*(failed(of, "no room") for _ in range(4)))
    (event,) = events(kube_api, "a", namespace)
    assert event["series"]["count"] == 4
    assert (event["note"], event["type"]) == ("no room", "Warning")


def test_writing_volumes_and_claims(hands: Hands, kube_api: KubeApi, namespace: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow"}
    claim = kube_api.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": namespace},
            "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}},
        }
    )
    stored = codec.convert(api.PersistentVolumeClaim, claim)
    annotate = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "ant"}}}
    (now,) = hands.do(Write("patch", "PersistentVolumeClaim", stored, annotate))
    assert now.metadata.annotations["volume.kubernetes.io/selected-node"] == "ant"
    assert now.metadata.resource_version != stored.metadata.resource_version
    (outdated,) = hands.do(Write("patch", "PersistentVolumeClaim", stored, annotate))
    assert isinstance(outdated, Failure)
    assert outdated.reason == "Conflict"


@pytest.mark.since("v1.36")  # Earlier roles of kube-scheduler may not create claims.
def test_writing_claims_of_devices(hands: Hands, namespace: str) -> None:
    claim = api.ResourceClaim(metadata=api.ObjectMeta(name="gpu", namespace=namespace))
    (made,) = hands.do(Write("create", "ResourceClaim", claim))
    assert made.metadata.uid
    assert [each.reason for each in hands.do(Write("create", "ResourceClaim", claim))] == ["AlreadyExists"]
    assert hands.do(Write("delete", "ResourceClaim", made)) == [made]
    assert [each.reason for each in hands.do(Write("delete", "ResourceClaim", made))] == ["NotFound"]


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        (Drop(forward=True), 2),
        (Drop(), 2),
        (Delay(5.0), 1),
        (Reply(429, "TooManyRequests", retry_after=1), 1),
        (Reply(503, "ServiceUnavailable"), 2),
        (Reply(409, "Conflict"), 0),
    ],
)
def test_bindings_survive_faults(
    hands: Hands,
    kube_api: KubeApi,
    namespace: str,
    start_fault_proxy: Callable[..., FaultProxy],
    monkeypatch: pytest.MonkeyPatch,
    fault: Drop | Delay | Reply,
    times: int,
) -> None:
    monkeypatch.setattr("stowplan.cluster.write_client.write_request.TIMEOUT_SECONDS", 0.5)
    proxy = start_fault_proxy()
    kube_api.create_all([node("ant"), *(pod(name, namespace) for name in "abc")])
    rule = proxy.add(Rule(fault, method="POST", path="/binding$", times=times))
    answers = hands.do(*(Bind(hands.pod(name, namespace), "ant") for name in "abc"), server=proxy.url)
    assert answers == [None] * 3
    assert rule.hits == times
    assert kube_api.bound_pods(namespace) == dict.fromkeys("abc", "ant")


def test_the_ceiling_of_benchmarks(control_plane: ControlPlane, kube_api: KubeApi, namespace: str) -> None:
    kube_api.create_all([node("ant"), node("bee")])
    made = kube_api.create_all(pod(f"p{i:02}", namespace) for i in range(30))
    pods = [PodKey(namespace, each["metadata"]["name"], each["metadata"]["uid"]) for each in made]
    connection = load_connection(str(control_plane.kubeconfig(SCHEDULER)))
    ceiling = asyncio.run(measure_upper_bound(connection, pods, ["ant", "bee"]))
    assert ceiling.pods == 30
    assert sorted(kube_api.bound_pods(namespace).values()) == ["ant"] * 15 + ["bee"] * 15
    assert all(len(events(kube_api, each.name, namespace)) == 1 for each in pods)
