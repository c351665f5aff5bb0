"""A complete configuration as plain data and as YAML; reading it again gives the same.

Upstream: cmd/kube-scheduler/app/options/configfile.go (LogOrWriteConfig)
"""

from typing import Any

import msgspec

from stowplan.config.args import PluginArgs
from stowplan.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig


def to_builtins(config: KubeSchedulerConfiguration, *, redacts: bool = False) -> dict[str, Any]:
    """The configuration as v1: Kubernetes' field names, durations as text, kinds on the args of in-tree plugins.
    `redacts`: without credentials in args, for pages."""
    plain = _plain(config)
    plain.pop("release", None)
    for profile, plain_profile in zip(config.profiles, plain["profiles"], strict=True):
        plain_profile["pluginConfig"] = [_plugin_config(item, redacts) for item in profile.plugin_config]
    return {"apiVersion": API_VERSION, "kind": KIND, **plain}


def to_yaml(config: KubeSchedulerConfiguration) -> str:
    from stowplan.config import yaml_text  # As in `text`: a slow import that only YAML needs.

    return yaml_text.dump(to_builtins(config))


def _plugin_config(config: PluginConfig, redacts: bool) -> dict[str, Any]:
    args = config.args
    if isinstance(args, PluginArgs):
        shown = args.redacted() if redacts else args
        args = {"apiVersion": API_VERSION, "kind": f"{config.name}Args", **_plain(shown)}
    return {"name": config.name} if args is None else {"name": config.name, "args": args}


def _plain(struct: msgspec.Struct) -> Any:
    return without_nulls(msgspec.to_builtins(struct, enc_hook=str))


def without_nulls(value: Any) -> Any:
    """Plain data without null fields."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(item) for item in value]
    return value
