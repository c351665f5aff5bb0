"""AllocationResults of the API, from the devices that the search found.

Upstream: k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (Allocate,
createNodeSelector)
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from stowplan import api
from stowplan.plugins.dynamic_resources.allocation.allocation_state import Picked
from stowplan.plugins.dynamic_resources.allocation.requests import AllocationError, RequestedDevices, WantedClaim


def allocation(
    claim: WantedClaim, picked: Sequence[Picked], chosen: Mapping[int, int], node_name: str
) -> api.AllocationResult:
    """The allocation of a claim. Shares get new ids, so each call returns a different allocation."""
    taken = [alternatives[chosen.get(number, 0)] for number, alternatives in enumerate(claim.requests)]
    return api.AllocationResult(
        devices=api.DeviceAllocationResult(
            results=tuple(_result(item) for item in picked),
            config=(*_class_config(taken), *_claim_config(claim.claim, taken)),
        ),
        node_selector=_node_selector(claim.claim, picked, node_name),
    )


def _result(item: Picked) -> api.DeviceRequestAllocationResult:
    driver, pool, device = item.device.id
    spec = item.device.spec
    return api.DeviceRequestAllocationResult(
        request=item.wanted.full_name,
        driver=driver,
        pool=pool,
        device=device,
        admin_access=True if item.wanted.admin else None,
        tolerations=item.wanted.spec.tolerations,
        binding_conditions=spec.binding_conditions,
        binding_failure_conditions=spec.binding_failure_conditions,
        share_id=None if item.share is None else str(uuid.uuid4()),
        consumed_capacity={} if item.share is None else {name: amount.text for name, amount in item.share.items()},
    )


def _class_config(taken: Sequence[RequestedDevices]) -> list[api.DeviceAllocationConfiguration]:
    """The configuration of each class once, with its requests."""
    requests: dict[str, list[str]] = {}
    classes: dict[str, api.DeviceClass] = {}
    for wanted in taken:
        name = wanted.device_class.metadata.name
        classes[name] = wanted.device_class
        requests.setdefault(name, []).append(wanted.full_name)
    return [
        api.DeviceAllocationConfiguration(source="FromClass", requests=tuple(requests[name]), opaque=config.opaque)
        for name, device_class in classes.items()
        for config in device_class.spec.config
    ]


def _claim_config(
    claim: api.ResourceClaim, taken: Sequence[RequestedDevices]
) -> list[api.DeviceAllocationConfiguration]:
    """The configuration of a claim for allocated requests, once per request."""
    out: list[api.DeviceAllocationConfiguration] = []
    for config in claim.spec.devices.config:
        named = [wanted for wanted in taken if {wanted.base, wanted.full_name} & set(config.requests)]
        found = api.DeviceAllocationConfiguration(source="FromClaim", requests=config.requests, opaque=config.opaque)
        out += [found] * (len(named) if config.requests else 1)
    return out


def _node_selector(claim: api.ResourceClaim, picked: Sequence[Picked], node_name: str) -> api.NodeSelector | None:
    """The node selector of the allocation; None for all nodes."""
    fields: list[api.NodeSelectorRequirement] = []
    expressions: list[api.NodeSelectorRequirement] = []
    for item in picked:
        device, of = item.device, item.device.slice.spec
        where: api.Device | api.ResourceSliceSpec = device.spec if of.per_device_node_selection else of
        if where.node_name is not None or device.spec.binds_to_node:
            only = api.NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_fields=(only,)),))
        terms = () if where.node_selector is None else where.node_selector.node_selector_terms
        if len(terms) > 1:
            unsupported = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationError(f"create NodeSelector for claim {claim.metadata.name}: {unsupported}")
        for term in terms:
            _extend(fields, term.match_fields)
            _extend(expressions, term.match_expressions)
    if not fields and not expressions:
        return None
    term = api.NodeSelectorTerm(match_fields=tuple(fields), match_expressions=tuple(expressions))
    return api.NodeSelector(node_selector_terms=(term,))


def _extend(to: list[api.NodeSelectorRequirement], more: Sequence[api.NodeSelectorRequirement]) -> None:
    """Add missing requirements; the order of values is ignored."""
    for new in more:
        if not any((new.key, new.operator, set(new.values)) == (o.key, o.operator, set(o.values)) for o in to):
            to.append(new)
