from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.proto_json import to_json

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.cluster import wire
from stowplan.cluster.wire import collection_path, object_path


@pytest.mark.parametrize(
    ("kind", "namespace", "expected"),
    [
        ("Pod", "", "/api/v1/pods"),
        ("Pod", "web", "/api/v1/namespaces/web/pods"),
        ("CSINode", "", "/apis/storage.k8s.io/v1/csinodes"),
        ("Lease", "kube-system", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"),
    ],
)
def test_collections(kind: str, namespace: str, expected: str) -> None:
    assert collection_path(KINDS[kind], namespace) == expected


def test_objects() -> None:
    assert object_path(KINDS["Node"], "n1") == "/api/v1/nodes/n1"
    assert object_path(KINDS["Pod"], "p", "web") == "/api/v1/namespaces/web/pods/p"


CONDITION = api.Condition(
    type="PodScheduled",
    status="False",
    reason="Unschedulable",
    message='0/1 nodes: "x"',
    last_transition_time="2026-01-01T00:00:00Z",
    observed_generation=3,
)


def test_paths() -> None:
    assert wire.binding_path("ns", "web-1") == b"/api/v1/namespaces/ns/pods/web-1/binding"
    assert wire.pod_path("ns", "web-1", b"/status") == b"/api/v1/namespaces/ns/pods/web-1/status"
    assert wire.events_path(b"ns") == b"/apis/events.k8s.io/v1/namespaces/ns/events"


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
    assert json.loads(wire.status_patch("u-1", condition, nominated)) == expected


def test_a_deletion_is_of_this_very_object() -> None:
    options = json.loads(wire.delete_options("u-1"))
    assert options == {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u-1"}}


@given(st.floats(0, 4e9))
def test_moments(moment: float) -> None:
    format_moment = wire.MicroTime()
    expected = datetime.fromtimestamp(int(moment * 1e6) // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    text = format_moment(moment).decode()
    assert text[:19] == expected
    assert text[19:] == f".{int(moment * 1e6) % 1_000_000:06}Z"
    assert format_moment(moment).decode() == text


@pytest.mark.parametrize("name", ["web-1", "x" * 127, "x" * 128, "x" * 253])
def test_a_binding(name: str) -> None:
    assert to_json(wire.binding("ns", name, "u-1", "n1")) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "target": {"kind": "Node", "name": "n1"},
    }


@given(note=st.text(), related=st.booleans(), count=st.integers(0, 2**31 - 1))
def test_an_event(note: str, related: bool, count: int) -> None:
    common = wire.reporter("my-scheduler", "host", "Warning", "FailedScheduling", "Scheduling")
    regarding = wire.pod_reference("ns", "web-1", "u-1", "42")
    other = wire.pod_reference("ns", "web-2", "u-2", "")
    fields = wire.event(b"web-1.a", b"ns", 1767225600.25, regarding, other if related else b"", note, common)
    event = to_json(wire.event_body(fields + (wire.series(count, 1767225601.0) if count else b"")))
    assert event.pop("note", "") == note
    assert event.pop("related", {}).get("uid") == ("u-2" if related else None)
    assert event.pop("series", None) == (
        {"count": count, "lastObservedTime": "2026-01-01T00:00:01.000000Z"} if count else None
    )
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


def test_a_reference_to_anything() -> None:
    lease = api.ObjectReference(kind="Lease", api_version="v1", namespace="ns", name="x", uid="u", field_path="spec")
    event = to_json(wire.event_body(wire.event(b"e", b"ns", 0, wire.reference(lease), b"", "", b"")))
    assert event["regarding"] == codec.builtins(lease)


@pytest.mark.parametrize(
    ("note", "length"),
    [("x" * 1024, 1024), ("x" * 1025, 1024), ("ä" * 600, 1024), ("€" * 400, 1024), ("half \ud83d", 6)],
)
def test_a_note_is_cut_to_what_the_server_takes(note: str, length: int) -> None:
    event = to_json(wire.event_body(wire.event(b"e", b"ns", 0, b"", b"", note, b"")))
    sent = event["note"]
    assert note.replace("\ud83d", "?").startswith(sent.removesuffix(" ..."))
    assert sent.endswith(" ...") == (len(note.encode(errors="replace")) > 1024)
    assert len(sent.encode()) == length


def test_names_of_events() -> None:
    assert wire.event_name("web-1", 255) == b"web-1.ff"
    assert wire.event_name("x" * 250, 255) == b"x" * 250 + b".ff"
    assert wire.event_name("x" * 251, 255) == b"ff"
