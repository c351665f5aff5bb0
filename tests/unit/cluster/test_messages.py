from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.proto_json import to_json

from stowplan import api
from stowplan.api import codec
from stowplan.cluster import messages


@pytest.mark.parametrize("name", ["web-1", "x" * 127, "x" * 128, "x" * 253])
def test_a_binding(name: str) -> None:
    assert to_json(messages.binding("ns", name, "u-1", "n1")) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": "ns", "uid": "u-1"},
        "target": {"kind": "Node", "name": "n1"},
    }


@given(note=st.text(), related=st.booleans(), count=st.integers(0, 2**31 - 1))
def test_an_event(note: str, related: bool, count: int) -> None:
    common = messages.reporter("my-scheduler", "host", "Warning", "FailedScheduling", "Scheduling")
    regarding = messages.pod_reference("ns", "web-1", "u-1", "42")
    other = messages.pod_reference("ns", "web-2", "u-2", "")
    fields = messages.event(b"web-1.a", b"ns", 1767225600.25, regarding, other if related else b"", note, common)
    event = to_json(messages.event_body(fields + (messages.series(count, 1767225601.0) if count else b"")))
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
    event = to_json(messages.event_body(messages.event(b"e", b"ns", 0, messages.reference(lease), b"", "", b"")))
    assert event["regarding"] == codec.builtins(lease)


@pytest.mark.parametrize(
    ("note", "length"),
    [("x" * 1024, 1024), ("x" * 1025, 1024), ("ä" * 600, 1024), ("€" * 400, 1023), ("half \ud83d", 6)],
)
def test_a_note_is_cut_to_what_the_server_takes(note: str, length: int) -> None:
    event = to_json(messages.event_body(messages.event(b"e", b"ns", 0, b"", b"", note, b"")))
    assert note.replace("\ud83d", "?").startswith(event["note"])
    assert len(event["note"].encode()) == length


def test_names_of_events() -> None:
    assert messages.event_name("web-1", 255) == b"web-1.ff"
    assert messages.event_name("x" * 250, 255) == b"x" * 250 + b".ff"
    assert messages.event_name("x" * 251, 255) == b"ff"
