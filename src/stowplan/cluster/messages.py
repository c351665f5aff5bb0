"""Bindings and events, in protobuf: what goes out for every pod.

The numbers of the fields are those of Kubernetes' published .proto files, which never change.
"""

from __future__ import annotations

from stowplan import api
from stowplan.cluster.protobuf import envelope, field, number_field, sealed

LONGEST_NOTE = 1024
"""In bytes, as all limits of events."""

_LONGEST_NAME = 253
_BINDING = envelope(b"v1", b"Binding")
_EVENT = envelope(b"events.k8s.io/v1", b"Event")
_NODE = field(1, b"Node")
_POD = field(1, b"Pod") + field(5, b"v1")


def binding(namespace: str, name: str, uid: str, node_name: str) -> bytes:
    """The body of a binding. Only a pod of this uid takes it."""
    metadata = _metadata(name.encode(), namespace.encode()) + field(5, uid.encode())
    return sealed(_BINDING, field(1, metadata) + field(2, _NODE + field(3, node_name.encode())))


def pod_reference(namespace: str, name: str, uid: str, resource_version: str) -> bytes:
    return _POD + _place(namespace, name, uid, resource_version)


def reference(to: api.ObjectReference) -> bytes:
    kind = field(1, to.kind.encode()) + field(5, to.api_version.encode())
    return kind + _place(to.namespace, to.name, to.uid, to.resource_version) + field(7, to.field_path.encode())


def reporter(controller: str, hostname: str, type_: str, reason: str, action: str) -> bytes:
    """The fields that many events have in common."""
    told = {4: controller, 5: f"{controller}-{hostname}", 6: action, 7: reason, 11: type_}
    return b"".join(field(number, text.encode()) for number, text in told.items())


def event(
    name: bytes, namespace: bytes, moment: float, regarding: bytes, related: bytes, note: str, common: bytes
) -> bytes:
    """The fields of an event. References and the common fields are messages already; `related` may be empty."""
    return (
        field(1, _metadata(name, namespace))
        + field(2, micro_time(moment))
        + common
        + field(8, regarding)
        + (field(9, related) if related else b"")
        + field(10, _cut(note))
    )


def series(count: int, last_observed: float) -> bytes:
    """The field that makes a series of an event."""
    return field(3, number_field(1, count) + field(2, micro_time(last_observed)))


def event_body(fields: bytes) -> bytes:
    return sealed(_EVENT, fields)


def event_name(of: str, number: int) -> bytes:
    """A name for an event. One about an object with a very long name is named by the number alone."""
    name = b"%b.%x" % (of.encode(), number)
    return name if len(name) <= _LONGEST_NAME else b"%x" % number


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


def _cut(note: str) -> bytes:
    written = note.encode(errors="replace")
    if len(written) <= LONGEST_NOTE:
        return written
    return written[:LONGEST_NOTE].decode(errors="ignore").encode()
