"""Converts one profile to v1."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from stowplan.config.args import ARGS
from stowplan.config.conversion.api_versions import ApiVersion
from stowplan.config.conversion.notices import Notices
from stowplan.config.conversion.plugin_args import PluginConfigs, modernise
from stowplan.config.conversion.plugin_lists import Effective
from stowplan.config.conversion.plugin_sets import Modern, render
from stowplan.config.conversion.plugin_tables import LATER_DEFAULT_PLUGINS, POINTS_OF, SUCCESSORS, OldPlugin
from stowplan.config.defaults import DEFAULT_WEIGHTS
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import suggestion
from stowplan.framework.points import SCORE

LEAST, MOST = "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"


class ProfileChanges(NamedTuple):
    """Settings outside of a profile that change it."""

    args: Mapping[str, Mapping[str, Any]] = {}
    """Plugin args; the profile's own take precedence."""
    preempts: bool = True
    packs: bool = False
    """Whether fuller nodes are preferred (ClusterAutoscalerProvider)."""
    defaults: Mapping[str, tuple[OldPlugin, ...]] | None = None
    """Overrides the version's default plugins."""


def check_names(profile: Mapping[str, Any], path: str, known: Collection[str] | None, problems: Problems) -> None:
    """Report plugins that are unknown in that release and today; `known` None accepts any name."""
    everybody = {*(known or ()), *SUCCESSORS, *POINTS_OF, *LATER_DEFAULT_PLUGINS}
    for point, plugin_set in profile.get("plugins", {}).items():
        for index, plugin in enumerate(plugin_set.get("enabled", ())):
            name, where = plugin.get("name", ""), f"{path}.plugins.{point}.enabled[{index}].name"
            if not name:
                problems.required(where)
            elif known is not None and name not in everybody:
                problems.add(where, f'unknown plugin "{name}"{suggestion(name, everybody)}')


def convert_profile(
    profile: Mapping[str, Any],
    path: str,
    version: ApiVersion,
    changes: ProfileChanges,
    notices: Notices,
    problems: Problems,
) -> dict[str, Any]:
    """Convert a profile with the version's own default plugins."""
    defaults = changes.defaults or version.defaults or {}
    effective = Effective(_packing(defaults) if changes.packs else defaults)
    if not changes.preempts:
        effective.without("DefaultPreemption")
    effective.apply(profile.get("plugins", {}), f"{path}.plugins", version.points, notices)
    modern = Modern(effective, notices, system_spread=version.system_spread)
    items, where = profile.get("pluginConfig", ()), f"{path}.pluginConfig"
    configs = PluginConfigs(items, where, any_case=version.any_case, problems=problems)
    if problems.errors:
        return {}
    for plugin, args in changes.args.items():
        for field, value in args.items():
            configs.of(plugin).setdefault(field, value)
    modernise(configs, modern, notices, problems)
    _note_weights(modern, path, notices)
    converted = {
        "schedulerName": profile.get("schedulerName"),
        "plugins": render(modern, version.defaults or {}),
        "pluginConfig": configs.rendered(),
    }
    return {field: value for field, value in converted.items() if value}


def keep_profile(profile: Mapping[str, Any], path: str, notices: Notices) -> dict[str, Any]:
    """Convert a profile with today's default plugins: only removed plugins are taken out."""
    kept = dict(profile)
    if "plugins" in profile:
        kept["plugins"] = {
            point: {
                field: _remaining(plugins, f"{path}.plugins.{point}.{field}", notices)
                for field, plugins in plugin_set.items()
            }
            for point, plugin_set in profile["plugins"].items()
        }
    if "pluginConfig" in profile:
        items = _remaining(profile["pluginConfig"], f"{path}.pluginConfig", notices)
        kept["pluginConfig"] = [_without_version(item) for item in items]
    return kept


def _remaining(items: list[dict[str, Any]], path: str, notices: Notices) -> list[dict[str, Any]]:
    for index, item in enumerate(items):
        if item.get("name") in SUCCESSORS:
            notices.add(f"{path}[{index}]", f"{item['name']} is gone: {SUCCESSORS[item['name']].note}")
    return [item for item in items if item.get("name") not in SUCCESSORS]


def _without_version(item: Mapping[str, Any]) -> dict[str, Any]:
    args = item.get("args")
    if item.get("name") in ARGS and isinstance(args, dict):
        return {**item, "args": {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}}
    return dict(item)


def _packing(defaults: Mapping[str, tuple[OldPlugin, ...]]) -> dict[str, tuple[OldPlugin, ...]]:
    scores = tuple(entry._replace(name=MOST) if entry.name == LEAST else entry for entry in defaults[SCORE])
    return {**defaults, SCORE: scores}


def _note_weights(modern: Modern, path: str, notices: Notices) -> None:
    """A notice about default weights that differ from today's and are kept."""
    kept = {
        entry.name: entry.weight
        for entry in modern.lists.get(SCORE, ())
        if not entry.path and entry.weight != DEFAULT_WEIGHTS.get(entry.name)
    }
    if kept:
        shown = ", ".join(f"{name} {weight} (today {DEFAULT_WEIGHTS[name]})" for name, weight in kept.items())
        notices.add(path, f"default weights of this version are kept: {shown}")
