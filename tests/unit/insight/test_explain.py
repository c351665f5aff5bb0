"""The explanation of a pending pod: the dominating sentence, the steps, and checked proposals."""

from __future__ import annotations

from tests.builders import HOSTNAME, REQUIRED, World, node, pod, spread

from stowplan.framework import Change, Explanation, LeavingPod, PatchOperation
from stowplan.insight.closest import joined
from stowplan.insight.explain import explain, run
from stowplan.insight.text.layout import Layout
from stowplan.insight.text.pending import pending_lines


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


def test_joined_changes_of_pod_and_node_keep_their_patches() -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("one", "two")]
    answer = explained(World([node("a", cpu="4", unschedulable=True, taints=taints)]), requests={"cpu": "5"})
    (change,) = answer.closest[0].changes
    assert (change.on, change.patch) == ("cluster", ())
    assert [(part.on, part.node, {each.path for each in part.patch}) for part in change.parts] == [
        ("node", "a", {"/spec/unschedulable"}),
        ("pod", "", {"/spec/tolerations", "/spec/containers/0/resources/requests/cpu"}),
    ]
    (tolerations,) = [each.value for each in change.parts[1].patch if each.path == "/spec/tolerations"]
    assert [each["key"] for each in tolerations] == ["one", "two"]


def test_a_pod_that_never_fits_has_a_reason_that_lasts() -> None:
    """Another pod keeps it away, which passes; the node also lacks the label to spread over, which does not."""
    apart = {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "a"}}}]}}
    world = World([node("a")], [pod("other", "a", labels={"app": "b"}, affinity=apart)])
    answer = run(
        explain(world.profile, world.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[spread("region")])))
    )
    assert answer.verdict == "never"
    assert answer.because is not None
    assert answer.because.id == "spread.no-label"
    assert {reason.plugin for reason in answer.reasons} == {"InterPodAffinity", "PodTopologySpread"}


def test_a_pod_that_fits_after_deletions_waits_for_them() -> None:
    going = pod("going", "a", requests={"cpu": "3"}, deletionTimestamp="2026-01-01T00:00:00Z")
    answer = explained(World([node("a", cpu="4")], [going]), requests={"cpu": "2"})
    assert answer.verdict == "waiting"
    assert answer.sentence == "Waits for deletions: fits on a as soon as default/going is gone."
    assert answer.more[0] == "Needs 2 CPU on one node; the only node has 1 free."


def test_rejections_beside_nominated_pods_count_on_nodes_that_are_rejected_anyway() -> None:
    """kube-scheduler counts the nominated pods first, and names NodeResourcesFit for the node."""
    world = World([node("a", cpu="4")])
    world.nominator.add(world.pod(pod("urgent", requests={"cpu": "3"}, nominated="a", priority=9)))
    answer = explained(world, requests={"cpu": "2"}, priority=1, topologySpreadConstraints=[spread("region")])
    assert answer.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert {reason.plugin: reason.nodes for reason in answer.reasons} == {"PodTopologySpread": 1, "NodeResourcesFit": 1}


def test_joined_changes_name_the_node_of_the_patch() -> None:
    patch = (PatchOperation("add", "/metadata/labels/k", "v"),)
    leave = Change(
        kind="leave", on="node", node="other", text="a/b leaves", effort=6, pods=(LeavingPod("a/b", 0, "other"),)
    )
    label = Change(kind="label", on="node", node="closest", text="label closest k=v", effort=3, patch=patch)
    lower = Change(kind="request", on="pod", text="cpu: 1", effort=2, patch=patch)
    assert [joined(each).node for each in ((leave, label), (lower, leave), (lower, lower))] == ["closest", "other", ""]


def test_the_table_of_closest_nodes_fits_the_terminal() -> None:
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    answer = explained(World([node("a", cpu="9", taints=taints), node("b", cpu="4")]), requests={"cpu": "5"})
    for width in (80, 120, 200):
        lines = list(pending_lines(answer, Layout(width)))
        assert max(map(len, lines)) <= width
        assert any("OR IF" in line for line in lines) == (width == 200)


def test_the_priority_that_helps_is_the_lowest_one() -> None:
    world = World(
        [node("a", cpu="4")],
        [pod("low", "a", requests={"cpu": "2"}), pod("high", "a", requests={"cpu": "2"}, priority=9)],
    )
    texts = [each.change.text for each in explained(world, requests={"cpu": "2"}).proposals]
    assert "priority 1 or more, which evicts 1 pod of a" in texts


def test_a_priority_above_the_pods_of_its_own_workload_is_not_proposed() -> None:
    """The pods of a workload have one priority: they do not evict each other."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db"}
    world = World([node("a", cpu="4")], [pod("db-0", "a", requests={"cpu": "3"}, owner=owner)])
    texts = [each.change.text for each in explained(world, requests={"cpu": "3"}, owner=owner).proposals]
    assert not [text for text in texts if text.startswith("priority")]
    other = {**owner, "name": "other", "uid": "other"}
    texts = [each.change.text for each in explained(world, requests={"cpu": "3"}, owner=other).proposals]
    assert [text for text in texts if text.startswith("priority 1 or more")]


def test_cells_of_the_closest_nodes_are_folded() -> None:
    taints = [{"key": "example.com/dedicated", "value": "training", "effect": "NoSchedule"}]
    names = [f"a-rather-long-name-of-a-node-{number}" for number in range(2)]
    world = World([node(name, cpu="2", unschedulable=True, taints=taints) for name in names])
    lines = list(pending_lines(explained(world, requests={"cpu": "3"}), Layout(80)))
    assert max(map(len, lines)) <= 80
    start = lines.index("Closest nodes")
    assert "FITS WITH" in lines[start + 1]
