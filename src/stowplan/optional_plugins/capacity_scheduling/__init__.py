"""CapacityScheduling: guaranteed amounts of namespaces, which other namespaces may borrow until they are needed.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling
"""

from stowplan.optional_plugins.capacity_scheduling.plugin import CapacityScheduling

__all__ = ["CapacityScheduling"]
