"""DynamicResources: pods that use devices, through ResourceClaims or extended resources that stand for them.

Belongs here: which claims a pod means, which nodes reach what they were given or have devices to give (`allocation`,
`cel`), the claim that stands for extended resources, what is known of claims before a watch tells it (`assume`), and
what is written into them. May import what every plugin may.
"""

from stowplan.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]
