"""CapacityScheduling: verdicts worked out by hand. Amounts are cores; memory is part of min and max, and plentiful."""

from random import Random
from typing import Any

import pytest
from tests.builders import Json, World, node, pod
from tests.unit.optional_plugins.test_registry import configuration

from stowplan.cache import Cluster
from stowplan.evaluation.evaluator import evaluate
from stowplan.framework import CycleState
from stowplan.optional_plugins.capacity_scheduling.quotas import NamespaceUsage, Quota

NAME = "CapacityScheduling"
ENABLED = {
    "preFilter": {"enabled": [{"name": NAME}]},
    "postFilter": {"enabled": [{"name": NAME}], "disabled": [{"name": "*"}]},
    "reserve": {"enabled": [{"name": NAME}]},
}
MORE_THAN_MAX = "Pod {} is rejected in PreFilter because ElasticQuota {} is more than Max"
MORE_THAN_MIN = "Pod {} is rejected in PreFilter because total ElasticQuota used is more than min"


def world(quotas: dict[str, Json], *pods: Json, args: Json | None = None, nodes: int = 1) -> World:
    config = configuration(ENABLED, *([] if args is None else [{"name": NAME, "args": args}]))
    made = World([node(f"n{i}", cpu="10", memory="100Gi") for i in range(nodes)], pods, config=config)
    for namespace, spec in quotas.items():
        made.put("ElasticQuota", name=f"quota-{namespace}", namespace=namespace, spec=spec)
    return made


def quota(least: int, most: int | None = None) -> Json:
    spec: Json = {"min": {"cpu": str(least), "memory": "100Gi"}}
    return spec if most is None else {**spec, "max": {"cpu": str(most), "memory": "100Gi"}}


def running(name: str, namespace: str, cpu: int = 1, on: str = "n0", **more: Any) -> Json:
    """A pod that started at the second in its name."""
    status = {"startTime": f"2026-01-01T00:00:0{name[-1]}Z"}
    return pod(name, on, namespace=namespace, requests={"cpu": cpu}, status=status, **more)


def wanted(namespace: str, cpu: int = 1, **more: Any) -> Json:
    return pod("p", namespace=namespace, requests={"cpu": cpu}, **more)


def refusal(made: World, item: Json) -> str:
    status = made.plugin(NAME).pre_filter(CycleState(), made.pod(item), made.cluster.nodes.everything())
    return "" if status is None else status.message


A_USES_4 = [running(f"a{i}", "a", 2) for i in range(2)]


@pytest.mark.parametrize(
    ("quotas", "cpu", "expected"),
    [
        ({}, 99, ""),  # No quota.
        ({"b": quota(0)}, 99, ""),
        ({"a": quota(10, 6)}, 2, ""),
        ({"a": quota(10, 6)}, 3, MORE_THAN_MAX),
        ({"a": quota(5)}, 1, ""),
        ({"a": quota(5)}, 2, MORE_THAN_MIN),
        ({"a": quota(5), "b": quota(3)}, 4, ""),  # a borrows from b.
        ({"a": quota(5), "b": quota(3)}, 5, MORE_THAN_MIN),
        ({"a": {"max": {"cpu": "6"}}, "b": quota(20)}, 2, ""),  # No memory is requested.
        ({"a": {"min": {"cpu": "4"}}}, 1, MORE_THAN_MIN),
        ({"a": {}}, 1, MORE_THAN_MIN),  # Nothing is guaranteed.
        ({"a": {"max": {}}, "b": quota(20)}, 1, MORE_THAN_MAX),  # A list without entries is not an absent one.
        ({"a": {"min": {"cpu": "9"}, "max": {"memory": "1Gi"}}}, 1, MORE_THAN_MAX),
        ({"a": quota(10, 3)}, 0, MORE_THAN_MAX),  # What runs already is above the max: nothing more.
        ({"a": {**quota(9), "max": {"cpu": "9", "memory": "9Gi", "pods": "0"}}}, 1, ""),  # Pods are not counted.
        ({"a": quota(-5), "b": quota(12)}, 3, ""),  # Together 7.
        ({"a": quota(-5), "b": quota(12)}, 4, MORE_THAN_MIN),
        ({"a": quota(9, -1)}, 1, MORE_THAN_MAX),
    ],
)
def test_pre_filter(quotas: dict[str, Json], cpu: int, expected: str) -> None:
    assert refusal(world(quotas, *A_USES_4), wanted("a", cpu)) == expected.format("a/p", "a")


