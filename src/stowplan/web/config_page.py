"""The page of the effective configuration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any
from urllib.parse import urlsplit

from stowplan.config import KubeSchedulerConfiguration, yaml_text
from stowplan.config.defaults import default_configuration
from stowplan.config.dump import to_builtins
from stowplan.engine import Engine
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime.profile.profile import Profile
from stowplan.web.wire import ConfigPage, ConfiguredPlugin, ConfiguredProfile

_SCORE = "score"


def config_page(config: KubeSchedulerConfiguration, profiles: Mapping[str, Profile]) -> ConfigPage:
    """The configuration, compared with the default one."""
    standard = _args(to_builtins(default_configuration())["profiles"][0])
    plain, defaults = to_builtins(config, redacts=True), _default_profile()
    for extender in plain.get("extenders", []):
        extender["urlPrefix"] = _without_password(extender.get("urlPrefix", ""))
        extender.get("tlsConfig", {}).pop("keyData", None)
    return ConfigPage(
        yaml=yaml_text.dump(plain),
        profiles=[
            _profile(profile, defaults, _args(described), standard)
            for profile, described in zip(profiles.values(), plain["profiles"], strict=True)
        ],
        extenders=[_without_password(extender.url_prefix) for extender in config.extenders],
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score or 0,
    )


@cache
def _default_profile() -> Profile:
    engine = Engine(default_configuration(), REGISTRY, clock=lambda: 0.0, rng=Random(0))
    return next(iter(engine.profiles.values()))


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _args(profile: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("args", {}) for each in profile.get("pluginConfig", [])}


def _profile(profile: Profile, defaults: Profile, args: dict[str, Any], standard: dict[str, Any]) -> ConfiguredProfile:
    here, there = _points(profile), _points(defaults)
    return ConfiguredProfile(
        scheduler_name=profile.name,
        points={
            point: [
                ConfiguredPlugin(plugin=name, weight=weight, default=there.get(point, {}).get(name) == weight)
                for name, weight in plugins.items()
            ]
            for point, plugins in here.items()
        },
        removed={
            point: [name for name in plugins if name not in here.get(point, {})]
            for point, plugins in there.items()
            if plugins.keys() - here.get(point, {}).keys()
        },
        args=args,
        changed_args=[name for name, given in args.items() if given != standard.get(name, {})],
    )


def _points(profile: Profile) -> dict[str, dict[str, int]]:
    """Weights by extension point and plugin; 0 where weights do not apply."""
    weights = {plugin.name: weight for plugin, weight in profile.scorers}
    return {
        point: {plugin.name: weights.get(plugin.name, 0) if point.lower() == _SCORE else 0 for plugin in plugins}
        for point, plugins in profile.points.items()
        if plugins
    }
