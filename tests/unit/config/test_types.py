import msgspec
import pytest

from stowplan.config.types import (
    Extender,
    KubeSchedulerConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
    Profile,
)


def test_field_names_are_kubernetes_own() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(Extender)}
    assert {"urlPrefix", "enableHTTPS", "tlsConfig", "httpTimeout", "nodeCacheCapable"} <= names


def test_every_struct_decodes_from_an_empty_object() -> None:
    assert msgspec.convert({}, KubeSchedulerConfiguration) == KubeSchedulerConfiguration()


def test_structs_are_frozen() -> None:
    with pytest.raises(AttributeError):
        KubeSchedulerConfiguration().parallelism = 2  # type: ignore[misc]


def test_plugins_at_finds_a_set_by_configuration_name() -> None:
    plugin_set = PluginSet(enabled=(Plugin(name="A"),))
    assert Plugins(pre_filter=plugin_set).at("preFilter") is plugin_set
    assert Plugins(multi_point=plugin_set).at("multiPoint") is plugin_set


def test_profile_args_are_found_by_plugin() -> None:
    profile = Profile(plugin_config=(PluginConfig(name="A", args={"x": 1}), PluginConfig(name="B")))
    assert profile.args("A") == {"x": 1}
    assert profile.args("B") is None
    assert profile.args("C") is None
