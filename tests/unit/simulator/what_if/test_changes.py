"""Each change, on clusters that are small enough to count by hand."""

import json

import pytest
from tests.unit.simulator.what_if.asking import (
    GPU,
    as_list,
    ask,
    budget,
    node,
    pod,
    pod_spec,
    row,
    run_of,
    spread,
    workload,
)

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.what_if.effects import Effects
from stowplan.simulator.what_if.node_changes import (
    AddNodes,
    CordonNodes,
    DrainNodes,
    FailNodes,
    LabelNodes,
    TaintNodes,
    UncordonNodes,
)
from stowplan.simulator.what_if.parsing import change
from stowplan.simulator.what_if.profile_changes import RemovePlugin, SetWeight
from stowplan.simulator.what_if.serialized import to_json
from stowplan.simulator.what_if.text import what_if_lines
from stowplan.simulator.what_if.workload_changes import (
    ApplyManifests,
    DeleteObject,
    PlaceAgain,
    ScaleWorkload,
    SetRequests,
)

WEB = "shop/Deployment/web"
TWO = (node("n1"), node("n2", zone="b"))
FULL = (*TWO, workload("web", 20))
"""16 of 20 pods fit."""


def test_added_nodes_take_pending_pods() -> None:
    answer = ask(FULL, AddNodes(add=1, like="n1"))
    assert (row(answer, WEB).pending, row(answer, WEB).placed, row(answer, WEB).left) == (4, 4, 0)
    assert answer.on_new_nodes == 4
    assert answer.waiting == 0
    assert answer.after.nodes == 3
    assert answer.sentence == "With 1 more node like n1 (8 CPU, 32Gi, zone a): 4 of 4 pending pods get a place."


def test_new_nodes_let_other_zones_take_pods_as_well() -> None:
    """Zones must stay even: a has room for one pod, b and c for eight each."""
    nodes = [node("a", cpu="1"), node("b", "b"), node("c", "c")]
    web = workload("web", 9, **spread("web"))
    answer = ask((*nodes, web), AddNodes(add=1, like="a"))
    assert answer.even_zones == "with those, b and c take 1 more each without being ahead of a by more than 1"
    (line,) = [line for line in what_if_lines(answer, None) if "new nodes" in line]
    assert line == f"1 goes to the new nodes; {answer.even_zones}."
    alone = ask((*nodes, workload("web", 20)), AddNodes(add=1, like="a"))
    assert (alone.on_new_nodes, alone.even_zones) == (1, "")


def test_requests_between_the_old_and_the_new_one_are_tried() -> None:
    nodes = [node("a", cpu="5500m"), node("b", cpu="4500m"), node("c", cpu="4200m"), node("d", cpu="4200m")]
    answer = ask((*nodes, workload("web", 4, cpu="6")), SetRequests("Deployment/web", {"cpu": "4"}))
    assert [(each.amount, each.placed) for each in answer.steps] == [(5500, 1), (4200, 4)]
    assert "With 5.5 it would be 1 pod, with 4.2 4." in what_if_lines(answer, None)
    assert not ask((*nodes, workload("web", 4, cpu="3")), SetRequests("Deployment/web", {"cpu": "4"})).steps


def test_added_nodes_get_the_pods_of_daemon_sets() -> None:
    answer = ask((*FULL, workload("agent", 0, kind="DaemonSet")), AddNodes(add=1, like="n1"))
    assert row(answer, "shop/DaemonSet/agent").pods_after == row(answer, "shop/DaemonSet/agent").pods + 1


def test_added_nodes_have_labels_of_their_own_and_no_conditions() -> None:
    model = node("n1", pool="x")
    model["spec"] = {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    }
    run = run_of(model)
    AddNodes(add=2, like="n1").apply(run, Effects("shop"))
    added = [each for each in run.api_server.all(api.Node) if each.metadata.name != "n1"]
    assert [each.metadata.labels["kubernetes.io/hostname"] for each in added] == ["n1-1", "n1-2"]
    assert all(each.metadata.labels["pool"] == "x" for each in added)
    assert not any(each.spec.unschedulable or each.spec.taints for each in added)


