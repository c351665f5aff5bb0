"""Builds the profiles of a configuration from the available plugins, to check them."""

import random
from collections.abc import Iterable, Mapping

from stowplan.cache import Cluster
from stowplan.cli.config_files import load_file
from stowplan.cli.streams import shown
from stowplan.config import IN_TREE_PLUGINS, KubeSchedulerConfiguration, default_configuration
from stowplan.config.releases import LATEST, Release
from stowplan.errors import ConfigError, PluginBugError, PluginError
from stowplan.framework import Plugin
from stowplan.framework.points import RUN_POINTS
from stowplan.plugins.registry import REGISTRY
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Factory, build_profiles, enable_everywhere


def load_config(
    file: str | None, plugins: Mapping[str, Factory], release: Release = LATEST
) -> KubeSchedulerConfiguration:
    """The configuration of a file, or the default one, with these plugins enabled, for a release."""
    config = default_configuration(release)
    if file is not None:
        source = shown(file)
        config = load_file(file, IN_TREE_PLUGINS.union(plugins), release)
        try_profiles(config, plugins, source)
    return enable_everywhere(config, plugins)


def try_profiles(
    config: KubeSchedulerConfiguration, plugins: Mapping[str, Factory], source: str, promised: Iterable[str] = ()
) -> None:
    """Builds the profiles on an empty cluster, as a scheduler does at startup. Errors start with `source`.

    Plugins in `promised` have a name and no code: they are assumed to implement the points where they are enabled.
    """
    stand_ins: dict[str, Factory] = {name: _stand_in(config, name) for name in promised}
    registry: dict[str, Factory] = {**stand_ins, **REGISTRY, **plugins}
    try:
        build_profiles(
            enable_everywhere(config, plugins), registry, Cluster(release=config.release), Nominator(), random.Random(0)
        )
    except ConfigError as error:
        raise ConfigError(f"{source}: {problem}" for problem in error.problems) from error
    except PluginBugError:
        raise
    except PluginError as error:
        raise PluginError(f"{source}: {error}") from error


def _stand_in(config: KubeSchedulerConfiguration, name: str) -> type[Plugin]:
    points = [
        point
        for point in RUN_POINTS
        if any(plugin.name == name for profile in config.profiles for plugin in profile.plugins.at(point.name).enabled)
    ]
    # A stand-in that is enabled at multiPoint alone implements none of them; a plugin has to override something.
    methods = ["select_victims", *(point.methods[0] for point in points)]
    return type(name, (Plugin,), {"name": name, **dict.fromkeys(methods, _nothing)})


def _nothing(*args: object) -> None:
    return None