def test_resources_that_a_max_does_not_list() -> None:
    item = pod("p", namespace="a", requests={"cpu": "1", "memory": "1Gi"})
    scalar = pod("p", namespace="a", requests={"example.com/gpu": "1"})
    quotas = {"a": {"min": {"cpu": "4", "memory": "8Gi", "example.com/gpu": "1"}, "max": {"cpu": "4"}}}
    assert refusal(world(quotas), item) == MORE_THAN_MAX.format("a/p", "a")
    assert refusal(world(quotas, args={"unlistedMax": "Unlimited"}), item) == ""
    assert refusal(world(quotas), scalar) == ""


def test_scalar_resources_that_a_min_does_not_list_are_not_guaranteed() -> None:
    item = pod("p", namespace="a", requests={"example.com/gpu": "1"})
    assert refusal(world({"a": quota(5)}), item) == MORE_THAN_MIN.format("a/p", "a")
    guaranteed = {"min": {"cpu": "5", "memory": "1Gi", "example.com/gpu": "1"}}
    assert refusal(world({"a": quota(5), "b": guaranteed}), item) == ""  # Borrowed from b.
    limited = {**guaranteed, "max": {"cpu": "5", "memory": "1Gi", "example.com/gpu": "0"}}
    assert refusal(world({"a": limited}), item) == MORE_THAN_MAX.format("a/p", "a")


def test_the_request_is_the_larger_of_containers_and_init_containers_with_overhead() -> None:
    made = world({"a": quota(9, 4)})

    def item(init: str, overhead: str) -> Json:
        containers = [{"name": f"c{i}", "image": "i", "resources": {"requests": {"cpu": "1"}}} for i in range(2)]
        starting = [{"name": "i", "image": "i", "resources": {"requests": {"cpu": init}}}]
        return pod("p", namespace="a", containers=containers, initContainers=starting, overhead={"cpu": overhead})

    assert refusal(made, item("1", "2")) == ""  # 2 + 2
    assert refusal(made, item("3", "1")) == ""  # 3 + 1
    assert refusal(made, item("3", "2")) == MORE_THAN_MAX.format("a/p", "a")
    assert refusal(made, item("1", "3")) == MORE_THAN_MAX.format("a/p", "a")


def test_reserved_pods_are_used_until_they_finish_or_go() -> None:
    made = world({"a": quota(9, 4)})
    text = MORE_THAN_MAX.format("a/p", "a")
    first = made.pod(pod("first", namespace="a", requests={"cpu": "3"}))
    made.cluster.assume(first, "n0")
    assert refusal(made, wanted("a", 2)) == text
    made.cluster.forget(first)
    assert refusal(made, wanted("a", 2)) == ""
    made.add_pod(running("r0", "a", 3))
    assert refusal(made, wanted("a", 2)) == text
    made.cluster.remove_pod(made.pod(running("r0", "a", 3)).uid)
    assert refusal(made, wanted("a", 2)) == ""


