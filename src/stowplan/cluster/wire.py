"""Paths, bodies and content types of requests to the API server.

Bindings and events, which every pod causes, are protobuf; other bodies are JSON. The field numbers are those of
Kubernetes' .proto files, which never change. Names, uids and resource versions need no escaping in JSON or in a path:
the API server validates them.

Upstream: k8s.io/api/core/v1/generated.proto, k8s.io/api/events/v1/generated.proto
"""

from __future__ import annotations

import time
from typing import Any

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import Kind
from stowplan.cluster.protobuf import envelope, field, number_field, sealed
from stowplan.framework.instructions import encode_note

STRATEGIC_MERGE_PATCH = b"application/strategic-merge-patch+json"
MERGE_PATCH = b"application/merge-patch+json"

_MAX_NAME_BYTES = 253
_BINDING_PATH = b"/api/v1/namespaces/%b/pods/%b/binding"
_POD_PATH = b"/api/v1/namespaces/%b/pods/%b%b"
_EVENTS_PATH = b"/apis/events.k8s.io/v1/namespaces/%b/events"
_POD_SCHEDULED = "PodScheduled"
_DELETE = b'{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"%b"}}'
_BINDING = envelope(b"v1", b"Binding")
_EVENT = envelope(b"events.k8s.io/v1", b"Event")
_NODE = field(1, b"Node")
_POD = field(1, b"Pod") + field(5, b"v1")


# Paths
def collection_path(kind: Kind, namespace: str = "") -> str:
    """The path of all objects of a kind, or of those in one namespace."""
    root = "/api/v1" if kind.api_version == "v1" else f"/apis/{kind.api_version}"
    return f"{root}/namespaces/{namespace}/{kind.resource}" if namespace else f"{root}/{kind.resource}"


def object_path(kind: Kind, name: str, namespace: str = "") -> str:
    return f"{collection_path(kind, namespace)}/{name}"


def binding_path(namespace: str, name: str) -> bytes:
    return _BINDING_PATH % (namespace.encode(), name.encode())


def pod_path(namespace: str, name: str, subresource: bytes = b"") -> bytes:
    return _POD_PATH % (namespace.encode(), name.encode(), subresource)


def events_path(namespace: bytes) -> bytes:
    return _EVENTS_PATH % namespace


# Bindings and events in protobuf
def binding(namespace: str, name: str, uid: str, node_name: str) -> bytes:
    """The body of a binding, which applies only to the pod with this uid."""
    metadata = _metadata(name.encode(), namespace.encode()) + field(5, uid.encode())
    return sealed(_BINDING, field(1, metadata) + field(2, _NODE + field(3, node_name.encode())))


def pod_reference(namespace: str, name: str, uid: str, resource_version: str) -> bytes:
    return _POD + _place(namespace, name, uid, resource_version)


def reference(to: api.ObjectReference) -> bytes:
    kind = field(1, to.kind.encode()) + field(5, to.api_version.encode())
    return kind + _place(to.namespace, to.name, to.uid, to.resource_version) + field(7, to.field_path.encode())


def reporter(controller: str, hostname: str, type_: str, reason: str, action: str) -> bytes:
    """The fields that are equal in many events."""
    texts = {4: controller, 5: f"{controller}-{hostname}", 6: action, 7: reason, 11: type_}
    return b"".join(field(number, text.encode()) for number, text in texts.items())


def event(
    name: bytes, namespace: bytes, moment: float, regarding: bytes, related: bytes, note: str, common: bytes
) -> bytes:
    """The fields of an event. References and common fields are encoded messages; `related` may be empty."""
    return (
        field(1, _metadata(name, namespace))
        + field(2, micro_time(moment))
        + common
        + field(8, regarding)
        + (field(9, related) if related else b"")
        + field(10, encode_note(note))
    )


def series(count: int, last_observed: float) -> bytes:
    """The field `series` of an event."""
    return field(3, number_field(1, count) + field(2, micro_time(last_observed)))


def event_body(fields: bytes) -> bytes:
    return sealed(_EVENT, fields)


def event_name(of: str, number: int) -> bytes:
    """The name of an event; the number alone if the object's name is too long."""
    name = b"%b.%x" % (of.encode(), number)
    return name if len(name) <= _MAX_NAME_BYTES else b"%x" % number


def micro_time(moment: float) -> bytes:
    second, micros = divmod(int(moment * 1e6), 1_000_000)
    return number_field(1, second) + number_field(2, micros * 1000)


def _metadata(name: bytes, namespace: bytes) -> bytes:
    return field(1, name) + field(3, namespace)


def _place(namespace: str, name: str, uid: str, resource_version: str) -> bytes:
    return (
        field(2, namespace.encode())
        + field(3, name.encode())
        + field(4, uid.encode())
        + field(6, resource_version.encode())
    )


# Bodies in JSON
def status_patch(uid: str, condition: api.Condition | None, nominated_node_name: str | None) -> bytes:
    """A strategic merge patch, which keeps conditions of other types and applies only to the pod with this uid."""
    status: dict[str, Any] = {}
    if condition is not None:
        status["conditions"] = [_condition(condition)]
        if condition.type != _POD_SCHEDULED:
            # A new condition would come first; kube-scheduler puts it last.
            status["$setElementOrder/conditions"] = [{"type": _POD_SCHEDULED}, {"type": condition.type}]
    if nominated_node_name is not None:
        status["nominatedNodeName"] = nominated_node_name or None
    return codec.encode({"metadata": {"uid": uid}, "status": status})


def _condition(condition: api.Condition) -> dict[str, Any]:
    """All fields, since a field that is left out would keep its value."""
    written: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "lastProbeTime": None,
        "lastTransitionTime": condition.last_transition_time or None,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.observed_generation:
        written["observedGeneration"] = condition.observed_generation
    return written


def delete_options(uid: str) -> bytes:
    """DeleteOptions with the uid as precondition."""
    return _DELETE % uid.encode()


class MicroTime:
    """Formats times as metav1.MicroTime. The text of a second is cached."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = -1
        self._text = b""

    def __call__(self, moment: float) -> bytes:
        micros = int(moment * 1e6)
        second, fraction = divmod(micros, 1_000_000)
        if second != self._second:
            self._second = second
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()
        return b"%b.%06dZ" % (self._text, fraction)
