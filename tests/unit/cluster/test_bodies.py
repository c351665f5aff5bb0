from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan import api
from stowplan.cluster import bodies

CONDITION = api.Condition(
    type="PodScheduled",
    status="False",
    reason="Unschedulable",
    message='0/1 nodes: "x"',
    last_transition_time="2026-01-01T00:00:00Z",
    observed_generation=3,
)


def test_paths() -> None:
    assert bodies.binding_path("ns", "web-1") == b"/api/v1/namespaces/ns/pods/web-1/binding"
    assert bodies.pod_path("ns", "web-1", b"/status") == b"/api/v1/namespaces/ns/pods/web-1/status"
    assert bodies.events_path(b"ns") == b"/apis/events.k8s.io/v1/namespaces/ns/events"


@pytest.mark.parametrize(
    ("condition", "nominated", "status"),
    [
        (None, "n1", {"nominatedNodeName": "n1"}),
        (None, "", {"nominatedNodeName": None}),
        (
            CONDITION,
            None,
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": '0/1 nodes: "x"',
                        "lastProbeTime": None,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                        "observedGeneration": 3,
                    }
                ]
            },
        ),
        (
            api.Condition(type="DisruptionTarget", status="True"),
            "n2",
            {
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "",
                        "message": "",
                        "lastProbeTime": None,
                        "lastTransitionTime": None,
                    }
                ],
                "$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "DisruptionTarget"}],
                "nominatedNodeName": "n2",
            },
        ),
    ],
)
def test_a_status_patch_leaves_out_what_is_to_stay(
    condition: api.Condition | None, nominated: str | None, status: object
) -> None:
    expected = {"metadata": {"uid": "u-1"}, "status": status}
    assert json.loads(bodies.status_patch("u-1", condition, nominated)) == expected


def test_a_deletion_is_of_this_very_object() -> None:
    options = json.loads(bodies.delete_options("u-1"))
    assert options == {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u-1"}}


@given(st.floats(0, 4e9))
def test_moments(moment: float) -> None:
    format_moment = bodies.MicroTime()
    expected = datetime.fromtimestamp(int(moment * 1e6) // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    text = format_moment(moment).decode()
    assert text[:19] == expected
    assert text[19:] == f".{int(moment * 1e6) % 1_000_000:06}Z"
    assert format_moment(moment).decode() == text
