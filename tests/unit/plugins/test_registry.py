import pytest
from tests.builders.default_plugins import DEFAULT_LISTS, names_at

from stowplan.config import IN_TREE_PLUGINS
from stowplan.framework import Plugin
from stowplan.framework.points import implements_point
from stowplan.optional_plugins.registry import MODULES
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.registry import REGISTRY


def test_all_plugins_of_the_configuration_are_there() -> None:
    assert set(REGISTRY) | set(MODULES) == set(IN_TREE_PLUGINS)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_names_and_forms(name: str) -> None:
    plugin = REGISTRY[name]
    assert plugin.name == name
    assert issubclass(plugin, InTreePlugin)
    assert plugin.scope in ("node", "node+pods", "cluster")
    for scalar, vector in (("filter", "filter_nodes"), ("score", "score_nodes")):
        overridden = [getattr(plugin, method) is not getattr(Plugin, method) for method in (scalar, vector)]
        assert overridden in ([True, True], [False, False]), f"{scalar} and {vector} go together"


@pytest.mark.parametrize("point", [point for point in DEFAULT_LISTS if not point.startswith("placement")])
def test_points_are_those_of_kube_scheduler(point: str) -> None:
    assert [name for name in REGISTRY if implements_point(REGISTRY[name], point)] == names_at(point)
