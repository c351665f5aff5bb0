"""Scenarios with an autoscaler, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import load, pod, pool, workload

from stowplan import api
from stowplan.api import codec
from stowplan.errors import ConfigError
from stowplan.study import RunResult, RunSettings, run
from stowplan.study.run import LiveRun


def pods(count: int, cpu: str, duration: str = "1h", name: str = "batch", at: Any = 0) -> dict[str, Any]:
    arrivals = {"at": [at], "batch": count}
    return {"name": name, "template": pod(cpu), "arrivals": arrivals, "duration": duration}


def events(result: RunResult, *kinds: str) -> list[tuple[float, str, str]]:
    return [(time, kind, subject) for time, kind, subject, _, _ in result.events.rows() if kind in kinds]


def scaled(*workloads: dict[str, Any], pools: list[dict[str, Any]], until: str = "2h", **autoscaler: Any) -> Any:
    groups = autoscaler.pop("groups", [{"pool": each["name"], "min": each["count"], "max": 10} for each in pools])
    return load(*workloads, nodes={"pools": pools}, until={"time": until}, autoscaler={"groups": groups, **autoscaler})


def with_failure(failure: dict[str, Any], *workloads: dict[str, Any], **given: Any) -> Any:
    nodes, until = {"pools": given.pop("pools")}, {"time": given.pop("until")}
    return load(*workloads, nodes=nodes, until=until, failures=[failure], autoscaler=given)


def test_nodes_are_added_for_refused_pods_and_removed_when_unneeded() -> None:
    """A pod of 3 cores fits on a node of 4; two more nodes are requested by the first scan, at 10 s, and Ready 90 s
    later. The pods end at 3600 s and 3700 s; nodes are removed 10 minutes after, down to the minimum of 1."""
    result = run(scaled(pods(3, "3"), pools=[pool(startup="90s")]))
    assert sorted(result.pods["bound"].tolist()) == [0, 100, 100]
    assert events(result, "scale up") == [(10, "scale up", "general-2"), (10, "scale up", "general-3")]
    assert [time for time, _, _ in events(result, "node removed")] == [4200, 4300]
    assert result.summary["nodes.max"] == 3


def test_upcoming_nodes_are_counted_and_the_maximum_is_kept() -> None:
    groups = [{"pool": "general", "min": 1, "max": 2}]
    result = run(scaled(pods(5, "3"), pools=[pool(startup="5m")], groups=groups, until="10m"))
    assert events(result, "scale up") == [(10, "scale up", "general-2")]
    assert result.summary["pods.pending"] == 3


@pytest.mark.parametrize(
    ("expander", "chosen"),
    [
        ("least-waste", "small"),
        ("most-pods", "large"),
        ("least-nodes", "large"),
        ("price", "large"),
        ("priority", "large"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_expanders(expander: str, chosen: str, order: int) -> None:
    """Four pods of 2 cores and 32 GiB: four small nodes (2 cores, 32 GiB) have no waste, one large has some. The
    order of the groups does not matter."""
    template = pod("2")
    template["spec"]["containers"][0]["resources"]["requests"]["memory"] = "32Gi"
    given = {"name": "b", "template": template, "arrivals": {"at": [0], "batch": 4}, "duration": "1h"}
    small = pool("small", 0, "2", price=2.0)
    small["template"]["status"]["allocatable"]["memory"] = "32Gi"
    large = pool("large", 0, "16", price=3.0)
    large["template"]["status"]["allocatable"]["memory"] = "160Gi"
    groups = [{"pool": "small", "max": 2}, {"pool": "large", "max": 4, "priority": 5}]
    if expander in ("least-waste", "least-nodes", "price"):
        groups[0]["max"] = 10
    result = run(scaled(given, pools=[small, large], groups=groups[::order], expander=expander, until="1m"))
    assert events(result, "scale up")[0][2].startswith(chosen)


def test_the_expander_random_is_seeded(tmp_path: Path) -> None:
    """Twelve pods arrive one after the other, and each needs a node of its own: the seed determines the groups, all of
    which are chosen, and none of which is full."""
    arrivals = {"name": "batch", "template": pod("3"), "arrivals": {"every": "1m"}, "duration": "2h"}
    pools = [pool(name, 0) for name in ("a", "b", "c")]
    groups = [{"pool": each["name"], "max": 100} for each in pools]
    scenario = scaled(arrivals, pools=pools, groups=groups, expander="random", until="12m")

    def chosen(seed: int, folder: str = "") -> list[str]:
        result = run(scenario, seed)
        if folder:
            result.save(tmp_path / folder)
        return [subject[0] for _, _, subject in events(result, "scale up")]

    first = chosen(1, "first")
    assert len(first) == 12
    assert set(first) == {"a", "b", "c"}
    assert first != chosen(2)
    assert first == chosen(1, "again")
    for path in sorted((tmp_path / "first").rglob("*")):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_pods_that_no_group_takes_add_no_node() -> None:
    result = run(scaled(pods(1, "32"), pools=[pool()], until="5m"))
    assert events(result, "scale up") == []


def test_a_node_whose_pods_fit_elsewhere_is_drained_and_removed() -> None:
    """Three nodes of 4 cores with a replica of 1 core each: two are drained, one after the other."""
    web = {"name": "web", "template": workload("Deployment", "web", "1", replicas=3)}
    live = LiveRun(
        scaled(web, pools=[pool(count=3)], groups=[{"pool": "general", "min": 1, "max": 3}]), 0, RunSettings()
    )
    live.run_until(7200)
    assert live.simulation.api_server.count(api.Node) == 1
    result = live.result()
    assert [time for time, _, _ in events(result, "node removed")] == [610, 620]
    assert result.summary["evictions"] == 2
    assert result.summary["pods.running"] == 3


@pytest.mark.parametrize("reason", ["safe-to-evict", "bare", "budget"])
def test_pods_that_must_stay_keep_their_node(reason: str) -> None:
    web = {"name": "web", "template": workload("Deployment", "web", "1", replicas=2)}
    if reason == "safe-to-evict":
        note = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
        web["template"]["spec"]["template"]["metadata"]["annotations"] = note  # type: ignore[index]
    elif reason == "bare":
        web = pods(2, "1", "10h")
    scenario = scaled(web, pools=[pool(count=2)], groups=[{"pool": "general", "min": 1, "max": 3}])
    live = LiveRun(scenario, 0, RunSettings())
    if reason == "budget":
        budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
        metadata = {"name": "web", "namespace": "default"}
        live.simulation.api_server.put(codec.convert(api.PodDisruptionBudget, {"metadata": metadata, "spec": budget}))
    live.run_until(7200)
    assert live.simulation.api_server.count(api.Node) == 2


def test_a_node_that_takes_too_long_is_given_up() -> None:
    given = {"max-node-provision-time": "15m"}
    result = run(scaled(pods(2, "3"), pools=[pool(startup="20m")], until="40m", **given))
    assert [time for time, _, _ in events(result, "provisioning failed")] == [910, 2110]
    assert [time for time, _, _ in events(result, "scale up")] == [10, 1210]


def karpenter(*workloads: dict[str, Any], until: str = "2h", **settings: Any) -> RunResult:
    pools = [pool("small", 0, "4", price=1.0), pool("large", 0, "16", price=3.0)]
    return run(scaled(*workloads, pools=pools, until=until, kind="karpenter", **settings))


def test_karpenter_launches_the_cheapest_node_that_takes_the_batch() -> None:
    """The batch is over when no pod came for a second: refused at 0, seen at 1, launched at 2."""
    assert events(karpenter(pods(3, "1"), until="1m"), "scale up") == [(2, "scale up", "small-1")]
    assert events(karpenter(pods(6, "2"), until="1m"), "scale up") == [(2, "scale up", "large-1")]


def test_karpenter_removes_an_empty_node() -> None:
    result = karpenter(pods(3, "1", "10m"))
    assert events(result, "node removed") == [(610, "node removed", "small-1")]
    assert result.summary["cost"] == pytest.approx(608 / 3600)


def test_karpenter_replaces_a_node_by_a_cheaper_one() -> None:
    """One large node for 12 cores; when a replica of 2 cores is left, a small node takes it."""
    web = {
        "name": "web",
        "template": workload("Deployment", "web", "2"),
        "replicas": {"at": {"0s": 6, "10m": 1}},
    }
    result = karpenter(web)
    assert [subject for _, _, subject in events(result, "scale up")] == ["large-1", "small-1"]
    assert events(result, "node removed") == [(610, "node removed", "large-1")]
    assert result.summary["pods.running"] == 1
    kept = karpenter(web, consolidationPolicy="WhenEmpty")
    assert events(kept, "node removed") == []


def test_karpenter_expires_nodes() -> None:
    web = {"name": "web", "template": workload("Deployment", "web", "2", replicas=1)}
    result = karpenter(web, expireAfter="1h")
    assert events(result, "node removed")[0][2] == "small-1"
    assert len(events(result, "scale up")) == 2


@pytest.mark.parametrize(
    ("kind", "settings", "gone", "requested"),
    [
        ("cluster-autoscaler", {"kind": "vanish"}, 65, 70),
        ("cluster-autoscaler", {"kind": "spot", "notice": "31s"}, 96, 100),
        ("karpenter", {"kind": "vanish"}, 65, 67),
        ("karpenter", {"kind": "spot", "notice": "31s"}, 96, 97),
    ],
)
def test_lost_nodes_leave_their_group(kind: str, settings: dict[str, Any], gone: int, requested: int) -> None:
    """Two replicas of 3 cores on two nodes of 4, the most that the group may have. When one is lost, the replica that
    ran on it waits for a new node; the group has room for it as soon as the Node object is deleted. Scans of
    cluster-autoscaler are every 10 s; Karpenter sees refused pods every second, and a batch is over a second later. The
    new node is Ready after 90 s."""
    web = {"name": "web", "template": workload("Deployment", "web", "3", replicas=2)}
    pools, groups = [pool(count=2, startup="90s")], [{"pool": "general", "min": 0, "max": 2}]
    failure = {"nodes": {"name": "general-1"}, "at": "65s", **settings}
    given: dict[str, Any] = {"pools": pools, "groups": groups, "kind": kind, "consolidateAfter": "1h", "until": "10m"}
    result = run(with_failure(failure, web, **given))
    assert events(result, "node removed") == [(gone, "node removed", "general-1")]
    assert events(result, "scale up") == [(requested, "scale up", "general-3")]
    assert sorted(result.pods["bound"].tolist()) == [0, 0, requested + 90]


def test_a_node_that_is_lost_before_it_is_ready() -> None:
    """Requested at 10 s, lost at 65 s: the scan at 70 s requests another, which is Ready 14 minutes later, or given up
    after 15; the time limit of the first one has no effect at 910 s."""
    failure = {"nodes": {"name": "general-2"}, "at": "65s", "kind": "vanish"}
    given: dict[str, Any] = {"groups": [{"pool": "general", "min": 0, "max": 2}], "until": "40m"}
    result = run(with_failure(failure, pods(2, "3"), pools=[pool(startup="14m")], **given))
    assert events(result, "scale up") == [(10, "scale up", "general-2"), (70, "scale up", "general-3")]
    assert sorted(result.pods["bound"].tolist()) == [0, 70 + 14 * 60]
    late = run(with_failure(failure, pods(2, "3"), pools=[pool(startup="20m")], **given))
    assert [time for time, _, _ in events(late, "provisioning failed")] == [70 + 15 * 60, 1270 + 15 * 60]


def test_a_lost_node_that_comes_back_belongs_to_its_group() -> None:
    """The node is back 5 minutes after it was lost, beside the one that replaced it: no scale-up above the maximum."""
    web = {"name": "web", "template": workload("Deployment", "web", "3", replicas=4)}
    failure = {"nodes": {"name": "general-1"}, "at": "65s", "kind": "vanish", "for": "5m"}
    groups = [{"pool": "general", "min": 0, "max": 2}]
    result = run(with_failure(failure, web, pools=[pool(count=2)], groups=groups, until="20m"))
    assert events(result, "scale up") == [(70, "scale up", "general-3")]
    assert result.summary["pods.running"] == 3


@pytest.mark.parametrize("kind", ["fail", "vanish"])
def test_a_new_node_that_is_down_when_it_would_become_ready(kind: str) -> None:
    """Requested at 200 s and Ready at 290 s at the earliest; down from 265 s to 365 s, and Ready from then on."""
    failure = {"nodes": {"name": "general-2"}, "at": "265s", "kind": kind, "for": "100s"}
    given: dict[str, Any] = {
        "groups": [{"pool": "general", "min": 0, "max": 2}],
        "scan-interval": "200s",
        "until": "10m",
    }
    result = run(with_failure(failure, pods(2, "3"), pools=[pool(startup="90s")], **given))
    assert events(result, "scale up") == [(200, "scale up", "general-2")]
    assert sorted(result.pods["bound"].tolist()) == [0, 365]


def test_faults_of_an_autoscaler() -> None:
    with pytest.raises(ConfigError) as caught:
        scaled(pools=[pool()], groups=[{"pool": "none"}, {"pool": "general", "min": 3, "max": 2}], expander="best")
    assert list(caught.value.problems) == [
        'scenario.yaml: $.autoscaler.expander: Unsupported value: "best": supported values: "random", "most-pods", '
        '"least-waste", "least-nodes", "price", "priority"',
        'scenario.yaml: $.autoscaler.groups[0].pool: no pool named "none"',
        "scenario.yaml: $.autoscaler.groups[1].min: must be 0 or more, and not larger than max",
    ]