def test_nominated_pods_count() -> None:
    made = world({"a": quota(5, 6), "b": quota(3)}, *A_USES_4)
    for name, namespace, priority in (("same", "a", 5), ("lower", "a", 0), ("other", "b", 0), ("free", "c", 0)):
        nominated = pod(name, namespace=namespace, priority=priority, requests={"cpu": "1"})
        made.nominator.add(made.pod(nominated), "n0")
    # a: 4 + 1 and the nominated pod of equal priority are 6; in all, with the pod of b, 7 of 8.
    assert refusal(made, wanted("a", 1, priority=5)) == ""
    assert refusal(made, wanted("a", 2, priority=5)) == MORE_THAN_MAX.format("a/p", "a")
    # b: 4 + 3 and the nominated pod of b are 8; a is below its min, so its two nominated pods count.
    assert refusal(made, wanted("b", 1)) == ""
    assert refusal(made, wanted("b", 2)) == MORE_THAN_MIN.format("b/p", "b")


# Random quotas, compared with a plain reference written anew from the rules: (cores, GiB) of each namespace.
Amounts = tuple[int, int]


def exceeds(amounts: Amounts, limits: Amounts) -> bool:
    return any(amount > limit for amount, limit in zip(amounts, limits, strict=True))


def total(*amounts: Amounts) -> Amounts:
    return sum(each[0] for each in amounts), sum(each[1] for each in amounts)


def reference_refusal(
    least: dict[str, Amounts],
    most: dict[str, Amounts],
    used: dict[str, Amounts],
    nominated: list[tuple[str, int, Amounts]],
    item: tuple[str, int, Amounts],
) -> str:
    """`nominated` and `item`: (namespace, priority, request)."""
    namespace, priority, request = item
    if namespace not in least:
        return ""
    own = [each for where, rank, each in nominated if where == namespace and rank >= priority]
    if exceeds(total(used[namespace], request, *own), most.get(namespace, (10**6, 10**6))):
        return MORE_THAN_MAX.format(f"{namespace}/p", namespace)
    others = [
        each
        for where, _, each in nominated
        if where != namespace and where in least and not exceeds(used[where], least[where])
    ]
    in_use = total(*(used[where] for where in least), request, *own, *others)
    return MORE_THAN_MIN.format(f"{namespace}/p", namespace) if exceeds(in_use, total(*least.values())) else ""


def spec_of(amounts: Amounts) -> Json:
    return {"cpu": str(amounts[0]), "memory": f"{amounts[1]}Gi"}


def test_random_quotas_equal_a_plain_reference() -> None:
    seen = set()
    for seed in range(300):
        random = Random(seed)

        def amounts(high: int, random: Random = random) -> Amounts:
            return random.randint(0, high), random.randint(0, high)

        least = {name: amounts(12) for name in "abc" if random.random() < 0.8}
        most = {name: amounts(12) for name in least if random.random() < 0.5}
        made = world({name: {"min": spec_of(least[name])} for name in least if name not in most})
        for name, each in most.items():
            spec = {"min": spec_of(least[name]), "max": spec_of(each)}
            made.put("ElasticQuota", name="q", namespace=name, spec=spec)
        used = dict.fromkeys("abcd", (0, 0))
        for i in range(random.randint(0, 8)):
            name, each = random.choice("abcd"), amounts(4)
            made.add_pod(pod(f"r{i}", "n0", namespace=name, requests=spec_of(each)))
            used[name] = total(used[name], each)
        nominated = [(random.choice("abcd"), random.randint(0, 2), amounts(3)) for _ in range(random.randint(0, 4))]
        for i, (name, priority, each) in enumerate(nominated):
            item = pod(f"n{i}", namespace=name, priority=priority, requests=spec_of(each))
            made.nominator.add(made.pod(item), "n0")
        namespace, priority, request = random.choice("abcd"), random.randint(0, 2), amounts(4)
        expected = reference_refusal(least, most, used, nominated, (namespace, priority, request))
        found = refusal(made, pod("p", namespace=namespace, priority=priority, requests=spec_of(request)))
        assert found == expected, seed
        seen.add(expected[-12:])
    assert len(seen) == 3


def victims(made: World, item: Json) -> tuple[list[str], str]:
    """The victims on the only node, or none and the message."""
    record = evaluate(made.profile, made.pod(item))
    if record.preemption is None:
        return [], record.message
    found = [victim for candidate in record.preemption.candidates for victim in candidate.victims]
    return sorted(found), record.preemption.message


