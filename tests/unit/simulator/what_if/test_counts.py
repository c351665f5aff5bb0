"""Questions that need several runs: how many fit, how many nodes are enough, which nodes could go."""

import pytest
from tests.unit.simulator.what_if.asking import ask, node, pod, spread, workload

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.what_if.text import enough_sentence
from stowplan.simulator.what_if.workload_changes import ScaleWorkload

TWO = (node("n1"), node("n2", zone="b"))


def test_replicas_are_counted_until_one_is_refused() -> None:
    answer = ask((*TWO, workload("web", 2, cpu="3")), fit="Deployment/web")
    assert answer.fit is not None
    assert (answer.fit.replicas, answer.fit.complete) == (2, True)
    assert [(each.domain, each.nodes, each.replicas, each.then) for each in answer.fit.domains] == [
        ("a", 1, 1, "cpu"),
        ("b", 1, 1, "cpu"),
    ]
    assert answer.fit.why is not None
    assert answer.before == answer.after


def test_a_count_stops_at_the_limit() -> None:
    answer = ask((*TWO, workload("web", 2)), fit="Deployment/web", max_replicas=5)
    assert answer.fit is not None
    assert (answer.fit.replicas, answer.fit.complete) == (5, False)


def test_the_count_is_repeated_without_a_relation() -> None:
    objects = (node("n1", cpu="2"), node("n2", zone="b", cpu="9"), workload("web", 0, **spread("web")))
    answer = ask(objects, fit="Deployment/web")
    assert answer.fit is not None
    assert (answer.fit.replicas, answer.fit.replicas_without) == (5, 11)
    assert answer.fit.without == "spread constraint"
    assert (answer.fit.busiest, answer.fit.busiest_replicas) == ("n2", 3)


def test_pods_and_manifests_can_be_counted() -> None:
    by_name = ask((*TWO, pod("big", cpu="4")), fit="big")
    assert by_name.fit is not None
    assert by_name.fit.replicas == 3
    given = api.Pod(metadata=api.ObjectMeta(name="x"), spec=api.PodSpec(containers=(api.Container(name="c"),)))
    manifest = ask(TWO, fit=given, max_replicas=7)
    assert manifest.fit is not None
    assert manifest.fit.replicas == 7


def test_replicas_preempt_no_other_pods() -> None:
    important = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "value": 9}
    important["metadata"] = {"name": "high"}
    objects = (*TWO, workload("low", 8), workload("core", 1, priorityClassName="high"), important)
    answer = ask(objects, fit="Deployment/core")
    assert answer.fit is not None
    assert answer.fit.replicas == 7


def test_kinds_without_replicas_cannot_be_counted() -> None:
    with pytest.raises(InputError, match="a pod or a workload with replicas is expected"):
        ask((*TWO, workload("agent", 0, cpu="9", kind="DaemonSet", nodeSelector={"x": "y"})), fit="ds/agent")
    with pytest.raises(InputError, match="a DaemonSet has a pod per node"):
        ask((*TWO, workload("agent", 0, kind="DaemonSet")), fit="ds/agent")


@pytest.mark.parametrize(("replicas", "nodes"), [(16, 0), (17, 1), (24, 1), (25, 2), (50, 5), (100, 11)])
def test_the_fewest_nodes_are_found(replicas: int, nodes: int) -> None:
    answer = ask((*TWO, workload("web", replicas)), enough=("n1",))
    assert [each.nodes for each in answer.enough] == [nodes]


def test_changes_come_before_the_search_for_nodes() -> None:
    answer = ask((*TWO, workload("web", 1)), ScaleWorkload("Deployment/web", 20), enough=("n1", "n2"))
    assert [(each.like, each.nodes) for each in answer.enough] == [("n1", 1), ("n2", 1)]


def test_no_number_of_nodes_is_enough() -> None:
    answer = ask((*TWO, workload("web", 3, cpu="9")), enough=("n1",))
    (found,) = answer.enough
    assert (found.nodes, found.waiting) == (-1, 3)
    assert found.why is not None


def test_the_search_for_nodes_counts_pods_that_lose_their_place() -> None:
    """Pods that the new replicas evict are in question as well, as without the search."""
    low = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": "low"}, "value": -1}
    objects = (*TWO, low, workload("batch", 12, priorityClassName="low"), workload("web", 2))
    answer = ask(objects, ScaleWorkload("Deployment/web", 10), enough=("n1",))
    assert answer.sentence.endswith("all 10 pods of Deployment/web have a place; 6 other pods lose their place.")
    assert [each.nodes for each in answer.enough] == [1]


def test_pods_that_no_node_could_help_are_not_counted() -> None:
    objects = (
        *TWO,
        pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
        pod("other", schedulerName="volcano"),
    )
    assert [each.nodes for each in ask(objects, enough=("n1",)).enough] == [0]
    (found,) = ask((*objects, workload("web", 2, cpu="9")), enough=("n1",)).enough
    assert (found.nodes, found.waiting) == (-1, 2)
    assert enough_sentence(found).startswith(
        f"No number of nodes like n1 is enough: 2 pods still wait, such as {found.pod}: asks for 9 CPU"
    )


def test_nodes_that_could_go() -> None:
    objects = (*(node(f"n{number}") for number in range(5)), workload("web", 10))
    answer = ask(objects, removable=True)
    assert answer.removable is not None
    assert len(answer.removable.nodes) == 3
    assert answer.removable.pods == 6


def test_nodes_with_pods_of_no_controller_stay() -> None:
    objects = (node("n1"), node("n2"), pod("bare", nodeName="n1"), workload("web", 1, nodeSelector={"x": "y"}))
    answer = ask(objects, removable=True)
    assert answer.removable is not None
    assert answer.removable.nodes == ("n2",)


def test_no_node_could_go() -> None:
    answer = ask((*TWO, workload("web", 16)), removable=True)
    assert answer.removable is not None
    assert answer.removable.nodes == ()
