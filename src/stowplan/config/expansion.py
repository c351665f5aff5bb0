"""Expansion of `multiPoint`: the plugins of each extension point, in order and with weights.

Upstream: pkg/scheduler/framework/runtime/framework.go (expandMultiPointPlugins)
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, TypeAlias

from stowplan.config.errors import InvalidConfigurationError, Problems
from stowplan.config.types import KubeSchedulerConfiguration, Profile
from stowplan.framework.points import (
    BIND,
    MULTI_POINT,
    PLACEMENT_GENERATE,
    POINT_BY_NAME,
    POINTS,
    POINTS_IN_VALIDATION_ORDER,
    QUEUE_SORT,
    Point,
)

_MAX_NODE_SCORE = 100
_MAX_TOTAL_SCORE = 2**63 - 1


class EnabledPlugin(NamedTuple):
    """A plugin at a point; weights are for Score."""

    name: str
    weight: int = 0


Implements: TypeAlias = Callable[[str, str], bool]
"""Whether a plugin implements a point."""
Expanded: TypeAlias = dict[str, tuple[EnabledPlugin, ...]]


def expand(profile: Profile, implements: Implements, known: Collection[str] | None = None) -> Expanded:
    """The plugins of every point, for a profile with defaults.

    Raises InvalidConfigurationError with kube-scheduler's words. `known` are the existing plugins; None accepts any.
    """
    problems = Problems()
    existing = _existing_plugins(profile, known, problems)
    for name in _repeated(config.name for config in profile.plugin_config):
        problems.add("$.pluginConfig", f"repeated config for plugin {name}")
    orders = {
        point.name: _expand_point(profile, point, existing, implements, problems)
        for point in POINTS_IN_VALIDATION_ORDER
    }
    _check_counts(profile.scheduler_name, orders, problems)
    weights = {
        point.name: _weights(profile, point, existing, implements, problems) for point in POINTS if point.weighted
    }
    if problems.errors:
        raise InvalidConfigurationError(f'profile "{profile.scheduler_name}"', problems.errors)
    return {
        point: tuple(EnabledPlugin(name, weights.get(point, {}).get(name, 0)) for name in names)
        for point, names in orders.items()
    }


def expand_profiles(
    config: KubeSchedulerConfiguration, implements: Implements, known: Collection[str] | None = None
) -> dict[str, Expanded]:
    """All profiles by scheduler name. They share one queue and must have the same QueueSort plugin."""
    expanded = {profile.scheduler_name: expand(profile, implements, known) for profile in config.profiles}
    problems = Problems()
    first = config.profiles[0]
    sorter = expanded[first.scheduler_name][QUEUE_SORT][0].name
    for index, profile in enumerate(config.profiles):
        own = expanded[profile.scheduler_name][QUEUE_SORT][0].name
        who = f'for profile "{profile.scheduler_name}"'
        if own != sorter:
            problems.add(f"$.profiles[{index}]", f'different queue sort plugins {who}: "{own}", first: "{sorter}"')
        elif profile.args(own) != first.args(own):
            problems.add(f"$.profiles[{index}]", f"different queue sort plugin args {who}")
    if problems.errors:
        raise InvalidConfigurationError("", problems.errors)
    return expanded


def _existing_plugins(profile: Profile, known: Collection[str] | None, problems: Problems) -> set[str]:
    """The enabled plugins that exist; each unknown one is reported once, at its first occurrence."""
    existing: set[str] = set()
    missing: set[str] = set()
    first = POINTS_IN_VALIDATION_ORDER[0]
    for point in (*(each.name for each in POINTS_IN_VALIDATION_ORDER), MULTI_POINT):
        # Expansion starts with the first point, so an unknown multiPoint plugin is reported there.
        wanted = POINT_BY_NAME.get(point, first).interface
        for name in (plugin.name for plugin in profile.plugins.at(point).enabled):
            if known is None or name in known:
                existing.add(name)
            elif name not in missing:
                missing.add(name)
                problems.add(f"$.plugins.{point}", f'{wanted} "{name}" does not exist')
    return existing


def _expand_point(
    profile: Profile, point: Point, existing: set[str], implements: Implements, problems: Problems
) -> list[str]:
    """First the overrides of multiPoint plugins in their order, then the other multiPoint plugins, then the rest."""
    plugin_set = profile.plugins.at(point.name)
    own = [plugin.name for plugin in plugin_set.enabled if plugin.name in existing]
    disabled = {plugin.name for plugin in plugin_set.disabled}
    spread = [
        plugin.name
        for plugin in profile.plugins.multi_point.enabled
        if plugin.name in existing and plugin.name not in disabled and implements(plugin.name, point.name)
    ]
    if "*" in disabled:
        spread = []
    for name in dict.fromkeys(own):
        if not implements(name, point.name):
            problems.add(f"$.plugins.{point.name}", f'plugin "{name}" does not extend {point.interface} plugin')
    for name in _repeated(own):
        problems.add(f"$.plugins.{point.name}", f'plugin "{name}" already registered as "{point.interface}"')
    added = [name for name in spread if name not in own]
    for name in _repeated(added):
        problems.add(f"$.plugins.{MULTI_POINT}", f'plugin "{name}" already registered as "{point.interface}"')
    return [name for name in own if name in spread] + added + [name for name in own if name not in spread]


def _check_counts(scheduler_name: str, orders: dict[str, list[str]], problems: Problems) -> None:
    which = f'for profile with scheduler name "{scheduler_name}"'
    sorters = len(orders[QUEUE_SORT])
    if sorters != 1:
        problems.add(f"$.plugins.{QUEUE_SORT}", f"only one queue sort plugin required {which}, but got {sorters}")
    if not orders[BIND]:
        problems.add(f"$.plugins.{BIND}", f"at least one bind plugin is needed {which}")
    if len(orders[PLACEMENT_GENERATE]) > 1:
        message = f"at most one placement generate plugin is allowed {which}"
        problems.add(f"$.plugins.{PLACEMENT_GENERATE}", message)


def _weights(
    profile: Profile, point: Point, existing: set[str], implements: Implements, problems: Problems
) -> dict[str, int]:
    """The point's weight, else multiPoint's. Plugins disabled at the point count in the sum, as in kube-scheduler."""
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*profile.plugins.at(point.name).enabled, *profile.plugins.multi_point.enabled):
        name = plugin.name
        if name in weights or name not in existing or not implements(name, point.name):
            continue
        weights[name] = plugin.weight or 1
        highest = weights[name] * _MAX_NODE_SCORE
        if highest > _as_int64(_MAX_TOTAL_SCORE - total):
            problems.add(f"$.plugins.{point.name}", f"{point.weighted}: total score of Score plugins could overflow")
            break
        total += highest
    return weights


def _as_int64(value: int) -> int:
    """Wrap around as int64: after a negative weight kube-scheduler reports an overflow."""
    return (value + 2**63) % 2**64 - 2**63


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
