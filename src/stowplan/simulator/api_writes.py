"""The API server's handling of each request, and its error messages.

Upstream: k8s.io/apimachinery/pkg/api/errors/errors.go, pkg/registry/core/pod/storage/storage.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec
from stowplan.framework.instructions import (
    Bind,
    EmitEvent,
    Evict,
    Failure,
    Instruction,
    PatchStatus,
    RepeatEvent,
    Write,
)
from stowplan.framework.pod import Pod
from stowplan.simulator.identity import generate_name
from stowplan.simulator.pod_status import started, with_condition

if TYPE_CHECKING:
    from stowplan.simulator.api_server import ApiServer

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

_INVALID_OBJECT_CODE = 4

_PODS = "pods"
_BINDING = "pods/binding"


def _bind(api_server: ApiServer, request: Bind) -> Failure | None:
    pod = _find(api_server, request.pod)
    if isinstance(pod, Failure):
        return pod
    name = pod.metadata.name
    if pod.metadata.deletion_timestamp is not None:
        return conflict(_BINDING, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        why = f'pod {name} is already assigned to node "{pod.spec.node_name}"'
        return conflict(_BINDING, name, why)
    if pod.spec.scheduling_gates:
        return conflict(_BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
    api_server.put(started(pod, request.node_name, api_server.now()))
    return None


def _patch_status(api_server: ApiServer, request: PatchStatus) -> Failure | None:
    pod = _find(api_server, request.pod)
    if isinstance(pod, Failure):
        return pod
    status = pod.status
    if request.condition is not None:
        status = with_condition(status, request.condition, api_server.now())
    if request.nominated_node_name is not None:
        status = replace(status, nominated_node_name=request.nominated_node_name)
    api_server.put_status(replace(pod, status=status))
    return None


def _evict(api_server: ApiServer, request: Evict) -> Failure | None:
    pod = _find(api_server, request.pod)
    if isinstance(pod, Failure):
        return pod
    status = with_condition(pod.status, request.condition, api_server.now())
    api_server.delete(api_server.put_status(replace(pod, status=status)))
    return None


def _emit_event(api_server: ApiServer, request: EmitEvent | RepeatEvent) -> None:
    api_server.events.append(request)


def _write(api_server: ApiServer, request: Write) -> Any:
    item, kind = request.item, _served(request)
    if kind is None:
        return Failure("the server could not find the requested resource", "NotFound")
    metadata = item.metadata
    resource = resource_of(kind)
    stored = api_server.get(type(item), metadata.name, metadata.namespace)
    if request.verb == "create":
        return api_server.put(_named(api_server, item)) if stored is None else already_exists(resource, metadata.name)
    if stored is None:
        return not_found(resource, metadata.name)
    if request.verb == "get":
        return stored
    if metadata.uid and metadata.uid != stored.metadata.uid:
        return other_uid(resource, stored.metadata, metadata.uid)
    if request.verb == "delete":
        api_server.delete(stored)
        return stored
    if metadata.resource_version not in ("", stored.metadata.resource_version):
        return conflict(resource, metadata.name, MODIFIED)
    return api_server.put(_patched(stored, request.changes or {}, request.subresource))


def _named(api_server: ApiServer, item: Any) -> Any:
    """The object with a name generated from generateName, if it has none."""
    metadata = item.metadata
    if metadata.name or not metadata.generate_name:
        return item
    name = generate_name(metadata.generate_name, metadata.namespace, api_server.version)
    return replace(item, metadata=replace(metadata, name=name))


def _served(request: Write) -> api.Kind | None:
    """The kind of the request, if the API server stores it."""
    kind = api.KINDS.get(request.kind)
    return kind if kind is not None and isinstance(request.item, kind.struct) else None


def _patched(stored: Any, changes: dict[str, Any], subresource: str) -> Any:
    """The object after a JSON merge patch, either of its status or of everything else."""
    own = {key: value for key, value in changes.items() if key == "metadata" or (key == "status") == bool(subresource)}
    return codec.convert(type(stored), _merged(msgspec.to_builtins(stored), own))


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _find(api_server: ApiServer, pod: Pod) -> api.Pod | Failure:
    stored = api_server.get(api.Pod, pod.name, pod.namespace)
    if stored is None:
        return not_found(_PODS, pod.name)
    if stored.metadata.uid != pod.uid:
        return other_uid(_PODS, stored.metadata, pod.uid)
    return stored


def resource_of(kind: api.Kind) -> str:
    """The resource with its group, as in error messages."""
    group, slash, _ = kind.api_version.partition("/")
    return f"{kind.resource}.{group}" if slash else kind.resource


def not_found(resource: str, name: str) -> Failure:
    return Failure(f'{resource} "{name}" not found', "NotFound")


def already_exists(resource: str, name: str) -> Failure:
    return Failure(f'{resource} "{name}" already exists', "AlreadyExists")


def conflict(resource: str, name: str, why: str) -> Failure:
    return Failure(f'Operation cannot be fulfilled on {resource} "{name}": {why}', "Conflict")


def other_uid(resource: str, stored: api.ObjectMeta, expected: str) -> Failure:
    """An object with the same name and another uid."""
    plural, _, _ = resource.partition(".")
    key = "/".join(filter(None, ("/registry", plural, stored.namespace, stored.name)))
    why = f"Precondition failed: UID in precondition: {expected}, UID in object meta: {stored.uid}"
    details = f"Code: {_INVALID_OBJECT_CODE}, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    return conflict(resource, stored.name, f"StorageError: invalid object, {details}")


def timed_out() -> Failure:
    return Failure("Timeout: request did not complete within requested timeout - context deadline exceeded", "Timeout")


HANDLERS: dict[type[Instruction], Callable[[ApiServer, Any], Any]] = {
    Bind: _bind,
    PatchStatus: _patch_status,
    Evict: _evict,
    EmitEvent: _emit_event,
    RepeatEvent: _emit_event,
    Write: _write,
}
"""Handlers by type of instruction."""
