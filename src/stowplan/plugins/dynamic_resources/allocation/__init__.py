"""The allocator: devices for claims on a node, found in kube-scheduler's order of search.

Belongs here: the pools of a node, the allocated devices, the search, and the AllocationResult. Does not belong here:
cycles, statuses, caches of claims, writes. May import: `cache`, `cel`, `config`, `framework`, `api`, `errors`.

Upstream: k8s.io/dynamic-resource-allocation/structured
"""

from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState, DeviceID, PoolID
from stowplan.plugins.dynamic_resources.allocation.allocator import AllocationFailure, Allocator, Solution
from stowplan.plugins.dynamic_resources.allocation.features import AllocatorFeatures
from stowplan.plugins.dynamic_resources.allocation.requests import WantedClaim

__all__ = [
    "AllocatedState",
    "AllocationFailure",
    "Allocator",
    "AllocatorFeatures",
    "DeviceID",
    "PoolID",
    "Solution",
    "WantedClaim",
]
