"""Configuration of a scheduler: KubeSchedulerConfiguration, flags, options and feature gates.

Belongs here: types of the configuration and of plugin args; defaults; validation that reports every error with its
path; conversion of earlier versions; the plugins of each extension point; flags and the options that they set. The
result is complete: consumers apply no defaults.
Does not belong here: plugins, and actions on the configuration.
May import: `framework`, `api`, `logs` and `errors`.

Upstream: pkg/scheduler/apis/config, cmd/kube-scheduler/app/options
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
