"""NodeResourceTopologyMatch: verdicts and scores worked out by hand, and the caches."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import Json, World, container, node, pod
from tests.unit.optional_plugins.test_registry import configuration

from stowplan import api
from stowplan.config import InvalidConfigurationError, from_builtins
from stowplan.framework import CycleState
from stowplan.optional_plugins.node_resource_topology_match.fingerprint import fingerprint, xxh64

NAME = "NodeResourceTopologyMatch"
KIND = "NodeResourceTopology"
GPU = "example.com/gpu"


def zone(number: int, costs: list[int] | None = None, **resources: str) -> Json:
    listed = [{"name": GPU if name == "gpu" else name, "available": amount} for name, amount in resources.items()]
    distances = [{"name": f"node-{other}", "value": cost} for other, cost in enumerate(costs or [])]
    return {"name": f"node-{number}", "type": "Node", "resources": listed, "costs": distances}


def attributes(**given: str) -> list[Json]:
    return [{"name": name, "value": value} for name, value in given.items()]


def strict(scope: str = "container", **more: str) -> list[Json]:
    return attributes(topologyManagerPolicy="single-numa-node", topologyManagerScope=scope, **more)


def topology_world(zones: list[Json], settings: list[Json] | None = None, args: Json | None = None) -> World:
    """A node `n` with zones, and one without."""
    config = configuration(
        {"multiPoint": {"enabled": [{"name": NAME}]}}, *([] if args is None else [{"name": NAME, "args": args}])
    )
    extra = {GPU: "8", "hugepages-2Mi": "1Gi", "example.com/nic": "4"}
    made = World([node("n", cpu="64", memory="64Gi", extra=extra), node("plain", cpu="64", extra=extra)], config=config)
    made.put(KIND, name="n", zones=zones, attributes=strict() if settings is None else settings)
    return made


def containers(*requests: Json, guaranteed: bool = True) -> list[Json]:
    return [
        {**container(f"c{i}"), "resources": {"requests": each, **({"limits": each} if guaranteed else {})}}
        for i, each in enumerate(requests)
    ]


def refusals(made: World, item: Json) -> dict[str, str]:
    """The rejections by node; both forms agree."""
    plugin, newcomer, nodes = made.plugin(NAME), made.pod(item), made.cluster.nodes.everything()
    single = {info.name: plugin.filter(CycleState(), newcomer, info) for _, info in nodes.infos()}
    vector = {
        info.name: status
        for mask, status in plugin.filter_nodes(CycleState(), newcomer, nodes)
        for position, info in nodes.infos()
        if mask[position]
    }
    assert vector == {name: status for name, status in single.items() if status is not None}
    return {name: status.message for name, status in vector.items()}


def cores(cpu: str, memory: str = "1Gi", **more: str) -> Json:
    return {"cpu": cpu, "memory": memory, **more}


ZONES = [zone(0, cpu="4", memory="8Gi", gpu="1"), zone(1, cpu="6", memory="4Gi", gpu="2")]


@pytest.mark.parametrize(
    ("scope", "requests", "guaranteed", "expected"),
    [
        ("pod", [cores("4")], True, ""),
        ("pod", [cores("6")], True, ""),
        ("pod", [cores("7")], True, "cannot align pod"),
        ("pod", [cores("3"), cores("4")], True, "cannot align pod"),
        ("container", [cores("3"), cores("4")], True, ""),  # 3 from zone 0, 4 from zone 1.
        ("container", [cores("3"), cores("4"), cores("2")], True, ""),
        ("container", [cores("3"), cores("4"), cores("3")], True, "cannot align container"),
        ("pod", [cores("5", "5Gi")], True, "cannot align pod"),  # cpu only in zone 1, memory only in zone 0.
        ("pod", [cores("7")], False, ""),  # Burstable: cpu and memory may come from anywhere.
        ("pod", [cores("7", **{GPU: "2"})], False, ""),
        ("pod", [cores("7", **{GPU: "3"})], False, "cannot align pod"),
        ("container", [{GPU: "1"}, {GPU: "2"}], False, ""),
        ("container", [{GPU: "1"}, {GPU: "2"}, {GPU: "1"}], False, "cannot align container"),
        ("container", [cores("7"), cores("7")], False, ""),
        ("pod", [{"example.com/nic": "4"}], False, ""),  # No zone lists it, the node has it.
        ("pod", [{"example.com/none": "1"}], False, "cannot align pod"),
        ("pod", [cores("4", **{"hugepages-2Mi": "2Mi"})], True, "cannot align pod"),  # Native, and no zone lists it.
        ("pod", [cores("4", **{"ephemeral-storage": "1Gi"})], True, ""),
        ("pod", [{}], False, ""),
        ("pod", [cores("4", "8Gi", **{GPU: "1"})], True, ""),  # Exactly what zone 0 has.
        ("pod", [cores("4001m")], True, ""),  # Zone 1.
        ("pod", [cores("4001m", "5Gi")], True, "cannot align pod"),
        ("pod", [cores("1", "5Gi", **{GPU: "2"})], True, "cannot align pod"),  # Memory in zone 0, GPUs in zone 1.
        ("pod", [cores("1", "5Gi", **{GPU: "2"})], False, ""),  # Burstable: only the GPUs are aligned.
        ("container", [cores("1", "5Gi", **{GPU: "2"})], True, "cannot align container"),
        ("container", [cores("4"), cores("6"), cores("1")], True, "cannot align container"),  # Nothing is left.
        ("pod", [{GPU: "0"}], False, ""),  # An amount of 0 is not aligned.
        ("pod", [{"example.com/none": "0"}], False, ""),
        ("pod", [{"hugepages-2Mi": "2Mi"}], False, ""),  # Best effort, and native.
        ("pod", [cores("1", **{"hugepages-2Mi": "2Mi"})], False, "cannot align pod"),
    ],
)
def test_filter(scope: str, requests: list[Json], guaranteed: bool, expected: str) -> None:
    made = topology_world(ZONES, strict(scope))
    item = pod("p", containers=containers(*requests, guaranteed=guaranteed))
    assert refusals(made, item) == ({"n": expected} if expected else {})


def test_init_containers() -> None:
    made = topology_world(ZONES)
    large = containers(cores("7"))
    texts = {}
    for policy in ("", "Always"):
        init = [{**large[0], "name": "i", **({"restartPolicy": policy} if policy else {})}]
        texts[policy] = refusals(made, pod("p", initContainers=init, containers=containers(cores("1"))))["n"]
    assert texts == {"": "cannot align init container", "Always": "cannot align sidecar container"}
    overhead = pod("p", overhead={"cpu": "3"}, containers=containers(cores("4")))
    assert refusals(made, overhead) == {}
    assert refusals(topology_world(ZONES, strict("pod")), overhead) == {"n": "cannot align pod"}


def test_init_containers_give_back_what_they_take() -> None:
    """In scope container, each is aligned alone; in scope pod, the larger of containers and init containers counts."""
    init = [{**each, "name": f"i{i}"} for i, each in enumerate(containers(cores("6"), cores("6")))]
    small = pod("p", initContainers=init, containers=containers(cores("4"), cores("2")))
    assert refusals(topology_world(ZONES), small) == {}
    assert refusals(topology_world(ZONES, strict("pod")), small) == {}
    large = pod("p", initContainers=init, containers=containers(cores("4"), cores("3")))
    assert refusals(topology_world(ZONES), large) == {}
    assert refusals(topology_world(ZONES, strict("pod")), large) == {"n": "cannot align pod"}


def test_a_single_zone_is_the_whole_node() -> None:
    one = [zone(0, cpu="10", memory="12Gi", gpu="3")]
    for scope, text in (("pod", "cannot align pod"), ("container", "cannot align container")):
        made = topology_world(one, strict(scope))
        assert refusals(made, pod("p", containers=containers(cores("4"), cores("6")))) == {}
        assert refusals(made, pod("p", containers=containers(cores("4"), cores("7")))) == {"n": text}


def test_a_report_without_zones_has_room_for_nothing_that_is_aligned() -> None:
    made = topology_world([])
    assert refusals(made, pod("p", containers=containers(cores("1")))) == {"n": "cannot align container"}
    assert refusals(made, pod("p", containers=containers({GPU: "1"}, guaranteed=False))) == {}  # No zone lists it.
    assert refusals(made, pod("p", containers=containers({}, guaranteed=False))) == {}


@pytest.mark.parametrize(("number", "fits"), [(0, True), (63, True), (64, True), (65, False), (999, False)])
def test_ids_of_zones(number: int, fits: bool) -> None:
    made = topology_world([zone(number, cpu="4", memory="8Gi")])
    assert (refusals(made, pod("p", containers=containers(cores("1")))) == {}) == fits


@pytest.mark.parametrize(
    ("policies", "settings", "requests", "expected"),
    [
        # Zones of 4 and 6 cores: two containers of 4 fit in scope container only.
        (["SingleNUMANodePodLevel"], [], [cores("4"), cores("4")], "cannot align pod"),
        (["SingleNUMANodeContainerLevel"], [], [cores("4"), cores("4")], ""),
        (["SingleNUMANodePodLevel"], attributes(topologyManagerScope="container"), [cores("4"), cores("4")], ""),
        (
            ["SingleNUMANodePodLevel"],
            attributes(topologyManagerScope="node"),
            [cores("4"), cores("4")],
            "cannot align pod",
        ),
        # Only the first policy counts.
        (["BestEffort", "SingleNUMANodePodLevel"], [], [cores("7")], ""),
        (
            ["BestEffortPodLevel"],
            attributes(topologyManagerPolicy="single-numa-node"),
            [cores("7")],
            "cannot align pod",
        ),
        (["Unknown"], [], [cores("7")], ""),
        # Container is the default.
        ([], attributes(topologyManagerPolicy="single-numa-node"), [cores("4"), cores("4")], ""),
    ],
)
def test_scopes(policies: list[str], settings: list[Json], requests: list[Json], expected: str) -> None:
    made = topology_world(ZONES)
    made.put(KIND, name="n", zones=ZONES, topologyPolicies=policies, attributes=settings)
    assert refusals(made, pod("p", containers=containers(*requests))) == ({"n": expected} if expected else {})


@pytest.mark.parametrize(
    ("policies", "settings", "rejects"),
    [
        ([], [], False),
        ([], attributes(topologyManagerPolicy="best-effort"), False),
        ([], attributes(topologyManagerPolicy="restricted"), False),
        ([], attributes(topologyManagerPolicy="none"), False),
        ([], attributes(topologyManagerPolicy="single-numa-node"), True),
        (["SingleNUMANodeContainerLevel"], [], True),
        (["SingleNUMANodePodLevel"], [], True),
        (["RestrictedPodLevel"], [], False),
        (["BestEffort"], attributes(topologyManagerPolicy="single-numa-node"), True),
        (["SingleNUMANodePodLevel"], attributes(topologyManagerPolicy="none"), False),
        (["SingleNUMANodePodLevel"], attributes(topologyManagerPolicy="other"), True),
    ],
)
def test_policies(policies: list[str], settings: list[Json], rejects: bool) -> None:
    made = topology_world(ZONES)
    made.put(KIND, name="n", zones=ZONES, topologyPolicies=policies, attributes=settings)
    assert bool(refusals(made, pod("p", containers=containers(cores("7"))))) == rejects


def test_zones_that_cannot_be_read_are_ignored() -> None:
    bad = [
        {**zone(2, cpu="9", memory="9Gi"), "type": "Socket"},
        {**zone(0, cpu="9", memory="9Gi"), "name": "zone-a"},
        zone(99, cpu="9", memory="9Gi"),
        zone(1, cpu="9", memory="lots"),
    ]
    item = pod("p", containers=containers(cores("1")))
    assert refusals(topology_world(bad), item) == {"n": "cannot align container"}
    assert refusals(topology_world([*bad, zone(3, cpu="1", memory="1Gi")]), item) == {}


def scored(made: World, item: Json) -> int:
    """The score of node `n`; both forms agree."""
    plugin, newcomer, nodes = made.plugin(NAME), made.pod(item), made.cluster.nodes.everything()
    vector = plugin.score_nodes(CycleState(), newcomer, nodes)
    single = {info.name: plugin.score(CycleState(), newcomer, info) for _, info in nodes.infos()}
    assert single == {info.name: vector[position] for position, info in nodes.infos()}
    return single["n"]  # type: ignore[no-any-return]


SCORED_ZONES = [zone(0, cpu="4", memory="8Gi"), zone(1, cpu="8", memory="4Gi")]


@pytest.mark.parametrize(
    ("strategy", "scope", "requests", "expected"),
    [
        # Zone 0: cpu (4-2)/4 = 50, memory (8-2)/8 = 75: 62. Zone 1: 75 and 50: 62.
        ({"type": "LeastAllocated"}, "pod", [cores("2", "2Gi")], 62),
        ({"type": "MostAllocated"}, "pod", [cores("2", "2Gi")], 37),
        # 1500m count as 2 cores.
        ({"type": "LeastAllocated"}, "pod", [cores("1500m", "2Gi")], 62),
        # Zone 0: cpu 0, memory 50. Zone 1: 37 and 0. The lower one that is not 0: 18.
        ({"type": "LeastAllocated"}, "pod", [cores("5", "4Gi")], 18),
        ({"type": "LeastAllocated"}, "pod", [cores("9", "9Gi")], 0),
        # Weights 3 and 1: (3 x 50 + 75) / 4 = 56 and (3 x 75 + 50) / 4 = 68.
        (
            {"resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 0}]},
            "pod",
            [cores("2", "2Gi")],
            56,
        ),
        # Fractions 0.5 and 0.25: variance 0.03125. Zone 1 has the same.
        ({"type": "BalancedAllocation"}, "pod", [cores("2", "2Gi")], 96),
        ({"type": "BalancedAllocation"}, "pod", [cores("9", "9Gi")], 0),
        # Zone 0: 5/4 is above 1, so 0, which does not count. Zone 1: 5/8 and 1/4 have variance 0.0703.
        ({"type": "BalancedAllocation"}, "pod", [cores("5", "1Gi")], 92),
        # All of zone 0: 0. In zone 1 cpu (8-4)/8 = 50, memory is too little: 0. The mean is 25.
        ({"type": "LeastAllocated"}, "pod", [cores("4", "8Gi")], 25),
        # MostAllocated: zone 0 100 and 100; zone 1 50 and 0. The lower one: 25.
        ({"type": "MostAllocated"}, "pod", [cores("4", "8Gi")], 25),
        ({"type": "MostAllocated"}, "pod", [cores("1m", "1Gi")], 18),  # A core: zone 0 25 and 12, zone 1 12 and 25.
        # Resources without a weight have weight 1, as cpu and memory have by default.
        ({"resources": [{"name": "cpu", "weight": 3}]}, "pod", [cores("2", "2Gi")], 56),
        # (62 + 75) / 2: the second container: (75 + 87) / 2 = 81 and (87 + 75) / 2 = 81.
        ({"type": "LeastAllocated"}, "container", [cores("2", "2Gi"), cores("1", "1Gi")], 71),
    ],
)
def test_scores(strategy: Json, scope: str, requests: list[Json], expected: int) -> None:
    made = topology_world(SCORED_ZONES, strict(scope), {"scoringStrategy": strategy})
    assert scored(made, pod("p", containers=containers(*requests))) == expected


def test_scores_of_other_pods_and_nodes() -> None:
    made = topology_world(SCORED_ZONES)
    assert scored(made, pod("p", containers=containers(cores("2"), guaranteed=False))) == 100
    assert scored(topology_world(SCORED_ZONES, []), pod("p", containers=containers(cores("2")))) == 0
    one = {"scoringStrategy": {"type": "BalancedAllocation"}}
    single = [zone(0, cpu="4", memory="8Gi")]
    assert scored(topology_world(single, strict("pod"), one), pod("p", containers=containers(cores("2", "4Gi")))) == 100


def test_scores_of_init_containers_and_of_resources_that_a_zone_lacks() -> None:
    made = topology_world(SCORED_ZONES)
    init = [{**containers(cores("1", "1Gi"))[0], "name": "i"}]
    item = pod("p", initContainers=init, containers=containers(cores("2", "2Gi")))
    assert scored(made, item) == 71  # The mean of 81 and 62, rounded down.
    # No zone has a GPU: (50 + 75 + 0) / 3 and (75 + 50 + 0) / 3.
    assert scored(made, pod("p", containers=containers(cores("2", "2Gi", **{GPU: "1"})))) == 41
    balanced = topology_world(SCORED_ZONES, args={"scoringStrategy": {"type": "BalancedAllocation"}})
    # A resource that a zone lacks counts as all of it: 0.5, 0.25 and 1 have variance 0.1458.
    assert scored(balanced, pod("p", containers=containers(cores("2", "2Gi", **{GPU: "1"})))) == 85


def test_scores_of_nodes_that_are_not_fresh() -> None:
    made = topology_world([], args={"discardReservedNodes": True})
    report(made, cpu="8")
    item = pod("p", containers=containers(cores("2")))
    assert scored(made, item) > 0
    place(made, "a")
    assert scored(made, item) == 0


FOUR = [
    zone(i, [10 if i == j else 12 if i // 2 == j // 2 else 20 for j in range(4)], cpu="4", memory="8Gi")
    for i in range(4)
]
LEAST_NUMA = {"scoringStrategy": {"type": "LeastNUMANodes"}}


@pytest.mark.parametrize(
    ("scope", "requests", "expected"),
    [
        ("pod", [cores("4")], 94),  # 100 - 12 + 6
        ("pod", [cores("5")], 82),  # Two neighbouring zones: 100 - 24 + 6
        ("pod", [cores("9")], 70),  # All combinations of three are equally far.
        ("pod", [cores("16")], 58),
        ("pod", [cores("17")], 0),
        ("container", [cores("3"), cores("3")], 94),
        ("container", [cores("3"), cores("6")], 76),  # Only zones 1 and 2 hold 6 cores: no neighbours.
    ],
)
def test_fewest_zones(scope: str, requests: list[Json], expected: int) -> None:
    zones = FOUR if scope == "pod" else FOUR[:3]
    settings = attributes(topologyManagerPolicy="none", topologyManagerScope=scope)
    made = topology_world(zones, settings, LEAST_NUMA)
    assert scored(made, pod("p", containers=containers(*requests))) == expected


def test_a_pod_that_needs_nothing_of_a_zone_gets_the_full_score() -> None:
    made = topology_world([zone(0, gpu="1")], attributes(topologyManagerScope="pod"), LEAST_NUMA)
    assert scored(made, pod("p", containers=containers(cores("1")))) == 100


def test_the_number_of_zones_of_the_kubelet_scales_the_score() -> None:
    settings = attributes(topologyManagerPolicy="none", topologyManagerScope="pod", topologyManagerMaxNUMANodes="4")
    made = topology_world(FOUR, settings, LEAST_NUMA)
    assert scored(made, pod("p", containers=containers(cores("5")))) == 100 - 2 * 25 + 12


@pytest.mark.parametrize(("given", "share"), [("1", 12), ("0", 12), ("-4", 12), ("x", 12), ("2", 50), ("1025", 0)])
def test_numbers_of_zones(given: str, share: int) -> None:
    """More than 1 and at most 1024; 8 otherwise."""
    settings = attributes(topologyManagerScope="pod", topologyManagerMaxNUMANodes=given)
    made = topology_world(FOUR, settings, LEAST_NUMA)
    assert scored(made, pod("p", containers=containers(cores("4")))) == 100 - share + share // 2


def test_a_number_of_zones_without_bounds_is_the_largest_one() -> None:
    settings = attributes(topologyManagerScope="pod", topologyManagerMaxNUMANodes="9" * 5000)
    made = topology_world(FOUR, settings, LEAST_NUMA)
    assert scored(made, pod("p", containers=containers(cores("5")))) >= 0


def test_zones_without_costs_are_far() -> None:
    zones = [zone(0, [10, 12, 12], cpu="1", memory="8Gi"), *(zone(i, cpu="4", memory="8Gi") for i in (1, 2))]
    made = topology_world(zones, attributes(topologyManagerScope="pod"), LEAST_NUMA)
    # Zones 1 and 2 hold it; zones 0 and 1 do too, and are nearer.
    assert scored(made, pod("p", containers=containers(cores("5")))) == 82


# Caches


def pods_fingerprint(*names: str) -> str:
    return fingerprint(("default", name) for name in names)


def report(made: World, *, cpu: str, shows: str = "", method: str = "", policy: str = "single-numa-node") -> None:
    settings = strict("pod", nodeTopologyPodsFingerprint=shows, nodeTopologyPodsFingerprintMethod=method)
    settings[0]["value"] = policy
    made.put(KIND, name="n", zones=[zone(0, cpu=cpu, memory="64Gi")], attributes=settings)


def place(made: World, name: str, cpu: str = "2") -> Any:
    """Schedule a pod on the node, up to Reserve."""
    item = made.pod(pod(name, containers=containers(cores(cpu))))
    made.cluster.assume(item, "n")
    made.plugin(NAME).reserve(CycleState(), item, "n")
    return item


def fits(made: World, cpu: str) -> str:
    return refusals(made, pod("p", containers=containers(cores(cpu)))).get("n", "")


MISALIGNED = "cannot align pod"
STALE = "invalid node topology data"


def test_passthrough_uses_the_latest_report() -> None:
    made = topology_world([])
    report(made, cpu="4")
    place(made, "a")
    assert fits(made, "4") == ""
    report(made, cpu="2")
    assert fits(made, "4") == MISALIGNED


def test_reports_change_kept_answers() -> None:
    made = topology_world([])
    item = pod("p", containers=containers(cores("4")), nodeSelector={"kubernetes.io/hostname": "n"})
    for cpu, placed in (("4", "n"), ("2", ""), ("2", ""), ("4", "n"), ("4", "n")):
        report(made, cpu=cpu)
        assert made.decide(item).node_name == placed
        assert made.profile.decide_afresh(made.pod(item)).node_name == placed


def test_a_report_may_come_after_the_start() -> None:
    made = topology_world([], args={"cacheResyncPeriodSeconds": 5})
    (present,) = made.cluster.stores.of(api.NodeResourceTopology)
    made.cluster.remove(present)
    assert fits(made, "8") == ""
    report(made, cpu="4", shows=pods_fingerprint())
    assert fits(made, "8") == MISALIGNED
    assert fits(made, "4") == ""


def test_reports_that_are_gone_are_forgotten() -> None:
    made = topology_world([], args={"cacheResyncPeriodSeconds": 5})
    report(made, cpu="4", shows=pods_fingerprint())
    place(made, "a")
    assert fits(made, "8") == MISALIGNED
    cache: Any = made.plugin(NAME)._cache
    assert list(cache._parsed) == list(cache._states) == ["n"]
    made.cluster.remove(next(iter(made.cluster.stores.of(api.NodeResourceTopology))))
    assert not cache._parsed
    assert not cache._states
    assert fits(made, "8") == ""


def test_nodes_with_reserved_pods_are_discarded() -> None:
    made = topology_world([], args={"discardReservedNodes": True})
    report(made, cpu="8")
    item = place(made, "a")
    assert fits(made, "1") == STALE
    made.plugin(NAME).post_bind(CycleState(), item, "n")
    assert fits(made, "1") == ""
    other = place(made, "b")
    assert fits(made, "1") == STALE
    made.plugin(NAME).unreserve(CycleState(), other, "n")
    assert fits(made, "1") == ""


def test_reserved_pods_are_taken_from_every_zone_until_a_report_includes_them() -> None:
    made = topology_world([], args={"cacheResyncPeriodSeconds": 5})
    report(made, cpu="8", shows=pods_fingerprint())
    assert fits(made, "8") == ""
    place(made, "a")
    assert fits(made, "6") == ""
    assert fits(made, "7") == MISALIGNED
    report(made, cpu="8", shows=pods_fingerprint())  # Still without the pod.
    assert fits(made, "7") == MISALIGNED
    report(made, cpu="7", shows=pods_fingerprint("a"))  # The pod took a core of another zone.
    assert fits(made, "7") == ""
    item = place(made, "b")
    assert fits(made, "6") == MISALIGNED
    made.plugin(NAME).unreserve(CycleState(), item, "n")
    made.cluster.forget(item)
    assert fits(made, "7") == ""


def test_changed_settings_are_taken_over_at_once() -> None:
    made = topology_world([], args={"cacheResyncPeriodSeconds": 5})
    report(made, cpu="8", shows=pods_fingerprint())
    place(made, "a")
    report(made, cpu="8", shows="stale", policy="none")
    assert fits(made, "8") == ""


def test_pods_of_other_schedulers_make_a_node_stale() -> None:
    other = pod("f", "n", schedulerName="other", containers=containers(cores("1", **{GPU: "1"}), guaranteed=False))
    for detect, expected in (("All", STALE), ("OnlyExclusiveResources", ""), ("None", "")):
        args = {"cacheResyncPeriodSeconds": 5, "cache": {"foreignPodsDetect": detect}}
        made = topology_world([], args=args)
        report(made, cpu="8", shows=pods_fingerprint())
        made.add_pod(other)
        assert fits(made, "1") == expected, detect
        report(made, cpu="8", shows=pods_fingerprint("f"))
        assert fits(made, "1") == ""


@pytest.mark.parametrize(
    ("resync_method", "reported", "shown", "includes"),
    [
        ("Autodetect", "all", ("a", "shared"), True),
        ("Autodetect", "all", ("a",), False),
        ("Autodetect", "with-exclusive-resources", ("a",), True),
        ("OnlyExclusiveResources", "all", ("a",), True),
        ("All", "with-exclusive-resources", ("a",), False),
        ("All", "with-exclusive-resources", ("a", "shared"), True),
    ],
)
def test_fingerprints_of_exclusive_pods(
    resync_method: str, reported: str, shown: tuple[str, ...], includes: bool
) -> None:
    args = {"cacheResyncPeriodSeconds": 5, "cache": {"resyncMethod": resync_method}}
    made = topology_world([], args=args)
    report(made, cpu="8", shows=pods_fingerprint())
    made.add_pod(pod("shared", "n", containers=containers(cores("1500m"), guaranteed=False)))
    place(made, "a")
    report(made, cpu="8", shows=pods_fingerprint(*shown), method=reported)
    assert (fits(made, "8") == "") == includes


def test_without_fingerprints_a_report_counts_once_the_pod_is_bound() -> None:
    made = topology_world([], args={"cacheResyncPeriodSeconds": 5})
    report(made, cpu="8")
    item = place(made, "a")
    report(made, cpu="8")
    assert fits(made, "8") == MISALIGNED
    made.plugin(NAME).post_bind(CycleState(), item, "n")
    assert fits(made, "8") == MISALIGNED
    report(made, cpu="8")
    assert fits(made, "8") == ""


def test_dry_runs_do_not_touch_the_cache() -> None:
    made = topology_world([], args={"cacheResyncPeriodSeconds": 5})
    report(made, cpu="8", shows=pods_fingerprint())
    item = place(made, "a", "8")
    info = made.cluster.nodes.get("n")
    assert info is not None
    with made.cluster.what_if() as journal:
        journal.remove(item, info)
        assert fits(made, "8") == MISALIGNED
    assert fits(made, "8") == MISALIGNED


def test_hashes() -> None:
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"abc") == 0x44BC2CF5AD770999
    assert xxh64(b"xxhash", 20141025) == 0xB559B98D844E0635
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1
    assert pods_fingerprint() == "pfp0v001ef46db3751d8e999"
    assert pods_fingerprint("a", "b") == pods_fingerprint("b", "a") != pods_fingerprint("a")


def test_explanations() -> None:
    made = topology_world(ZONES, strict("pod"))
    item = made.pod(pod("p", containers=containers(cores("7"))))
    info = made.cluster.nodes.get("n")
    assert info is not None
    (found,) = made.plugin(NAME).explain(CycleState(), item, info)
    assert found.text == (
        "needs 7 CPU, 1Gi with all containers in one NUMA zone; "
        "zones have node-0 4 CPU, 8Gi, 1 example.com/gpu; node-1 6 CPU, 4Gi, 2 example.com/gpu"
    )


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            {"scoringStrategy": {"type": "Most"}},
            'scoringStrategy.type: Invalid value: "Most": invalid ScoringStrategyType',
        ),
        ({"preemptionMode": "On"}, 'preemptionMode: Invalid value: "On": invalid PreemptionMode'),
        (
            {"preemptionMode": "Enabled"},
            'preemptionMode: Invalid value: "Enabled": not supported: reports do not show in which zone a pod runs',
        ),
        (
            {"cache": {"resyncScope": "Some"}},
            'cache.resyncScope: Invalid value: "Some": resyncScope must be either "All" or "OnlyResources"',
        ),
    ],
)
def test_args_are_validated(args: Json, error: str) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(configuration({"filter": {"enabled": [{"name": NAME}]}}, {"name": NAME, "args": args}))
    (found,) = caught.value.errors
    assert f"{found.path.partition('.args.')[2]}: {found.message}" == error
