"""Candidates for proposals: changes of the pod that could open nodes, found without running filters.

A change about one plugin can open only nodes that no other plugin rejects.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stowplan.api import amounts
from stowplan.framework import Change, Mask, Refusal, Slots
from stowplan.insight.json_patch import merged
from stowplan.insight.lasting import TAINTS, alike
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.sentences.structural import alike_by_labels
from stowplan.insight.slices import Slices
from stowplan.plugins.node_resources_fit import lower_request

RESOURCES = "NodeResourcesFit"
SELECTOR = "NodeAffinity"
_MAX_SAMPLED_NODES = 48
_MORE_NODES = 3
"""A larger change is proposed only if it opens this multiple of the nodes."""
_MAX_STEPS = 4


def pod_changes(matrix: FilterMatrix) -> Slices[list[Change]]:
    """Distinct changes of the pod, the smallest first."""
    distinct: dict[tuple[str, str], Change] = {}
    for plugin in matrix.by_plugin():
        nodes = matrix.alone(plugin)
        if nodes.any():
            found = _lower_requests(matrix, nodes) if plugin == RESOURCES else _from_refusals(matrix, plugin, nodes)
            for change in found:
                if change is not None:
                    distinct.setdefault((change.kind, change.text), change)
                yield
    return sorted(distinct.values(), key=lambda change: (change.effort, change.text))


def _from_refusals(matrix: FilterMatrix, plugin: str, nodes: Mask) -> Iterator[Change | None]:
    """The changes that the plugin names for a sample of the nodes; None after each node."""
    for slot in _sample(matrix, plugin, nodes).tolist():
        yield None
        info = matrix.table.infos[slot]
        refusals = matrix.explain(plugin, info) if info is not None else []
        if len(refusals) == 1:
            yield from _of_pod(refusals[0])
        else:
            changes = [next(_of_pod(refusal), None) for refusal in refusals]
            if changes and None not in changes:
                yield _together([change for change in changes if change is not None])


def _of_pod(refusal: Refusal) -> Iterator[Change]:
    return (change for change in refusal.changes if change.on == "pod" and change.patch)


def _sample(matrix: FilterMatrix, plugin: str, nodes: Mask) -> Slots:
    """A node of each taint set, or of each combination of the labels that the selector reads; otherwise nodes at equal
    distances."""
    if plugin == SELECTOR:
        return alike_by_labels(matrix, nodes)[:_MAX_SAMPLED_NODES]
    if plugin == TAINTS:
        return np.array(
            [
                np.flatnonzero(group)[0]
                for rejected in matrix.rejected
                if rejected.plugin == TAINTS
                for group in alike(matrix, rejected._replace(nodes=rejected.nodes & nodes))
                if group.any()
            ][:_MAX_SAMPLED_NODES],
            dtype=np.intp,
        )
    slots = np.flatnonzero(nodes)
    if len(slots) <= _MAX_SAMPLED_NODES:
        return slots
    return slots[np.linspace(0, len(slots) - 1, _MAX_SAMPLED_NODES).astype(np.intp)]


def _together(changes: list[Change]) -> Change:
    """Several changes of the pod as one."""
    return Change(
        kind=changes[0].kind,
        on="pod",
        text=" and ".join(change.text for change in changes),
        effort=sum(change.effort for change in changes),
        patch=merged(operation for change in changes for operation in change.patch),
    )


def _lower_requests(matrix: FilterMatrix, nodes: Mask) -> Iterator[Change]:
    """The steps at which a lower request opens nodes: the first, and those that open several times as many.

    Among nodes that lack one resource alone, the k-th largest free amount opens k nodes.
    """
    short = _short_of(matrix, nodes)
    single = {name: mask & _of_one(short) for name, mask in short.items()}
    for resource, mask in single.items():
        if mask.any():
            yield from _steps_of(matrix, resource, mask)
    if short and not any(mask.any() for mask in single.values()):
        change = _lower_together(matrix, short, nodes)
        if change is not None:
            yield change


def _short_of(matrix: FilterMatrix, nodes: Mask) -> dict[str, Mask]:
    high, table = matrix.high, matrix.table
    room = nodes & (table.pod_count.array[:high] < table.allowed_pods.array[:high])
    found = {}
    for resource, amount in matrix.pod.template.requests.items():
        mask = room & (_free(matrix, resource) < amount)
        if amount and mask.any():
            found[resource] = mask
    return found


def _of_one(short: dict[str, Mask]) -> Mask:
    counts = sum(mask.astype(np.int8) for mask in short.values())
    one: Mask = np.asarray(counts == 1)
    return one


def _steps_of(matrix: FilterMatrix, resource: str, mask: Mask) -> Iterator[Change]:
    free = np.sort(_free(matrix, resource)[mask])[::-1]
    values, counts = np.unique(-free, return_counts=True)
    opened, last = np.cumsum(counts), 0
    steps = 0
    for value, count in zip((-values).tolist(), opened.tolist(), strict=True):
        if value > 0 and count >= max(1, last * _MORE_NODES) and steps < _MAX_STEPS:
            change = lowered(matrix, resource, int(value))
            if change is not None:
                yield change
                last, steps = count, steps + 1


def _lower_together(matrix: FilterMatrix, short: dict[str, Mask], nodes: Mask) -> Change | None:
    """The smallest reduction of several requests that opens one node."""
    requests = matrix.pod.template.requests
    share = np.zeros(matrix.high)
    lowest = np.full(matrix.high, np.inf)
    for resource in short:
        free = _free(matrix, resource)
        share += np.maximum(requests[resource] - free, 0) / requests[resource]
        lowest = np.minimum(lowest, free)
    share[~nodes | (lowest <= 0)] = np.inf
    slot = int(share.argmin())
    if not np.isfinite(share[slot]):
        return None
    parts = [
        lowered(matrix, resource, int(_free(matrix, resource)[slot])) for resource, mask in short.items() if mask[slot]
    ]
    changes = [change for change in parts if change is not None]
    return _together(changes) if len(changes) == len(parts) and parts else None


def lowered(matrix: FilterMatrix, resource: str, target: int) -> Change | None:
    """The pod with a smaller request; None where the containers cannot give it up."""
    amount = matrix.pod.template.requests[resource]
    patch = lower_request(matrix.pod, resource, amount - target)
    if not patch:
        return None
    before, after = amounts.compared(resource, amount, target)
    return Change(
        kind="request",
        on="pod",
        text=f"lower {resource} from {before} to {after}",
        effort=1 + 20 * (amount - target) / amount,
        patch=patch,
    )


def _free(matrix: FilterMatrix, resource: str) -> np.ndarray:
    allocatable, requested = matrix.table.resource(resource)
    high = matrix.high
    free: np.ndarray = allocatable.array[:high] - requested.array[:high]
    return free
