import subprocess
import sys
from typing import Any

import pytest
from tests.builders import World, node, pod

from stowplan.cli.plugins import load_plugin, load_plugins
from stowplan.config import InvalidConfigurationError, from_builtins
from stowplan.config.args import OPTIONAL_ARGS
from stowplan.config.args.optional import NodeResourcesAllocatableArgs
from stowplan.config.defaults import DEFAULT_WEIGHTS, IN_TREE_PLUGINS
from stowplan.config.dump import to_builtins
from stowplan.errors import ConfigError
from stowplan.framework import Plugin
from stowplan.optional_plugins.registry import MODULES, optional_classes
from stowplan.plugins.base import InTreePlugin
from stowplan.queue.nominator import Nominator
from stowplan.runtime.profile.build import instantiate
from stowplan.runtime.profile.handle import ProfileHandle


def configuration(plugins: dict[str, Any], *plugin_config: dict[str, Any]) -> dict[str, Any]:
    profile = {"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": list(plugin_config)}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**head, "profiles": [profile]}


def test_every_plugin_has_args_and_a_module() -> None:
    assert set(MODULES) == set(OPTIONAL_ARGS)
    assert IN_TREE_PLUGINS.issuperset(MODULES)
    assert not set(MODULES) & set(DEFAULT_WEIGHTS)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_names_and_forms(name: str) -> None:
    (plugin,) = optional_classes([name]).values()
    assert plugin.name == name
    assert issubclass(plugin, InTreePlugin)
    for scalar, vector in (("filter", "filter_nodes"), ("score", "score_nodes")):
        overridden = [getattr(plugin, method) is not getattr(Plugin, method) for method in (scalar, vector)]
        assert overridden in ([True, True], [False, False]), f"{scalar} and {vector} go together"


def test_a_plugin_is_enabled_by_naming_it_in_a_profile() -> None:
    enabled = {"score": {"enabled": [{"name": "NodeResourcesAllocatable", "weight": 1000}]}}
    args = {"name": "NodeResourcesAllocatable", "args": {"mode": "Most"}}
    nodes = [node("small", cpu="4"), node("large", cpu="64")]
    assert (
        World(nodes, config=configuration(enabled, args)).decide(pod("p", requests={"cpu": "1"})).node_name == "large"
    )
    assert World(nodes, config=configuration(enabled)).decide(pod("p", requests={"cpu": "1"})).node_name == "small"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"mode": "Some"}, '.mode: Invalid value: "Some": invalid support ModeType'),
        ({"mod": "Most"}, '.mod: unknown field (did you mean "mode"?)'),
        (
            {"resources": [{"name": "cpu", "weight": 0}]},
            ".resources[0].weight: Invalid value: 0: resource weight of cpu should be a positive value, got :0",
        ),
    ],
)
def test_args_are_validated(args: dict[str, Any], error: str) -> None:
    config = configuration(
        {"score": {"enabled": [{"name": "NodeResourcesAllocatable"}]}},
        {"name": "NodeResourcesAllocatable", "args": args},
    )
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(config, "file", IN_TREE_PLUGINS)
    assert caught.value.problems == (f"file: $.profiles[0].pluginConfig[0].args{error}",)


def test_the_default_profile_imports_no_optional_plugin() -> None:
    program = (
        "import random, sys\n"
        "from stowplan.cache import Cluster\n"
        "from stowplan.config import default_configuration\n"
        "from stowplan.plugins.registry import REGISTRY\n"
        "from stowplan.queue.nominator import Nominator\n"
        "from stowplan.runtime import build_profiles\n"
        "build_profiles(default_configuration(), REGISTRY, Cluster(), Nominator(), random.Random(0))\n"
        "print(sorted(name for name in sys.modules if name.startswith('stowplan.optional_plugins.')))\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['stowplan.optional_plugins.registry']"


def test_the_flag_plugin_takes_names_of_optional_plugins() -> None:
    factories = load_plugins(("NodeResourcesAllocatable",))
    assert load_plugin("PodState") is optional_classes(["PodState"])["PodState"]
    world = World([node("small", cpu="4"), node("large", cpu="64")], plugins=factories)
    assert "NodeResourcesAllocatable" in [plugin.name for plugin, _ in world.profile.scorers]


def test_plain_args_of_the_extender_are_decoded_and_validated() -> None:
    (kind,) = optional_classes(["NodeResourcesAllocatable"]).values()
    handle = ProfileHandle("extender", World().cluster, Nominator())
    plugin = instantiate(kind, "", {"mode": "Most"}, handle)
    assert isinstance(plugin, InTreePlugin)
    assert plugin.args == NodeResourcesAllocatableArgs(mode="Most")
    with pytest.raises(ConfigError, match=r'pluginConfig of "NodeResourcesAllocatable": .*invalid support ModeType'):
        instantiate(kind, "", {"mode": "Some"}, handle)


def test_a_configuration_with_all_plugins_is_read_again_as_it_was() -> None:
    required = {"metadataKey": "k", "metadataSource": "Label", "metadataType": "Number", "scoringStrategy": "Highest"}
    names = [name for name in MODULES if name != "QOSSort"]
    plugins = {
        "multiPoint": {"enabled": [{"name": name} for name in names]},
        "queueSort": {"enabled": [{"name": "QOSSort"}], "disabled": [{"name": "*"}]},
    }
    config = from_builtins(configuration(plugins, {"name": "NodeMetadata", "args": required}))
    assert from_builtins(to_builtins(config)) == config
    World(config=to_builtins(config))
