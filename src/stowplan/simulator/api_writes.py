"""What an API server does about each sort of request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from stowplan import api
from stowplan.api import codec
from stowplan.framework.instructions import Bind, EmitEvent, Evict, Failure, Instruction, PatchStatus, Write
from stowplan.framework.pod import Pod
from stowplan.simulator import api_errors
from stowplan.simulator.identity import generate_name
from stowplan.simulator.pod_status import started, with_condition

if TYPE_CHECKING:
    from stowplan.simulator.api_server import ApiServer

_PODS = "pods"
_BINDING = "pods/binding"


def _bind(world: ApiServer, request: Bind) -> Failure | None:
    pod = _find(world, request.pod)
    if isinstance(pod, Failure):
        return pod
    name = pod.metadata.name
    if pod.metadata.deletion_timestamp is not None:
        return api_errors.conflict(_BINDING, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        why = f'pod {name} is already assigned to node "{pod.spec.node_name}"'
        return api_errors.conflict(_BINDING, name, why)
    if pod.spec.scheduling_gates:
        return api_errors.conflict(_BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
    world.put(started(pod, request.node_name, world.now()))
    return None


def _patch_status(world: ApiServer, request: PatchStatus) -> Failure | None:
    pod = _find(world, request.pod)
    if isinstance(pod, Failure):
        return pod
    status = pod.status
    if request.condition is not None:
        status = with_condition(status, request.condition, world.now())
    if request.nominated_node_name is not None:
        status = replace(status, nominated_node_name=request.nominated_node_name)
    world.put_status(replace(pod, status=status))
    return None


def _evict(world: ApiServer, request: Evict) -> Failure | None:
    pod = _find(world, request.pod)
    if isinstance(pod, Failure):
        return pod
    status = with_condition(pod.status, request.condition, world.now())
    world.delete(world.put_status(replace(pod, status=status)))
    return None


def _emit_event(world: ApiServer, request: EmitEvent) -> None:
    world.events.append(request)


def _write(world: ApiServer, request: Write) -> Any:
    item, kind = request.item, _served(request)
    if kind is None:
        return Failure("the server could not find the requested resource", "NotFound")
    metadata = item.metadata
    resource = api_errors.resource_of(kind)
    stored = world.get(type(item), metadata.name, metadata.namespace)
    if request.verb == "create":
        return world.put(_named(world, item)) if stored is None else api_errors.already_exists(resource, metadata.name)
    if stored is None:
        return api_errors.not_found(resource, metadata.name)
    if request.verb == "get":
        return stored
    if metadata.uid and metadata.uid != stored.metadata.uid:
        return api_errors.other_uid(resource, stored.metadata, metadata.uid)
    if request.verb == "delete":
        world.delete(stored)
        return stored
    if metadata.resource_version not in ("", stored.metadata.resource_version):
        return api_errors.conflict(resource, metadata.name, api_errors.MODIFIED)
    return world.put(_patched(stored, request.changes or {}, request.subresource))


def _named(world: ApiServer, item: Any) -> Any:
    """The object with a name made for it, if it came with the beginning of one only."""
    metadata = item.metadata
    if metadata.name or not metadata.generate_name:
        return item
    name = generate_name(metadata.generate_name, metadata.namespace, world.version)
    return replace(item, metadata=replace(metadata, name=name))


def _served(request: Write) -> api.Kind | None:
    """The kind of the request, if objects of it are kept here."""
    kind = api.KINDS.get(request.kind)
    return kind if kind is not None and isinstance(request.item, kind.struct) else None


def _patched(stored: Any, changes: dict[str, Any], subresource: str) -> Any:
    """The object after a JSON merge patch. Status and all the rest are written apart from each other."""
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


def _find(world: ApiServer, pod: Pod) -> api.Pod | Failure:
    stored = world.get(api.Pod, pod.name, pod.namespace)
    if stored is None:
        return api_errors.not_found(_PODS, pod.name)
    if stored.metadata.uid != pod.uid:
        return api_errors.other_uid(_PODS, stored.metadata, pod.uid)
    return stored


HANDLERS: dict[type[Instruction], Callable[[ApiServer, Any], Any]] = {
    Bind: _bind,
    PatchStatus: _patch_status,
    Evict: _evict,
    EmitEvent: _emit_event,
    Write: _write,
}
"""What is done about an instruction, by its type."""
