import pytest

from stowplan.config import IN_TREE_PLUGINS
from stowplan.framework import Plugin
from stowplan.framework.points import implements_point
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.registry import REGISTRY

POINTS = {
    "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
    "queueSort": "PrioritySort",
    "preFilter": "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
    "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
    "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
    "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
    "NodeDeclaredFeatures",
    "postFilter": "DynamicResources DefaultPreemption",
    "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "NodeResourcesBalancedAllocation",
    "score": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeResourcesBalancedAllocation ImageLocality",
    "reserve": "VolumeBinding DynamicResources",
    "permit": "",
    "preBind": "VolumeBinding DynamicResources",
    "bind": "DefaultBinder",
    "postBind": "",
}


def test_all_plugins_of_the_configuration_are_there() -> None:
    assert set(REGISTRY) == set(IN_TREE_PLUGINS)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_names_and_forms(name: str) -> None:
    plugin = REGISTRY[name]
    assert plugin.name == name
    assert issubclass(plugin, InTreePlugin)
    assert plugin.scope in ("node", "node+pods", "cluster")
    for scalar, vector in (("filter", "filter_nodes"), ("score", "score_nodes")):
        overridden = [getattr(plugin, method) is not getattr(Plugin, method) for method in (scalar, vector)]
        assert overridden in ([True, True], [False, False]), f"{scalar} and {vector} go together"


@pytest.mark.parametrize("point", POINTS)
def test_points_are_those_of_kube_scheduler(point: str) -> None:
    assert [name for name in REGISTRY if implements_point(REGISTRY[name], point)] == POINTS[point].split()
