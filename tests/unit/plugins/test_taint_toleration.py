import pytest
from tests.builders import Json, World, node, pod

from stowplan import api
from stowplan.api import codec
from stowplan.framework import Action, Code, CycleState, EventResource, QueueingHint, Status

NAME = "TaintToleration"
QUEUE, SKIP = QueueingHint.Queue, QueueingHint.QueueSkip
UNTOLERATED = Status(Code.UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)", plugin=NAME)
HARD = {"key": "k", "value": "v", "effect": "NoSchedule"}
EXECUTE = {"key": "k", "value": "v", "effect": "NoExecute"}
SOFT = {"key": "k", "value": "v", "effect": "PreferNoSchedule"}


@pytest.mark.parametrize(
    ("taint", "toleration", "passes"),
    [
        (HARD, {"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        (HARD, {"key": "k", "operator": "Equal", "value": "v"}, True),
        (HARD, {"key": "k", "operator": "Exists"}, True),
        (HARD, {"operator": "Exists"}, True),
        (HARD, {"key": "k", "value": "other"}, False),
        (HARD, {"key": "k", "value": "v", "effect": "NoExecute"}, False),
        (HARD, {"key": "other", "operator": "Exists"}, False),
        (HARD, {"key": "k", "operator": "Gt", "value": "1"}, False),
        (EXECUTE, {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}, True),
        (EXECUTE, {"key": "k", "value": "v", "effect": "NoSchedule"}, False),
        (SOFT, {"key": "other", "operator": "Exists"}, True),
    ],
)
def test_filter(taint: Json, toleration: Json, passes: bool) -> None:
    world = World([node("n", taints=[taint])])
    (info,) = world.cluster.nodes
    status = world.plugin(NAME).filter(CycleState(), world.pod(pod("p", tolerations=[toleration])), info)
    assert status == (None if passes else UNTOLERATED)


@pytest.mark.parametrize(
    ("tolerations", "counts"),
    [
        ([], [0, 1, 3]),
        ([{"key": "k", "operator": "Exists"}], [0, 0, 2]),
        ([{"key": "k", "operator": "Exists", "effect": "PreferNoSchedule"}], [0, 0, 2]),
        ([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}], [0, 1, 3]),
        ([{"operator": "Exists"}], [0, 0, 0]),
    ],
)
def test_raw_scores_count_soft_taints(tolerations: list[Json], counts: list[int]) -> None:
    others = [{**SOFT, "key": key} for key in ("x", "y")]
    world = World([node("a", taints=[HARD]), node("b", taints=[SOFT]), node("c", taints=[SOFT, *others, EXECUTE])])
    newcomer = world.pod(pod("p", tolerations=tolerations))
    plugin, nodes = world.plugin(NAME), world.cluster.nodes.everything()
    assert plugin.score_nodes(CycleState(), newcomer, nodes).tolist() == counts
    assert [plugin.score(CycleState(), newcomer, info) for info in world.cluster.nodes] == counts


def test_taint_sets_that_turn_up_later_are_judged_too() -> None:
    world = World([node("a")])
    newcomer, plugin = world.pod(pod("p")), world.plugin(NAME)
    (info,) = world.cluster.nodes
    assert plugin.filter(CycleState(), newcomer, info) is None
    world.put_node(node("a", taints=[HARD]))
    assert plugin.filter(CycleState(), newcomer, info) == UNTOLERATED
    world.put_node(node("a", taints=[SOFT]))
    assert plugin.filter(CycleState(), newcomer, info) is None
    assert plugin.score(CycleState(), newcomer, info) == 1


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, [], QUEUE),
        (None, [HARD], SKIP),
        ([HARD], [], QUEUE),
        ([HARD], [SOFT], QUEUE),
        ([], [SOFT], SKIP),
        ([HARD], [EXECUTE], SKIP),
        ([], None, SKIP),
    ],
)
def test_nodes_that_lose_their_taint(old: list[Json] | None, new: list[Json] | None, hint: QueueingHint) -> None:
    world = World()
    entry = next(e for e in world.plugin(NAME).events_to_register() if e.event.resource == EventResource.Node)
    assert entry.event.action == Action.Add | Action.UpdateNodeTaint
    before, after = (None if t is None else codec.convert(api.Node, node("n", taints=t)) for t in (old, new))
    assert entry.hint(world.pod(pod("p")), before, after) is hint


def test_own_tolerations_matter() -> None:
    world = World()
    entry = next(e for e in world.plugin(NAME).events_to_register() if e.event.resource == EventResource.Pod)
    assert entry.event.action == Action.UpdatePodToleration
    waiting, other = world.pod(pod("p")), world.pod(pod("q"))
    assert entry.hint(waiting, waiting, world.pod(pod("p", tolerations=[{"operator": "Exists"}]))) is QUEUE
    assert entry.hint(waiting, other, other) is SKIP


def test_taint_sets_that_are_numbered_anew_are_judged_anew() -> None:
    world = World([node("a", taints=[SOFT]), node("b")])
    newcomer, plugin = world.pod(pod("p")), world.plugin(NAME)
    for i in range(100):
        world.put_node(node("b", taints=[{**(HARD if i % 2 else SOFT), "key": f"k{i}"}]))
        soft, changing = world.cluster.nodes
        assert plugin.filter(CycleState(), newcomer, soft) is None
        assert plugin.score(CycleState(), newcomer, soft) == 1
        assert plugin.filter(CycleState(), newcomer, changing) == (UNTOLERATED if i % 2 else None)
    assert world.cluster.nodes.taint_generation > 0
