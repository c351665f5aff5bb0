"""The explanation of a pending pod: the dominating sentence, the steps, and checked proposals."""

from __future__ import annotations

from tests.builders import World, node, pod

from stowplan.framework import Change, Explanation, LeavingPod, PatchOperation
from stowplan.insight.closest import joined
from stowplan.insight.explain import explain, run


def explained(world: World, **spec: object) -> Explanation:
    return run(explain(world.profile, world.pod(pod("big", **spec))))


def test_a_request_above_every_node_never_fits() -> None:
    world = World([node("small", cpu="2"), node("large", cpu="4")])
    answer = explained(world, requests={"cpu": "4500m"})
    assert answer.sentence == "Asks for 4.5 CPU; the largest of 2 nodes has 4."
    assert answer.verdict == "never"
    assert [(step.left, step.plugin) for step in answer.steps] == [(2, ""), (0, "NodeResourcesFit")]
    assert [(each.change.text, each.opens) for each in answer.proposals] == [("lower cpu from 4.5 to 4", 1)]


def test_taints_come_before_amounts() -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    world = World([node("plain", cpu="2"), node("tainted", cpu="16", taints=taints)])
    answer = explained(world, requests={"cpu": "3"})
    assert [step.plugin for step in answer.steps] == ["", "TaintToleration", "NodeResourcesFit"]
    assert answer.proposals[0].change.text == "tolerate gpu=yes:NoSchedule"
    assert answer.proposals[0].best == "tainted"


def test_joined_changes_name_the_node_of_the_patch() -> None:
    patch = (PatchOperation("add", "/metadata/labels/k", "v"),)
    leave = Change(
        kind="leave", on="node", node="other", text="a/b leaves", effort=6, pods=(LeavingPod("a/b", 0, "other"),)
    )
    label = Change(kind="label", on="node", node="closest", text="label closest k=v", effort=3, patch=patch)
    lower = Change(kind="request", on="pod", text="cpu: 1", effort=2, patch=patch)
    assert [joined(each).node for each in ((leave, label), (lower, leave), (lower, lower))] == ["closest", "other", ""]
