"""Which devices a claim would get on a node, found in kube-scheduler's order of search.

Belongs here: the pools that slices form as seen from a node, what of them is taken, the search, and the result as the
API words it. Does not belong here: cycles, statuses, caches of claims, writes. May import `api` and the sibling `cel`.
"""

from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState, DeviceID, PoolID
from stowplan.plugins.dynamic_resources.allocation.allocator import TIMED_OUT, AllocationFailure, Allocator, Solution
from stowplan.plugins.dynamic_resources.allocation.requests import WantedClaim

__all__ = [
    "TIMED_OUT",
    "AllocatedState",
    "AllocationFailure",
    "Allocator",
    "DeviceID",
    "PoolID",
    "Solution",
    "WantedClaim",
]