def test_a_namespace_below_its_min_reclaims_what_others_borrow_whatever_their_priority() -> None:
    borrowed = [running(f"b{i}", "b", 2, priority=100) for i in range(5)]
    made = world({"a": quota(6), "b": quota(4)}, *borrowed)
    # b uses 10 of its 4. The pod of 3 cores needs two of b's pods, and b stays above its min.
    assert victims(made, wanted("a", 3))[0] == ["b/b3", "b/b4"]
    # Three pods may leave until b is back at its min: 6 cores, not enough for 7, which is above a's min anyway.
    assert victims(made, wanted("a", 6))[0] == ["b/b2", "b/b3", "b/b4"]
    assert victims(made, wanted("a", 7))[1].endswith("No victims found on node n0 for preemptor pod p.")


def test_a_namespace_above_its_min_evicts_its_own_pods_of_lower_priority() -> None:
    pods = [running("a0", "a", 6), running("a1", "a", 2, priority=10), running("b0", "b", 2)]
    made = world({"a": quota(4), "b": quota(6)}, *pods)
    assert victims(made, wanted("a", 2, priority=5))[0] == ["a/a0"]
    assert victims(made, wanted("a", 2, priority=0))[1].endswith("No victims found on node n0 for preemptor pod p.")


def test_pods_without_a_quota_evict_only_pods_without_one() -> None:
    pods = [running("a0", "a", 5), running("c0", "c", 5)]
    made = world({"a": quota(5)}, *pods)
    assert victims(made, wanted("d", 2, priority=5))[0] == ["c/c0"]
    assert victims(made, wanted("d", 6, priority=5))[1] == "0/1 nodes are available: 1 Insufficient cpu."


def test_the_quotas_hold_after_the_evictions() -> None:
    # Together 10 of 8 are used. b's last pod and c's pod may leave; without c's pod, b's may stay.
    pods = [running("b0", "b", 2), running("b1", "b", 2), running("b2", "b", 2), running("c0", "c", 4)]
    made = world({"a": quota(2), "b": quota(4), "c": quota(2)}, *pods)
    assert victims(made, wanted("a", 2)) == (["c/c0"], "")


def test_reprieved_pods_must_leave_room_in_the_quota() -> None:
    # The pod fits beside the others, but the sum of the mins is used up, so one pod of b has to leave.
    pods = [running("b0", "b", 2, "n0"), running("b1", "b", 2, "n0")]
    made = world({"a": quota(2), "b": quota(2)}, *pods)
    assert victims(made, wanted("a", 2)) == (["b/b1"], "")


def test_the_max_holds_after_the_evictions() -> None:
    """a may use 3 and would use 4: its own pod of lower priority is not enough, whatever leaves."""
    pods = [running("a0", "a", 1), running("a1", "a", 2, priority=10)]
    made = world({"a": quota(1, 3), "b": quota(9)}, *pods)
    assert victims(made, wanted("a", 2, priority=5)) == (
        [],
        "0/1 nodes are available: 1 global quota max exceeded.",
    )
    # 1 core more: a0 leaves, and 2 + 1 are not above 3.
    assert victims(made, wanted("a", 1, priority=5))[0] == ["a/a0"]


def test_pods_that_never_preempt() -> None:
    borrowed = [running(f"b{i}", "b", 2) for i in range(5)]
    made = world({"a": quota(6), "b": quota(4)}, *borrowed)
    item = wanted("a", 3, preemptionPolicy="Never")
    assert victims(made, item)[1].endswith("not eligible due to preemptionPolicy=Never.")


def test_equal_priority_is_no_victim_within_a_namespace() -> None:
    made = world({"a": quota(4), "b": quota(6)}, running("a0", "a", 8, priority=5), running("b0", "b", 2))
    assert victims(made, wanted("a", 2, priority=5))[0] == []
    assert victims(made, wanted("a", 2, priority=6))[0] == ["a/a0"]


