from __future__ import annotations

from typing import Any

import pytest
from tests.builders import Json, container, node
from tests.unit.queue.fakes import make_pod

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.framework import ALL_EVENTS, Action, EventResource
from stowplan.queue.cluster_events import event_of, gives_up_nomination, node_events, pod_events

CONDITIONS = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        ({}, {}, []),
        ({}, {"labels": {"a": "b"}}, ["NodeUpdateNodeLabel"]),
        ({}, {"annotations": {"a": "b"}}, ["NodeUpdateNodeAnnotation"]),
        ({}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, ["NodeUpdateNodeTaint"]),
        ({"unschedulable": True}, {}, ["NodeUpdateNodeTaint"]),
        ({}, {"unschedulable": True}, []),
        ({"cpu": 4}, {"cpu": "4000m"}, []),
        ({"cpu": 4}, {"cpu": 3}, ["NodeUpdateNodeAllocatable"]),
        ({}, {"extra": {"example.com/gpu": 1}}, ["NodeUpdateNodeAllocatable"]),
        ({}, {"status": {"conditions": CONDITIONS}}, ["NodeUpdateNodeCondition"]),
        (
            {"status": {"conditions": CONDITIONS}},
            {"status": {"conditions": [{**CONDITIONS[0], "reason": "Heartbeat"}]}},
            [],
        ),
        ({}, {"status": {"declaredFeatures": ["F"]}}, ["NodeUpdateNodeDeclaredFeature"]),
        ({}, {"images": [{"names": ["a"]}]}, []),
        (
            {"unschedulable": True},
            {"taints": [{"key": "k"}], "labels": {"a": "b"}, "cpu": 5},
            ["NodeUpdateNodeTaint", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"],
        ),
    ],
)
def test_node_updates(old: Json, new: Json, labels: list[str]) -> None:
    before, after = (codec.convert(api.Node, node("n", **more)) for more in (old, new))
    assert [event.label for event in node_events(before, after)] == labels


TOLERATIONS = [{"key": "k", "operator": "Exists"}]
TWO_CPUS: dict[str, Any] = {"requests": {"cpu": 2, "memory": 100}}


@pytest.mark.parametrize("assigned", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        ({}, {}, ["Update"]),
        ({}, {"nominated": "n"}, ["Update"]),
        ({}, {"labels": {"a": "b"}}, ["UpdatePodLabel"]),
        ({}, {"labels": {"apps.kubernetes.io/pod-index": "1"}}, ["UpdatePodLabel"]),
        ({}, {"tolerations": TOLERATIONS}, ["UpdatePodToleration"]),
        ({"tolerations": TOLERATIONS}, {"tolerations": [{"operator": "Exists"}]}, ["Update"]),
        ({"schedulingGates": [{"name": "g"}]}, {}, ["UpdatePodSchedulingGatesEliminated"]),
        ({"schedulingGates": [{"name": "g"}, {"name": "h"}]}, {"schedulingGates": [{"name": "g"}]}, ["Update"]),
        (TWO_CPUS, {"requests": {"cpu": 1, "memory": 100}}, ["UpdatePodScaleDown"]),
        (TWO_CPUS, {"requests": {"cpu": 2}}, ["UpdatePodScaleDown"]),
        (TWO_CPUS, {"requests": {"cpu": 3, "memory": 99}}, ["UpdatePodScaleDown"]),
        (TWO_CPUS, {"requests": {"cpu": 3, "memory": 101}}, ["Update"]),
        (
            {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]},
            {
                "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}],
                "status": {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "made"}]},
            },
            ["UpdatePodGeneratedResourceClaim"],
        ),
        (
            {**TWO_CPUS, "schedulingGates": [{"name": "g"}]},
            {"labels": {"a": "b"}, "tolerations": TOLERATIONS},
            ["UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodSchedulingGatesEliminated", "UpdatePodToleration"],
        ),
    ],
)
def test_pod_updates(old: Json, new: Json, actions: list[str], assigned: bool) -> None:
    events = pod_events(make_pod("p", **old), make_pod("p", **new), assigned)
    resource = EventResource.AssignedPod if assigned else EventResource.UnschedulablePod
    assert [(event.resource, event.action.name) for event in events] == [(resource, action) for action in actions]


def test_a_running_pod_is_scaled_down_once_its_status_says_so() -> None:
    def resized(spec: int, status: int) -> Any:
        report = {"name": "c", "resources": {"requests": {"cpu": str(status)}}}
        return make_pod("p", containers=[container(cpu=spec)], status={"containerStatuses": [report]})

    before, asked, happened = resized(4, 4), resized(2, 4), resized(2, 2)
    assert [e.label for e in pod_events(before, asked, True)] == ["AssignedPodUpdate"]
    assert [e.label for e in pod_events(asked, happened, True)] == ["AssignedPodUpdatePodScaleDown"]


def test_names_of_custom_kinds() -> None:
    assert KINDS["ElasticQuota"].event_resource == "elasticquotas.v1alpha1.scheduling.x-k8s.io"


@pytest.mark.parametrize("action", [Action.Add, Action.Update, Action.Delete])
def test_other_kinds(action: Action) -> None:
    for kind in KINDS.values():
        event = event_of(kind.struct, action)
        if kind.custom:
            assert event is not None
            assert (event.resource, event.action) == (kind.event_resource, action)
        elif event is not None:
            assert (event.resource.rsplit("/")[-1], event.action) == (kind.name, action)
    in_tree = [kind for kind in KINDS.values() if not kind.custom]
    heard = {event.resource for kind in in_tree if (event := event_of(kind.struct, action)) is not None}
    usual = {registered.event.resource for registered in ALL_EVENTS}
    gated = {EventResource.ResourceSlice, EventResource.VolumeAttachment, EventResource.PodGroup}
    assert heard == usual - {EventResource.Pod} | gated


@pytest.mark.parametrize(
    ("old", "new", "gives_up"),
    [("n", "m", True), ("n", "", True), ("n", None, True), ("n", "n", False), ("", "n", False), ("", None, False)],
)
def test_giving_up_a_nomination(old: str, new: str | None, gives_up: bool) -> None:
    after = None if new is None else make_pod("p", nominated=new)
    assert gives_up_nomination(make_pod("p", nominated=old), after) is gives_up
