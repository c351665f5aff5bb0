"""DynamicResources: pods that use devices through ResourceClaims, or through extended resources backed by devices.

Belongs here: the claims of a pod, the nodes that reach allocated devices or have devices to allocate (`allocation`),
the special claim for extended resources, the assume cache of claims, and the writes of PreBind and Unreserve. Does not
belong here: the language of selectors (`cel`). May import: `plugins.base`, `cache`, `cel`, `config`, `framework`,
`api`, `errors`.

Upstream: pkg/scheduler/framework/plugins/dynamicresources
"""

from stowplan.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]
