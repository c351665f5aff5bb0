"""A plan that follows the cluster is the plan that would be made now."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import HOSTNAME, Json, World, away, node, pod, term

from stowplan.cache.kept import MAX_SCALAR_REPAIRS
from stowplan.framework import CycleState, Pod
from stowplan.runtime.decide.filtering import run_pre_filters
from stowplan.runtime.decide.plan import Plan

NEWCOMER = pod("p", requests={"cpu": 1})


class Followed:
    """A plan that is brought up to date as in a cycle, beside one that is made anew."""

    def __init__(self, nodes: list[Json], item: Json = NEWCOMER) -> None:
        self.world = World(nodes)
        self.pod = self.world.pod(item)
        self.plan = Plan(self.world.profile, self.pod)

    def sync(self, plan: Plan) -> Plan:
        selection = self.world.cluster.selection
        if plan.rules_version != selection.rules_version:
            plan.apply_rules(self.pod)
        state = CycleState()
        if not plan.undisturbed(self.pod):
            state.skip_filter |= plan.skipped
            run_pre_filters(plan.pre_filters, state, self.pod, plan.nodes.everything())
            plan.check_tokens(state, self.pod)
        plan.refresh((state, self.pod))
        return plan

    def feasible(self) -> str:
        """The names of feasible nodes; checks that the plan is as a new one."""
        plan, anew = self.sync(self.plan), self.sync(Plan(self.world.profile, self.pod))
        assert plan.ok.tolist() == anew.ok.tolist()
        assert plan.key.tolist() == anew.key.tolist()
        assert plan.feasible == anew.feasible == np.count_nonzero(plan.ok)
        assert (plan.key > 0).tolist() == plan.ok.tolist()
        infos = self.world.cluster.nodes.infos
        return "".join(info.name for slot in np.flatnonzero(plan.ok) if (info := infos[slot]) is not None)

    def fill(self, name: str, on: str, **fields: object) -> Pod:
        return self.world.add_pod(pod(name, on, **{"requests": {"cpu": 4}, **fields}))


@pytest.fixture
def followed() -> Followed:
    return Followed([node(name, cpu=4) for name in "abcd"])


def test_pods_come_and_go(followed: Followed) -> None:
    assert followed.feasible() == "abcd"
    followed.fill("x", "b")
    followed.fill("small", "c", requests={"cpu": 1})
    assert followed.feasible() == "acd"
    followed.world.cluster.remove_pod("default/x")
    assert followed.feasible() == "abcd"


def test_many_nodes_at_once() -> None:
    count = MAX_SCALAR_REPAIRS + 10
    followed = Followed([node(f"n{number}", cpu=4) for number in range(count)])
    followed.feasible()
    for number in range(MAX_SCALAR_REPAIRS + 1):
        followed.fill(f"x{number}", f"n{number}")
    assert followed.feasible().split("n")[1:] == [str(number) for number in range(MAX_SCALAR_REPAIRS + 1, count)]
    for number in range(MAX_SCALAR_REPAIRS + 1):
        followed.world.cluster.remove_pod(f"default/x{number}")
    assert len(followed.feasible().split("n")) == count + 1


def test_nodes_change_come_and_go(followed: Followed) -> None:
    assert followed.feasible() == "abcd"
    followed.world.put_node(node("b", unschedulable=True))
    followed.world.put_node(node("e", cpu=4))
    assert followed.feasible() == "acde"
    followed.world.cluster.remove_node("c")
    followed.world.put_node(node("f", cpu=4))
    assert sorted(followed.feasible()) == ["a", "d", "e", "f"]


def test_most_nodes_are_ruled_out_by_the_node_object() -> None:
    followed = Followed([node(name, cpu=4, unschedulable=name != "a") for name in "abcdef"])
    assert followed.feasible() == "a"
    followed.fill("x", "b")
    followed.fill("y", "a", requests={"cpu": 1})
    assert followed.feasible() == "a"
    for number in range(MAX_SCALAR_REPAIRS + 1):
        followed.fill(f"more{number}", "abcdef"[number % 6], requests={"cpu": "10m"})
    assert followed.feasible() == "a"


def test_some_nodes_are_ruled_out_by_the_node_object() -> None:
    followed = Followed([node(name, cpu=4, unschedulable=name == "b") for name in "abcdef"])
    assert followed.feasible() == "acdef"
    for number in range(MAX_SCALAR_REPAIRS + 1):
        followed.fill(f"x{number}", "abcdef"[number % 6], requests={"cpu": "10m"})
    assert followed.feasible() == "acdef"


def test_normalised_scores_move_with_the_extreme_nodes() -> None:
    def tainted(name: str, count: int) -> Json:
        return node(name, cpu=4, taints=[{"key": str(i), "effect": "PreferNoSchedule"} for i in range(count)])

    followed = Followed([tainted("a", 0), tainted("b", 1), tainted("c", 2), tainted("d", 4)])
    followed.feasible()
    assert followed.plan.normalized
    best = followed.plan.key.copy()
    followed.fill("x", "d")
    assert followed.feasible() == "abc"
    assert followed.plan.key[2] < best[2]
    followed.fill("y", "a")
    followed.fill("z", "c")
    assert followed.feasible() == "b"
    for name in "xyz":
        followed.world.cluster.remove_pod(f"default/{name}")
    assert followed.feasible() == "abcd"
    assert followed.plan.key.tolist() == best.tolist()


def test_rules_of_other_pods() -> None:
    followed = Followed([node(name, cpu=4) for name in "abc"], pod("p", labels={"app": "p"}))
    assert followed.feasible() == "abc"
    followed.fill("hermit", "b", affinity=away(term(HOSTNAME, "p")), requests={})
    assert followed.feasible() == "ac"
    followed.fill("other", "c", affinity=away(term(HOSTNAME, "p")), requests={})
    assert followed.feasible() == "a"


def test_a_template_that_names_its_node_needs_no_plan() -> None:
    world = World([node("a")])
    named = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
            }
        }
    }
    assert Plan(world.profile, world.pod(pod("p", affinity=named))).plain
    assert not Plan(world.profile, world.pod(NEWCOMER)).plain


class TestUndisturbed:
    def test_until_a_node_object_changes(self, followed: Followed) -> None:
        followed.feasible()
        assert followed.plan.undisturbed(followed.pod)
        followed.fill("x", "a")
        assert followed.plan.undisturbed(followed.pod)
        followed.world.put_node(node("a", unschedulable=True))
        assert not followed.plan.undisturbed(followed.pod)

    def test_until_it_is_discarded(self, followed: Followed) -> None:
        followed.feasible()
        followed.plan.discard()
        assert not followed.plan.undisturbed(followed.pod)

    def test_until_a_token_changes(self) -> None:
        followed = Followed([node(name) for name in "abc"], pod("p", affinity=away(term("zone", "r"))))
        followed.fill("first", "a", labels={"app": "r"}, requests={})
        followed.feasible()
        assert followed.plan.undisturbed(followed.pod)
        followed.fill("second", "b", labels={"app": "r"}, requests={})
        assert followed.plan.undisturbed(followed.pod)  # Nodes without a zone are in no domain.
        followed.world.put_node(node("a", labels={"zone": "1"}))
        followed.world.put_node(node("b", labels={"zone": "1"}))
        assert followed.feasible() == "c"


def test_a_failure_leads_to_a_new_plan(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    followed.feasible()
    followed.fill("x", "a")

    def fails(slot: int) -> None:
        raise ValueError("broken")

    assert followed.plan._bind_slots(followed.pod)
    monkeypatch.setattr(followed.plan, "_slot_filters", [fails])
    with pytest.raises(ValueError, match="broken"):
        followed.sync(followed.plan)
    monkeypatch.undo()
    assert not followed.plan.undisturbed(followed.pod)
    assert followed.feasible() == "bcd"