def test_a_namespace_at_its_min_is_not_reclaimed_from() -> None:
    pods = [running("b0", "b", 4), running("c0", "c", 6)]
    made = world({"a": quota(6), "b": quota(4)}, *pods)  # c has no quota, and its pods are not victims.
    assert victims(made, wanted("a", 3))[1].endswith("No victims found on node n0 for preemptor pod p.")


def test_a_terminating_victim_on_the_nominated_node_is_awaited() -> None:
    pods = [running(f"b{i}", "b", 5) for i in range(2)]
    pods[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    made = world({"a": quota(6), "b": quota(4)}, *pods)
    text = "not eligible due to a terminating pod on the nominated node."
    assert made.decide(wanted("a", 3, nominated="n0")).message.endswith(text)
    assert not made.decide(wanted("a", 7, nominated="n0")).message.endswith(text)  # Above its min.


def test_of_several_quotas_in_a_namespace_the_oldest_applies() -> None:
    made = world({})
    for name, most, created in (("new", 9, "2026-02-01T00:00:00Z"), ("old", 1, "2026-01-01T00:00:00Z")):
        metadata = {"creationTimestamp": created}
        made.put("ElasticQuota", name=name, namespace="a", metadata=metadata, spec=quota(10, most))
    assert refusal(made, wanted("a", 2)) == MORE_THAN_MAX.format("a/p", "a")


def test_a_quota_with_an_unreadable_amount_is_ignored() -> None:
    made = world({"a": {"max": {"cpu": "lots"}}, "b": quota(1)})
    assert refusal(made, wanted("a", 5)) == ""
    assert refusal(made, wanted("b", 2)) == MORE_THAN_MIN.format("b/p", "b")


def test_an_explanation_has_the_amounts() -> None:
    made = world({"a": quota(5, 6), "b": quota(3)}, *A_USES_4)
    plugin = made.plugin(NAME)

    def text(item: Json) -> str:
        state, newcomer = CycleState(), made.pod(item)
        status = plugin.pre_filter(state, newcomer, made.cluster.nodes.everything())
        (found,) = plugin.explain_pod(state, newcomer, status)
        return found.text  # type: ignore[no-any-return]

    assert text(wanted("a", 3)) == "Namespace a would use 7 CPU; the max of ElasticQuota quota-a is 6 CPU"
    assert text(wanted("b", 5)) == "All namespaces with ElasticQuotas would use 9 CPU; their min adds up to 8 CPU"


def test_usage_follows_the_pods() -> None:
    random = Random(5)
    made = World([node(f"n{i}", cpu="100") for i in range(8)])
    usage = NamespaceUsage(made.cluster)
    counted = {namespace: Quota(namespace, {}, {}) for namespace in "ab"}
    present: dict[str, Json] = {}
    for step in range(400):
        if present and random.random() < 0.45:
            name = random.choice(sorted(present))
            made.cluster.remove_pod(made.pod(present.pop(name)).uid)
        else:
            item = running(f"p{step}", random.choice("abc"), random.randint(1, 3), f"n{random.randrange(8)}")
            present[f"p{step}"] = item
            made.add_pod(item)
        if random.random() < 0.3:
            plain = _plain_sums(made.cluster)
            assert _sums(usage) == plain
            assert usage.sum_over(counted).get("cpu", 0) == plain.get("a", 0) + plain.get("b", 0)
    made.cluster.remove_node("n3")
    assert _sums(usage) == _plain_sums(made.cluster)


def _sums(usage: NamespaceUsage) -> dict[str, int]:
    return {namespace: used["cpu"] for namespace, used in usage.totals().items() if used["cpu"]}


def _plain_sums(cluster: Cluster) -> dict[str, int]:
    sums: dict[str, int] = {}
    for info in cluster.nodes:
        for item in info.pods.values():
            sums[item.namespace] = sums.get(item.namespace, 0) + item.template.requests["cpu"]
    return sums