def test_a_drained_node_s_pods_come_back_through_their_controllers() -> None:
    objects = (
        *TWO,
        workload("web", 8, **spread("web")),
        workload("agent", 0, cpu="100m", kind="DaemonSet"),
        pod("bare", nodeName="n1", cpu="100m"),
        budget("web", 8),
    )
    answer = ask(objects, DrainNodes("n1"))
    assert answer.displaced == 4
    assert answer.lost == ("shop/bare",)
    assert answer.vanished == 1
    assert [(each.budget, each.allowed, each.pods) for each in answer.budgets] == [("shop/web", 0, 4)]
    assert answer.waiting == row(answer, WEB).left
    assert answer.after.nodes == 1
    assert row(answer, "shop/DaemonSet/agent").left == 0
    assert row(answer, "shop/DaemonSet/agent").pods_after == 1


def test_nodes_are_drained_by_label() -> None:
    answer = ask((*TWO, node("n3"), workload("web", 6)), DrainNodes("zone=b"))
    assert answer.sentence == "Without zone b (1 node): both pods that have to move find a place."
    assert answer.waiting == 0


def test_a_stateful_set_s_pods_keep_their_names() -> None:
    answer = ask((*TWO, workload("db", 2, cpu="5", kind="StatefulSet")), DrainNodes("n1"))
    assert row(answer, "shop/StatefulSet/db").left == 1
    assert answer.displaced == 1


def test_failed_nodes_name_no_budgets() -> None:
    answer = ask((*TWO, workload("web", 8), budget("web", 8)), FailNodes("n1"))
    assert answer.budgets == ()
    assert answer.displaced == 4


def test_pods_that_others_evict_are_named() -> None:
    important = {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": "high"},
        "value": 9,
    }
    objects = (*TWO, workload("web", 8), workload("core", 8, priorityClassName="high"), important)
    answer = ask(objects, FailNodes("n1"))
    assert answer.evicted
    assert answer.waiting == 8


def test_cordoned_nodes_take_no_pods() -> None:
    answer = ask((*TWO, workload("web", 2)), CordonNodes("zone=b"), ScaleWorkload("Deployment/web", 12))
    assert row(answer, WEB).left == 3
    answer = ask(
        (*TWO, workload("web", 2)), CordonNodes("n2"), UncordonNodes("n2"), ScaleWorkload("Deployment/web", 12)
    )
    assert row(answer, WEB).left == 0


def test_taints_and_labels() -> None:
    wants = workload("web", 2, nodeSelector={"pool": "x"})
    assert row(ask((*TWO, wants), LabelNodes("n1", "pool=x")), WEB).left == 0
    assert row(ask((*TWO, wants), LabelNodes("n1", "pool=x"), LabelNodes("n1", "pool-")), WEB).left == 2
    tainted = ask(
        (*TWO, workload("web", 2)), TaintNodes("zone=a", "k=v:NoSchedule"), ScaleWorkload("Deployment/web", 12)
    )
    assert row(tainted, WEB).left == 3
    again = ask((*TWO, workload("web", 12)), TaintNodes("n1", "k:NoExecute"))
    assert again.displaced == 6
    assert row(again, WEB).left == 4
    off = ask(FULL, TaintNodes("n1", "k=v:NoSchedule"), TaintNodes("n1", "k-"))
    assert row(off, WEB).left == 4


def test_other_requests_replace_all_pods() -> None:
    answer = ask(FULL, SetRequests("Deployment/web", {"cpu": "800m"}))
    assert answer.sentence == "With cpu 0.8 instead of 1: 4 of 4 pending pods of Deployment/web get a place."
    assert answer.waiting == 0
    more = ask(FULL, SetRequests("deploy/web", {"cpu": "2"}))
    assert row(more, WEB).left == 12


