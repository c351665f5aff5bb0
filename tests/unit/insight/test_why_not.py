"""`why-not`: rules of one node, checked changes with the rank after them, and the rank of a node that would do."""

from __future__ import annotations

from tests.builders import ZONE, World, node, pod, spread

from stowplan.framework import NodeInfo, Pod
from stowplan.framework.explanation import WhyNot
from stowplan.insight.explain import run
from stowplan.insight.why_not import why_not

GPU = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


def answer(world: World, item: Pod, name: str) -> WhyNot:
    info = world.cluster.nodes.get(name)
    assert isinstance(info, NodeInfo)
    return run(why_not(world.profile, item, info))


def test_every_rule_has_what_is_wanted_and_what_is_there() -> None:
    world = World([node("a", cpu="4"), node("b", cpu="2", taints=GPU)])
    found = answer(world, world.pod(pod("web", requests={"cpu": "3"})), "b")
    assert not found.fits
    rules = {rule.plugin: rule for rule in found.rules}
    assert not rules["TaintToleration"].ok
    assert not rules["NodeResourcesFit"].ok
    assert rules["NodeResourcesFit"].wanted == "3 CPU"
    assert rules["NodeUnschedulable"].ok
    assert "NodePorts" in found.silent
    assert found.sentence.startswith("b has no room for default/web, among other reasons: ")
    assert [rule.plugin for rule in found.rules if not rule.ok] == ["TaintToleration", "NodeResourcesFit"]


def test_changes_are_checked_and_ranked() -> None:
    world = World([node("a", cpu="4"), node("b", cpu="8", taints=GPU)])
    found = answer(world, world.pod(pod("web", requests={"cpu": "3"})), "b")
    assert found.sentence.startswith("b has room for default/web, but does not take it: has the taint gpu=yes")
    texts = {each.change.text: each.then for each in found.changes}
    then = texts["tolerate gpu=yes:NoSchedule"]
    assert then is not None
    assert (then.rank, then.of, then.first) == (1, 2, "a")
    assert then.behind < 0


def test_a_node_that_would_do_has_a_rank_and_a_gap() -> None:
    world = World(
        [node("large", cpu="16", memory="64Gi"), node("small", cpu="4", memory="8Gi")],
        [pod("web", "large", requests={"cpu": "2"})],
    )
    found = answer(world, world.cluster.pods["default/web"], "small")
    assert found.fits
    assert found.standing is not None
    assert (found.standing.rank, found.standing.first) == (2, "large")
    assert found.sentence == (
        f"small would do for default/web, and is second: {found.standing.points} points, {found.standing.behind} "
        "behind large."
    )
    assert sum(each.difference for each in found.points) == found.standing.behind
    assert world.cluster.pods["default/web"].node_name == "large"
    assert "default/web" in world.cluster.nodes.infos[world.cluster.nodes.slot_of["large"]].pods  # type: ignore[union-attr]


def test_the_pod_is_on_the_node() -> None:
    world = World([node("a"), node("b", cpu="2")], [pod("web", "a", requests={"cpu": "1"})])
    found = answer(world, world.cluster.pods["default/web"], "a")
    assert found.fits
    assert found.sentence.startswith("default/web is on a. Placed again now, it would go there again: ")


def test_the_only_node() -> None:
    world = World([node("a"), node("b", unschedulable=True)])
    found = answer(world, world.pod(pod("web")), "a")
    assert found.sentence == "a would do, and is the only node that does."


def test_spread_names_its_figures() -> None:
    pods = [pod(f"p{number}", "a", labels={"app": "a"}) for number in range(3)]
    world = World([node("a", zone="z1"), node("b", zone="z2", cpu="1")], pods)
    item = world.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[spread(ZONE)], requests={"cpu": "2"}))
    found = answer(world, item, "a")
    rule = next(rule for rule in found.rules if rule.plugin == "PodTopologySpread")
    assert (rule.ok, rule.id) == (False, "spread.skew")
    assert any(each.change.kind == "spread" for each in found.changes)


def test_a_pod_that_prefilter_rejects_fits_nowhere() -> None:
    world = World([node("a")])
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]
    found = answer(world, world.pod(pod("db", volumes=volumes)), "a")
    assert not found.fits
    assert found.sentence.startswith("No node takes default/db: ")


def test_a_gated_pod_is_said_to_wait() -> None:
    world = World([node("a"), node("b")])
    found = answer(world, world.pod(pod("web", schedulingGates=[{"name": "quota"}])), "a")
    assert found.fits
    assert found.more == ("The pod is not scheduled yet, waiting for scheduling gates: [quota] (SchedulingGates).",)


def test_a_node_that_fills_up_between_slices_is_rejected() -> None:
    world = World([node("a", cpu="4"), node("b", cpu="4")])
    item, info = world.pod(pod("new", requests={"cpu": "3"})), world.cluster.nodes.get("b")
    assert info is not None
    slices = why_not(world.profile, item, info)
    next(slices)
    world.add_pod(pod("other", "b", requests={"cpu": "2"}))
    found = run(slices)
    assert not found.fits
    assert found.sentence.startswith("b has no room for default/new")
