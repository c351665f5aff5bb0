from typing import Any

import pytest
from tests.builders import World, container, pod
from tests.unit.optional_plugins.test_registry import configuration

from stowplan.framework import QueuedPodInfo
from stowplan.optional_plugins.base.qos_class import QosClass, qos_class

BOTH = {"cpu": "1", "memory": "1Gi"}


def with_resources(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**container(f"c{i}"), "resources": part} for i, part in enumerate(parts)]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"requests": BOTH, "limits": {"cpu": "1"}}], "Burstable"),
        ([{"requests": BOTH, "limits": {"cpu": "1", "memory": "2Gi"}}], "Burstable"),
        ([{"requests": BOTH, "limits": {"cpu": "1000m", "memory": "1024Mi"}}], "Guaranteed"),
        ([{"requests": BOTH, "limits": BOTH}, {}], "Burstable"),
        ([{"requests": BOTH, "limits": BOTH}] * 2, "Guaranteed"),
    ],
)
def test_classes(parts: list[dict[str, Any]], expected: str) -> None:
    item = World().pod(pod("p", containers=with_resources(*parts)))
    assert qos_class(item.template) == QosClass[expected]


def test_pod_level_resources_decide_alone() -> None:
    item = pod("p", containers=with_resources({}), resources={"requests": BOTH, "limits": BOTH})
    assert qos_class(World().pod(item).template) == QosClass.Guaranteed


def test_order() -> None:
    enabled = {"queueSort": {"enabled": [{"name": "QOSSort"}], "disabled": [{"name": "*"}]}}
    world = World(config=configuration(enabled))
    guaranteed, burstable = {"requests": BOTH, "limits": BOTH}, {"requests": BOTH}
    pods = [
        pod("urgent", priority=5, containers=with_resources({})),
        pod("guaranteed", containers=with_resources(guaranteed)),
        pod("burstable", containers=with_resources(burstable)),
        pod("late-burstable", containers=with_resources(burstable)),
        pod("best-effort", containers=with_resources({})),
    ]
    timestamps = {"burstable": 3.0, "late-burstable": 4.0}
    infos = [QueuedPodInfo(world.pod(item), timestamps.get(item["metadata"]["name"], 9.0)) for item in pods]
    plugin = world.plugin("QOSSort")
    for position, info in enumerate(infos):
        assert [plugin.less(info, other) for other in infos] == [position < i for i in range(len(infos))]
    infos.reverse()
    assert [info.pod.name for info in sorted(infos, key=plugin.sort_key)] == [item["metadata"]["name"] for item in pods]
