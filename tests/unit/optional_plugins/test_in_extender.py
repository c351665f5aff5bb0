"""Optional plugins behind kube-scheduler: filter and prioritize of an extender."""

import json
from pathlib import Path
from typing import Any

from tests.builders import container, node, pod
from tests.builders.objects import make
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, full, named, reply_json
from tests.unit.optional_plugins.test_node_resource_topology_match import strict, zone
from tests.unit.optional_plugins.trimaran.test_scores import metric, sized

from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.optional_plugins.registry import optional_classes


def member(name: str, **args: object) -> GroupMember:
    return GroupMember(optional_classes([name])[name], args=args)


def scores(reply: Any) -> dict[str, int]:
    return {entry["Host"]: entry["Score"] for entry in reply_json(reply)}


def test_scores_by_the_node_alone_need_no_cluster() -> None:
    nodes = [node("small", cpu=4), node("large", cpu=64)]
    handlers = Handlers([member("NodeResourcesAllocatable", mode="Most")])
    assert scores(handlers.prioritize(full(*nodes))) == {"small": 0, "large": 10}


def test_scores_by_load(tmp_path: Path) -> None:
    file = tmp_path / "load.json"
    busy, idle = [metric("CPU", "AVG", 90)], [metric("CPU", "AVG", 30)]
    file.write_text(json.dumps({"data": {"NodeMetricsMap": {"a": {"metrics": busy}, "b": {"metrics": idle}}}}))
    plugin = member("TargetLoadPacking", metricProvider={"type": "File", "address": str(file)})
    handlers = Handlers([plugin], cluster_cache=FakeClusterCache(sized("a"), sized("b")))
    # 1 core of 10 is expected of the pod: 100 and 40 % are used then.
    assert scores(handlers.prioritize(named("a", "b"))) == {"a": 0, "b": 10}


def test_nodes_without_a_zone_for_the_pod_are_rejected() -> None:
    cache = FakeClusterCache(node("a"), node("b"))
    handlers = Handlers([member("NodeResourceTopologyMatch")], cluster_cache=cache)
    amounts = {"cpu": "1", "memory": "1Gi"}
    guaranteed = pod("web", containers=[{**container(), "resources": {"requests": amounts, "limits": amounts}}])
    for resources, failed in ((("0", "0"), {"a": "cannot align container"}), (("2", "2Gi"), {})):
        zones = [zone(0, cpu=resources[0], memory=resources[1])]
        cache.cluster.put(make("NodeResourceTopology", name="a", zones=zones, attributes=strict()))
        assert (reply_json(handlers.filter(named("a", "b", of=guaranteed)))["FailedNodes"] or {}) == failed
