"""The scheduler's configuration: KubeSchedulerConfiguration read strictly, completed as kube-scheduler does, checked.

Belongs here: the configuration's types, plugin args among them; defaults; validation that finds everything that is
wrong, each with its path; bringing documents of earlier versions to today's; which plugins end up at which extension
point. What comes out is complete: readers of it apply no default of their own.
Does not belong here: plugins, and anything that acts on the configuration.
May import: `api` and `errors`.
"""

from stowplan.config.defaults import IN_TREE_PLUGINS, default_configuration
from stowplan.config.duration import Duration
from stowplan.config.errors import FieldError, InvalidConfigurationError
from stowplan.config.expansion import EnabledPlugin, expand, expand_profiles
from stowplan.config.load import Loaded, from_builtins, load, read
from stowplan.config.types import Extender, KubeSchedulerConfiguration, Profile

__all__ = [
    "IN_TREE_PLUGINS",
    "Duration",
    "EnabledPlugin",
    "Extender",
    "FieldError",
    "InvalidConfigurationError",
    "KubeSchedulerConfiguration",
    "Loaded",
    "Profile",
    "default_configuration",
    "expand",
    "expand_profiles",
    "from_builtins",
    "load",
    "read",
]
