"""Coscheduling: pods of a group are bound only if enough of them have a node; the others wait at Permit.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/coscheduling
"""

from stowplan.optional_plugins.coscheduling.plugin import Coscheduling

__all__ = ["Coscheduling"]
