"""DynamicResources: pods that use devices, through ResourceClaims or extended resources that stand for them.

Belongs here: which claims a pod means, whether what they were given can be reached from a node, and the claim that
stands for extended resources. May import what every plugin may.
"""

from stowplan.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]
