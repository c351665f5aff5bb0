"""What goes over the wire when something is written: paths and JSON. What goes out for every pod is in `messages`.

Names of objects, their uids and resource versions hold no character that JSON or a path would have to escape; the API
server sees to that.
"""

from __future__ import annotations

import time
from typing import Any

from stowplan import api
from stowplan.api import codec

STRATEGIC_MERGE_PATCH = b"application/strategic-merge-patch+json"
MERGE_PATCH = b"application/merge-patch+json"
_BINDING_PATH = b"/api/v1/namespaces/%b/pods/%b/binding"
_POD_PATH = b"/api/v1/namespaces/%b/pods/%b%b"
_EVENTS_PATH = b"/apis/events.k8s.io/v1/namespaces/%b/events"
_POD_SCHEDULED = "PodScheduled"
_DELETE = b'{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"%b"}}'


def binding_path(namespace: str, name: str) -> bytes:
    return _BINDING_PATH % (namespace.encode(), name.encode())


def pod_path(namespace: str, name: str, subresource: bytes = b"") -> bytes:
    return _POD_PATH % (namespace.encode(), name.encode(), subresource)


def status_patch(uid: str, condition: api.Condition | None, nominated_node_name: str | None) -> bytes:
    """A strategic merge patch, by which conditions of other types stay. Only a pod of this uid takes it."""
    status: dict[str, Any] = {}
    if condition is not None:
        status["conditions"] = [_condition(condition)]
        if condition.type != _POD_SCHEDULED:
            # A condition that is new would come first, where kube-scheduler has it last.
            status["$setElementOrder/conditions"] = [{"type": _POD_SCHEDULED}, {"type": condition.type}]
    if nominated_node_name is not None:
        status["nominatedNodeName"] = nominated_node_name or None
    return codec.encode({"metadata": {"uid": uid}, "status": status})


def _condition(condition: api.Condition) -> dict[str, Any]:
    """All of its fields, as what is left out would stay as it was."""
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
    """Delete the object only if it is this one, not another one of its name."""
    return _DELETE % uid.encode()


def events_path(namespace: bytes) -> bytes:
    return _EVENTS_PATH % namespace


class MicroTime:
    """Formats moments as Kubernetes writes them, with microseconds. A second's text is made once."""

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
