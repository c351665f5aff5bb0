"""Controllers that an input refers to and lacks. A controller is assumed to recreate the pods that it loses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowplan import api
from stowplan.simulator.api_server import controller_of
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.gap import Gap
from stowplan.simulator.input.ownership import Ownership, describe
from stowplan.simulator.workloads import CONTROLLERS

_KEPT_OWNER = "the objects that it controls stay as they are"
_RECREATES = "it recreates pods that are evicted"
_UNKNOWN_OWNER = "its controller, which is not simulated, recreates pods that are evicted"


def owner_gaps(ownership: Ownership) -> Iterator[Gap]:
    """Controllers that the input lacks. Pods of nodes (static pods) need none."""
    owned: dict[str, tuple[api.OwnerReference, list[Any], Origin]] = {}
    for item, origin in ownership.objects:
        reference = controller_of(item)
        if reference is not None and reference.kind != "Node" and ownership.owner_of(item) is None:
            owned.setdefault(reference.uid, (reference, [], origin))[1].append(item)
    for reference, items, origin in owned.values():
        namespace, first = items[0].metadata.namespace, items[0]
        name = "/".join(filter(None, (namespace, reference.name)))
        pods = [item for item in items if isinstance(item, api.Pod)]
        index = first.metadata.owner_references.index(controller_of(first))
        known = reference.kind in api.KINDS
        fix = "is not in the input: add it, or take out the reference" if known else "is not simulated"
        problem = origin.locate(
            f"$.metadata.ownerReferences[{index}]: {describe(first)} is controlled by {reference.kind} "
            f'"{reference.name}", which {fix}'
        )
        if not pods:
            yield Gap(reference.kind, name, _KEPT_OWNER, problem)
        elif known:
            owner = _assumed_owner(reference, namespace, pods)
            yield Gap(reference.kind, name, _RECREATES, problem, reference.uid, () if owner is None else (owner,))
        else:
            yield Gap(reference.kind, name, _UNKNOWN_OWNER, problem, reference.uid)


def _assumed_owner(reference: api.OwnerReference, namespace: str, pods: list[api.Pod]) -> Any:
    """A controller that selects its pods of the input, and has as many replicas; None if the kind has no pods."""
    struct: Any = api.KINDS[reference.kind].struct
    controller = CONTROLLERS.get(struct)
    if controller is None:
        return None
    item = struct(metadata=api.ObjectMeta(name=reference.name, namespace=namespace, uid=reference.uid))
    shared = dict(set.intersection(*({*pod.metadata.labels.items()} for pod in pods)))
    changes: dict[str, Any] = {"replicas": len(pods)} if controller.has_replicas else {}
    if shared and hasattr(item.spec, "selector"):
        labels = {key: shared[key] for key in sorted(shared)}
        is_map = isinstance(item, api.ReplicationController)
        changes["selector"] = labels if is_map else api.LabelSelector(match_labels=labels)
    return struct(metadata=item.metadata, spec=type(item.spec)(**changes))
