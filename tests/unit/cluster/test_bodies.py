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


def test_a_binding() -> None:
    assert bodies.binding_path("ns", "web-1") == b"/api/v1/namespaces/ns/pods/web-1/binding"
    assert json.loads(bodies.binding("ns", "web-1", "u-1", "n1")) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web-1", "namespace": "ns", "uid": "u-1"},
        "target": {"kind": "Node", "name": "n1"},
    }


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


@given(note=st.text(), related=st.booleans())
def test_an_event(note: str, related: bool) -> None:
    common = bodies.reporter("my-scheduler", "host", "Warning", "FailedScheduling", "Scheduling")
    regarding = bodies.pod_reference("ns", "web-1", "u-1", "42")
    other = bodies.pod_reference("ns", "web-2", "u-2", "")
    moment = bodies.MicroTime()(1767225600.25)
    body = bodies.event(b"web-1.a", b"ns", moment, regarding, other if related else b"", note, common)
    event = json.loads(body)
    assert event.pop("note") == note
    assert event.pop("related", {}).get("uid") == ("u-2" if related else None)
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web-1.a", "namespace": "ns"},
        "eventTime": "2026-01-01T00:00:00.250000Z",
        "reportingController": "my-scheduler",
        "reportingInstance": "my-scheduler-host",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "type": "Warning",
        "regarding": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": "ns",
            "name": "web-1",
            "uid": "u-1",
            "resourceVersion": "42",
        },
    }


@pytest.mark.parametrize(
    ("note", "length"), [("x" * 1024, 1024), ("x" * 1025, 1024), ("ä" * 600, 1024), ("€" * 400, 1023)]
)
def test_a_note_is_cut_to_what_the_server_takes(note: str, length: int) -> None:
    event = json.loads(bodies.event(b"e", b"ns", b"", b"{}", b"", note, b'"type":"Normal"'))
    assert note.startswith(event["note"])
    assert len(event["note"].encode()) == length


def test_names_of_events() -> None:
    assert bodies.event_name("web-1", 255) == b"web-1.ff"
    assert bodies.event_name("x" * 250, 255) == b"x" * 250 + b".ff"
    assert bodies.event_name("x" * 251, 255) == b"ff"


@given(st.floats(0, 4e9))
def test_moments(moment: float) -> None:
    format_moment = bodies.MicroTime()
    expected = datetime.fromtimestamp(int(moment * 1e6) // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    text = format_moment(moment).decode()
    assert text[:19] == expected
    assert text[19:] == f".{int(moment * 1e6) % 1_000_000:06}Z"
    assert format_moment(moment).decode() == text
