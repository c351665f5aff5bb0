from tests.builders import make
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.framework import CycleState, Plugin, Pod, Status, wait
from stowplan.simulator.report import SimulationReport

GATED = {"schedulingGates": [{"name": "g"}]}
VIP = {"priorityClassName": "vip"}
CLASS = make("PriorityClass", "vip", value=1000)


def statuses(report: SimulationReport) -> dict[str, tuple[str, str]]:
    return {each.pod: (each.status, each.node) for each in report.pods}


def test_how_pods_end_up() -> None:
    report = Run(
        node("n", cpu="2"),
        pod("there", "n", **asking("1")),
        pod("placed", **asking("1")),
        pod("waits", **asking("1")),
        pod("gated", **GATED),
        pod("foreign", schedulerName="somebody"),
        pod("over", status={"phase": "Succeeded"}),
    ).report()
    assert statuses(report) == {
        "default/foreign": ("Pending", ""),
        "default/gated": ("Gated", ""),
        "default/placed": ("Placed", "n"),
        "default/there": ("Running", "n"),
        "default/waits": ("Pending", ""),
    }
    messages = {each.pod: each.message for each in report.pods}
    assert messages["default/gated"] == "waiting for scheduling gates: [g]"
    assert messages["default/foreign"] == 'no profile has schedulerName "somebody"; profiles: default-scheduler'
    assert messages["default/waits"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert [each.attempts for each in report.pods] == [0, 0, 1, 0, 1]


class Hold(Plugin):
    """Lets every pod wait longer than a simulation does."""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return wait(1e6)


class HoldForReason(Plugin):
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return wait(1e6, "two more pods of the gang")


def test_a_pod_that_waits_at_permit_names_the_plugin_and_what_it_waits_for() -> None:
    report = Run(node("n"), pod("held"), plugins={"Hold": Hold}).report()
    assert report.pending[0].message == "waits at Permit on node n until allowed by Hold"
    report = Run(node("n"), pod("held"), plugins={"Hold": Hold, "Gang": HoldForReason}).report()
    expected = "waits at Permit on node n until allowed by Hold, Gang (two more pods of the gang)"
    assert report.pending[0].message == expected


def test_figures() -> None:
    report = Run(
        node("a", cpu="2"),
        node("b", cpu="2"),
        pod("p", "a", **asking("500m")),
        pod("q", **asking("9")),
        pod("g", **GATED),
    ).report()
    summary = report.summary
    assert (summary.placed, summary.running, summary.pending, summary.gated, summary.evicted) == (0, 1, 2, 1, 0)
    assert (summary.nodes, summary.nodes_used) == (2, 1)
    assert summary.requested == {"cpu": 500, "memory": 0}
    assert summary.allocatable == {"cpu": 4000, "memory": 2 * 8 * 2**30}
    assert report.unknown_kinds == {"ConfigMap": 2, "Ingress": 1}
    a, b = report.nodes
    assert (a.node, a.pods, a.requested) == ("a", 1, {"cpu": 500, "pods": 1})
    assert (b.node, b.pods, b.allocatable["memory"]) == ("b", 0, 8 * 2**30)


def test_all_amounts_are_integers_with_a_unit() -> None:
    asked = {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1Gi", "a.com/gpu": "2", "b.com/none": "1"}
    report = Run(
        node("a", zone="z", extra={"a.com/gpu": "4", "hugepages-2Mi": "4Mi"}),
        pod("p", "a", containers=[{"name": "c", "resources": {"requests": asked}}]),
    ).report()
    assert report.units == {
        "a.com/gpu": "count",
        "b.com/none": "count",
        "cpu": "millicores",
        "ephemeral-storage": "bytes",
        "hugepages-2Mi": "bytes",
        "memory": "bytes",
        "pods": "count",
    }
    (placed,) = report.pods
    asked_for = {"cpu": 1500, "memory": 2**30, "ephemeral-storage": 2**30, "a.com/gpu": 2, "b.com/none": 1}
    assert (placed.requests, placed.zone, report.nodes[0].zone) == (asked_for, "z", "z")
    assert report.summary.requested == {"cpu": 1500, "memory": 2**30, "a.com/gpu": 2, "b.com/none": 1}
    assert report.summary.allocatable == {"cpu": 4000, "memory": 8 * 2**30, "a.com/gpu": 4, "b.com/none": 0}
    for amounts in (placed.requests, report.nodes[0].requested, report.nodes[0].allocatable, report.summary.requested):
        assert all(type(amount) is int for amount in amounts.values())
        assert set(amounts) <= set(report.units)


def test_pods_that_wait_for_the_same_reason_are_one_group() -> None:
    report = Run(
        node("a"), node("b"), workload("Deployment", "web", replicas=3, pod=asking("9")), pod("big", **asking("9"))
    ).report()
    web, big = sorted(report.pending, key=lambda group: -len(group.pods))
    assert (web.workload, len(web.pods), big.workload, big.pods) == ("Deployment/web", 3, "", ("default/big",))
    assert [(reason.reason, reason.nodes) for reason in web.reasons] == [("Insufficient cpu", ("a", "b"))]
    assert web.message == big.message


def test_no_nodes_at_all() -> None:
    report = Run(pod("p")).report()
    assert report.pending[0].message == "no nodes available to schedule pods"
    assert report.nodes == ()


def test_victims_and_what_became_of_them() -> None:
    report = Run(
        node("n", cpu="3"),
        CLASS,
        workload("ReplicaSet", "low", replicas=1, uid="low", pod=asking("1")),
        pod("theirs", "n", owner={"kind": "ReplicaSet", "name": "low", "uid": "low"}, **asking("1")),
        pod("bare", "n", **asking("1")),
        pod("vip", **asking("3"), **VIP),
    ).report()
    bare, theirs = sorted(report.preemptions, key=lambda each: each.victim)
    assert (bare.victim, bare.outcome) == ("default/bare", "not recreated: it has no controller")
    assert theirs.victim_workload == "ReplicaSet/low"
    assert theirs.outcome == "recreated by ReplicaSet/low, 1 of its pods pending"
    assert (bare.preemptor, bare.preemptor_priority, bare.victim_priority, bare.node) == ("default/vip", 1000, 0, "n")
    assert report.summary.evicted == 2


def test_victims_that_found_another_place() -> None:
    report = Run(
        node("n", cpu="2", labels={"a": "b"}),
        node("spare", cpu="2"),
        CLASS,
        workload("ReplicaSet", "low", replicas=1, uid="low", pod=asking("1")),
        pod("theirs", "n", owner={"kind": "ReplicaSet", "name": "low", "uid": "low"}, **asking("1")),
        pod("vip", nodeSelector={"a": "b"}, **asking("2"), **VIP),
    ).report()
    (eviction,) = report.preemptions
    assert eviction.outcome == "recreated by ReplicaSet/low, all of its pods running"