def test_other_requests_of_one_pod() -> None:
    answer = ask((node("n1"), pod("big", cpu="9")), SetRequests("big", {"cpu": "8"}))
    assert row(answer, "shop/Pod/big").left == 0


def test_scaling_up_and_down() -> None:
    up = ask((*TWO, workload("web", 2)), ScaleWorkload("Deployment/web", 17))
    assert (row(up, WEB).placed, row(up, WEB).left) == (14, 1)
    down = ask(FULL, ScaleWorkload("Deployment/web", 3))
    assert (row(down, WEB).pods_after, row(down, WEB).left) == (3, 0)
    sets = (*TWO, workload("db", 4, kind="StatefulSet"))
    answer = ask(sets, ScaleWorkload("sts/db", 2))
    assert row(answer, "shop/StatefulSet/db").pods_after == 2


def test_pending_pods_go_first_when_a_workload_shrinks() -> None:
    answer = ask(FULL, ScaleWorkload("Deployment/web", 16))
    assert not answer.moved
    assert row(answer, WEB).left == 0


def test_deleted_objects_make_room() -> None:
    objects = (*TWO, workload("old", 16), workload("web", 3))
    answer = ask(objects, DeleteObject("shop/deployments/old"))
    assert row(answer, WEB).left == 0
    assert row(answer, "shop/Deployment/old").pods_after == 0


def test_manifests_are_applied() -> None:
    new = workload("web", 20)
    answer = ask(TWO, ApplyManifests("new.yaml", lambda name: as_list(new)))
    assert (row(answer, WEB).placed, row(answer, WEB).left) == (16, 4)
    assert answer.sentence.startswith(
        "With new.yaml applied: 16 of 20 pods of Deployment/web have a place, 4 still wait"
    )
    grown = ask(
        (*TWO, workload("web", 2)), ApplyManifests("new.yaml", lambda name: as_list(workload("web", 2, cpu="5")))
    )
    assert row(grown, WEB).pods_after == 2
    assert row(grown, WEB).left == 0


def test_pods_are_placed_again_with_other_weights() -> None:
    objects = (node("n1", cpu="8"), node("n2", cpu="16"), workload("web", 6))
    same = ask(objects, PlaceAgain("all"))
    assert same.placed_again == 6
    other = ask(objects, SetWeight("NodeResourcesFit", 50), RemovePlugin("ImageLocality"), PlaceAgain("Deployment/web"))
    assert other.sentence.startswith(
        "With weight 50 for NodeResourcesFit (1 now) and without ImageLocality: if the 6 pods of Deployment/web"
    )
    assert other.after.placed == 6


def test_changes_are_made_in_the_order_given() -> None:
    first = ask((node("n1"), workload("web", 8)), AddNodes(add=1, like="n1"), DrainNodes("n1"))
    assert row(first, WEB).left == 0
    with pytest.raises(InputError, match="node n1 is not known"):
        ask((node("n1"), workload("web", 8)), DrainNodes("n1"), AddNodes(add=1, like="n1"))


def test_gpus_are_part_of_the_totals() -> None:
    objects = (node("g1", gpu=4), node("g2", gpu=4), workload("train", 2, gpu=3))
    answer = ask(objects, FailNodes("g1"))
    (gpu,) = (each for each in answer.before.use if each.resource == GPU)
    assert (gpu.requested, gpu.allocatable, gpu.free, gpu.largest_hole) == (6, 8, 2, 1)
    assert gpu.fragmented == 1.0
    assert row(answer, "shop/Deployment/train").left == 1


def test_use_by_a_label_of_choice() -> None:
    objects = (node("n1", pool="x"), node("n2", pool="y"), node("n3"), workload("web", 3))
    answer = ask(objects, CordonNodes("n1"), by="pool")
    assert [(each.value, each.nodes) for each in answer.after.groups] == [("x", 1), ("y", 1), ("-", 1)]


