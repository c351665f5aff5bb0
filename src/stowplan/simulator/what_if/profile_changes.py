"""Changes of the scheduler's configuration: weights, disabled plugins, another file, more plugins."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from stowplan.config import KubeSchedulerConfiguration
from stowplan.config.types import PLUGINS_ATTRIBUTES, Plugin, Plugins
from stowplan.errors import InputError
from stowplan.framework.decision_record import Record
from stowplan.simulator.what_if.run import Setup


class SetWeight(Record, frozen=True):
    """Another weight of a score plugin, in all profiles."""

    weight: str
    """The plugin."""
    value: int

    def changed(self, setup: Setup) -> tuple[Setup, str]:
        """The setup with the change, and a phrase for it."""
        old = _weight(setup.config, self.weight)
        config = _with_plugin(setup.config, self.weight, lambda plugin: (replace(plugin, weight=self.value),))
        return setup._replace(config=config), f"with weight {self.value} for {self.weight} ({old} now)"


class RemovePlugin(Record, frozen=True):
    """A plugin that is disabled in all profiles."""

    without: str

    def changed(self, setup: Setup) -> tuple[Setup, str]:
        """The setup with the change, and a phrase for it."""
        _weight(setup.config, self.without)
        return setup._replace(config=_with_plugin(setup.config, self.without, lambda plugin: ())), (
            f"without {self.without}"
        )


class OtherSetup(Record, frozen=True, kw_only=True):
    """Another configuration file, or more plugins; both are loaded already."""

    setup: Setup
    config: str = ""
    plugins: tuple[str, ...] = ()

    def changed(self, setup: Setup) -> tuple[Setup, str]:
        """The setup with the change, and a phrase for it."""
        parts = [f"configuration {self.config}"] if self.config else []
        return self.setup, f"with {' and '.join([*parts, *(f'plugin {name}' for name in self.plugins)])}"


ProfileChange = SetWeight | RemovePlugin | OtherSetup


def _weight(config: KubeSchedulerConfiguration, name: str) -> int:
    """The weight of a plugin in the first profile that enables it."""
    for profile in config.profiles:
        for point in ("score", "multiPoint"):
            for plugin in profile.plugins.at(point).enabled:
                if plugin.name == name:
                    return plugin.weight or 1
    known = {plugin.name for profile in config.profiles for plugin in profile.plugins.multi_point.enabled}
    raise InputError(f"plugin {name} is not enabled; enabled are {', '.join(sorted(known))}")


def _with_plugin(
    config: KubeSchedulerConfiguration, name: str, change: Callable[[Plugin], tuple[Plugin, ...]]
) -> KubeSchedulerConfiguration:
    """The configuration with a plugin changed wherever it is enabled."""
    profiles = [replace(profile, plugins=_changed(profile.plugins, name, change)) for profile in config.profiles]
    return replace(config, profiles=tuple(profiles))


def _changed(plugins: Plugins, name: str, change: Callable[[Plugin], tuple[Plugin, ...]]) -> Plugins:
    sets = {}
    for attribute in PLUGINS_ATTRIBUTES.values():
        given = getattr(plugins, attribute)
        enabled = [kept for each in given.enabled for kept in (change(each) if each.name == name else (each,))]
        sets[attribute] = replace(given, enabled=tuple(enabled))
    return replace(plugins, **sets)
