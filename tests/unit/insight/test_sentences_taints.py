"""Refusals by taints and cordons: sentences, facts, changes, near tolerations, the state of nodes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, node, pod

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.closest import check
from stowplan.insight.explain import explain, run
from stowplan.insight.matrix import FilterMatrix

GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}


def explained(world: World, **spec: Any) -> Explanation:
    return run(explain(world.profile, world.pod(pod("p", **spec))))


def refusals(world: World, on: str, plugin: str = "TaintToleration", **spec: Any) -> list[Refusal]:
    info = world.cluster.nodes.get(on)
    assert info is not None
    return FilterMatrix(world.profile, world.pod(pod("p", **spec))).explain(plugin, info)


def toleration(**fields: str) -> dict[str, Any]:
    return {"tolerations": [fields]}


def test_one_node() -> None:
    world = World([node("g", taints=[GPU])])
    (found,) = refusals(world, "g")
    assert (found.id, found.lasting) == ("taint.untolerated", True)
    assert found.text == "has the taint nvidia.com/gpu=present:NoSchedule, which the pod does not tolerate"
    assert (found.wanted, found.there) == ("tolerates all taints", "nvidia.com/gpu=present:NoSchedule")
    assert found.facts == {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert [(each.kind, each.on, each.effort, each.text) for each in found.changes] == [
        ("toleration", "pod", 2, "tolerate nvidia.com/gpu=present:NoSchedule"),
        ("untaint", "node", 3, "remove the taint nvidia.com/gpu=present:NoSchedule from g"),
    ]


@pytest.mark.parametrize("spec", [{}, toleration(key="other", operator="Exists")])
def test_changes_hold(spec: dict[str, Any]) -> None:
    world = World([node("g", taints=[{"key": "soft", "effect": "PreferNoSchedule"}, GPU])])
    info = world.cluster.nodes.get("g")
    assert info is not None
    (found,) = refusals(world, "g", **spec)
    for change in found.changes:
        assert check(world.profile, world.pod(pod("p", **spec)), info, (change,)) is None


@pytest.mark.parametrize(
    ("fields", "difference"),
    [
        (
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true"},
            "its toleration wants the value true, the taint has present",
        ),
        ({"key": "nvidia.com/gpu"}, "its toleration wants no value, the taint has present"),
        (
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"},
            "its toleration is for NoExecute, the taint is NoSchedule",
        ),
        (
            {"key": "nvidia.com/gpu", "value": "true", "effect": "NoExecute"},
            "its toleration wants the value true, the taint has present and its toleration is for NoExecute, "
            "the taint is NoSchedule",
        ),
        (
            {"key": "nvidia.com/GPU", "operator": "Exists"},
            "its toleration has the key nvidia.com/GPU, the taint has nvidia.com/gpu",
        ),
        (
            {"key": "nvidia.com/gpu", "operator": "Gt", "value": "3"},
            "its toleration has the operator Gt, which does not tolerate any taint",
        ),
    ],
)
def test_near_tolerations(fields: dict[str, str], difference: str) -> None:
    world = World([node("g", taints=[GPU]), node("h", taints=[GPU])])
    (found,) = refusals(world, "g", **toleration(**fields))
    assert found.text == (
        f"has the taint nvidia.com/gpu=present:NoSchedule, which the pod does not tolerate: {difference}"
    )
    assert found.facts["near"] == difference
    assert explained(world, **toleration(**fields)).sentence == (
        f"Both nodes have the taint nvidia.com/gpu=present:NoSchedule, which it does not tolerate: {difference}."
    )


def test_a_toleration_of_another_taint_is_not_near() -> None:
    (found,) = refusals(World([node("g", taints=[GPU])]), "g", **toleration(key="dedicated", operator="Exists"))
    assert "near" not in found.facts


def test_selector_against_taints() -> None:
    gpus = [node(f"g{number}", labels={"pool": "gpu"}, taints=[GPU]) for number in range(3)]
    answer = explained(World([node("a"), *gpus]), nodeSelector={"pool": "gpu"})
    assert answer.sentence == (
        "All 3 nodes with pool=gpu have the taint nvidia.com/gpu=present:NoSchedule, which it does not tolerate."
    )
    assert answer.verdict == "never"
    assert [step.rule for step in answer.steps] == ["", "pool=gpu", "taints tolerated"]


def test_one_node_with_two_taints() -> None:
    other = {"key": "team", "value": "a", "effect": "NoExecute"}
    answer = explained(World([node("g", taints=[GPU, other])]))
    assert answer.sentence == (
        "The only node has the taints nvidia.com/gpu=present:NoSchedule and team=a:NoExecute, "
        "which it does not tolerate."
    )
    assert [each.change.text for each in answer.proposals] == [
        "tolerate nvidia.com/gpu=present:NoSchedule and tolerate team=a:NoExecute"
    ]


def test_different_taints_are_counted() -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("a", "b", "c", "d", "a", "a", "b")]
    world = World([node(f"n{number}", taints=[taint]) for number, taint in enumerate(taints)])
    assert explained(world).sentence == (
        "All 7 nodes have taints that it does not tolerate: a:NoSchedule (3), b:NoSchedule (2), c:NoSchedule (1) "
        "and 1 more."
    )


# The state of nodes
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("node.kubernetes.io/not-ready", "is not ready"),
        ("node.kubernetes.io/unreachable", "is unreachable"),
        ("node.kubernetes.io/memory-pressure", "has memory pressure"),
        ("node.kubernetes.io/disk-pressure", "has disk pressure"),
        ("node.kubernetes.io/pid-pressure", "has too many processes"),
        ("node.kubernetes.io/network-unavailable", "has no network"),
        ("node.kubernetes.io/out-of-service", "is out of service"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "is not initialised by its cloud provider yet"),
        ("node.cloudprovider.kubernetes.io/shutdown", "is shut down"),
        ("node.kubernetes.io/new", "has the taint node.kubernetes.io/new:NoSchedule"),
    ],
)
def test_taints_of_a_nodes_life_pass(key: str, text: str) -> None:
    world = World([node("a", taints=[{"key": key, "effect": "NoSchedule"}])])
    (found,) = refusals(world, "a")
    assert (found.id, found.text, found.lasting, found.rule) == ("taint.lifecycle", text, False, "ready")
    answer = explained(world)
    assert (answer.sentence, answer.verdict) == (f"The only node that would do, a, {text}.", "not-now")


def test_since_when_a_node_is_not_ready() -> None:
    since = "2026-11-15T13:45:12Z"
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": since}]
    world = World([node("a", taints=[NOT_READY], status={"conditions": conditions})])
    (found,) = refusals(world, "a")
    assert (found.text, found.facts["since"]) == (f"is not ready (since {since})", since)


def test_a_cordoned_node_is_uncordoned_with_its_taint() -> None:
    world = World([node("a", unschedulable=True, taints=[{"key": "soft", "effect": "PreferNoSchedule"}, CORDON])])
    info = world.cluster.nodes.get("a")
    assert info is not None
    for plugin in ("TaintToleration", "NodeUnschedulable"):
        (found,) = refusals(world, "a", plugin)
        assert (found.id, found.text, found.lasting) == ("node.cordoned", "is cordoned", False)
        assert [(each.kind, each.effort, each.text) for each in found.changes] == [("uncordon", 2, "uncordon a")]
        assert check(world.profile, world.pod(pod("p")), info, found.changes) is None
    answer = explained(world)
    assert answer.sentence == "The only node that would do, a, is cordoned."
    assert answer.verdict == "not-now"
    assert [change.text for change in answer.closest[0].changes] == ["uncordon a"]


def test_several_cordoned_nodes() -> None:
    world = World([node(name, unschedulable=True) for name in "abc"])
    assert explained(world).sentence == "The 3 nodes that would do are cordoned."


def test_nodes_in_different_states() -> None:
    world = World([node("a", taints=[NOT_READY]), node("b", unschedulable=True, taints=[CORDON])])
    assert explained(world).sentence == (
        "None of the 2 nodes that would do is usable now: a is not ready and b is cordoned."
    )


def test_requirement_and_score() -> None:
    soft = {"key": "spot", "effect": "PreferNoSchedule"}
    world = World([node("a", taints=[GPU, soft]), node("b")])
    plugin, item = world.plugin("TaintToleration"), world.pod(pod("p"))
    a, b = world.cluster.nodes.get("a"), world.cluster.nodes.get("b")
    found = plugin.requirement(CycleState(), item, a)
    assert found.there == "nvidia.com/gpu=present:NoSchedule, spot:PreferNoSchedule"
    assert plugin.requirement(CycleState(), item, b).there == "no taints"
    assert plugin.explain_score(CycleState(), item, a) == "to be avoided: spot:PreferNoSchedule"
    assert plugin.explain_score(CycleState(), item, b) == "no taint to avoid"
    cordon = world.plugin("NodeUnschedulable").requirement(CycleState(), item, a)
    assert (cordon.wanted, cordon.there) == ("not cordoned", "")