def test_the_same_question_has_the_same_answer() -> None:
    objects = (*FULL, node("n3", zone="c"))
    answers = {to_json(ask(objects, DrainNodes("n1"), PlaceAgain("all"))) for _ in range(2)}
    assert len(answers) == 1
    assert json.loads(answers.pop())["changes"] == [{"drain": "n1"}, {"again": "all"}]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (DrainNodes("n3"), "node n3 is not known"),
        (DrainNodes("zone=c"), "no node has the label topology.kubernetes.io/zone=c; its values are a, b"),
        (DrainNodes("pool=c"), "no node has the label pool=c; no node has this label"),
        (AddNodes(add=1, like="x"), "node x is not known"),
        (ScaleWorkload("Deployment/wep", 1), "Deployment shop/wep is not known; did you mean web"),
        (ScaleWorkload("other/Deployment/web", 1), "Deployment other/web is not known; there is one in namespace shop"),
        (ScaleWorkload("Service/web", 1), "Service shop/web is not known"),
        (DeleteObject("web"), "Pod shop/web is not known; Deployment/web has this name"),
        (DeleteObject("a/b/c/d"), r"a/b/c/d: \[NAMESPACE/\]KIND/NAME is expected"),
        (SetRequests("Deployment/web", {"proxy:cpu": "1"}), "there is no container proxy; containers: app"),
        (TaintNodes("n1", "k=v"), "KEY"),
        (TaintNodes("n1", "k-"), "k-: node n1 has no such taint"),
        (LabelNodes("n1", "k"), "KEY=VALUE or KEY- is expected"),
        (SetWeight("Foo", 1), "plugin Foo is not enabled"),
        (PlaceAgain("nowhere"), "--again nowhere: there are no placed pods"),
    ],
)
def test_bad_references_are_one_clear_line(asked: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        ask(FULL, asked)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("scale", "Deployment/web", "--scale Deployment/web: WORKLOAD=N is expected"),
        ("scale", "Deployment/web=-1", "--scale Deployment/web=-1: a number of at least 0 is expected"),
        ("weight", "P", "--weight P: PLUGIN=WEIGHT is expected"),
        ("weight", "P=0", "a number of at least 1 is expected"),
        ("set", ("web", "cpu"), "RESOURCE=QUANTITY"),
        ("set", ("web", "cpu=x"), "--set cpu=x"),
    ],
)
def test_bad_options_are_one_clear_line(name: str, value: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        change(name, value)


def test_two_containers_need_a_name() -> None:
    spec = pod_spec()
    spec["containers"].append({"name": "proxy", "image": "p"})
    two = workload("web", 1)
    two["spec"]["template"]["spec"] = spec
    with pytest.raises(InputError, match="cpu: name the container, as in app:cpu=2"):
        ask((*TWO, two), SetRequests("Deployment/web", {"cpu": "2"}))
    assert ask((*TWO, two), SetRequests("Deployment/web", {"app:cpu": "2"})).waiting == 0


def test_workloads_that_change_are_listed_first() -> None:
    never = [workload(f"never-{number}", 2, nodeSelector={"x": "y"}) for number in range(6)]
    tainted = node("n3", cpu="16") | {"spec": {"taints": [{"key": "spot", "effect": "NoSchedule"}]}}
    answer = ask((*TWO, tainted, *never, workload("web", 1, cpu="9")), TaintNodes("n3", "spot-"))
    lines = what_if_lines(answer, None)
    assert lines[lines.index("Pods") + 2].split() == ["shop/Deployment/web", "1", "1", "0"]


def test_pods_of_other_schedulers_have_a_reason() -> None:
    answer = ask((*TWO, pod("other", schedulerName="volcano")), AddNodes(add=1, like="n1"))
    (other,) = answer.workloads
    assert other.why is not None
    assert other.why.text.startswith("Waits for scheduler volcano (spec.schedulerName)")
