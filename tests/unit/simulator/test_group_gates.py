"""Pod groups in simulations: the gates that the input needs, and the report."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.builders import make
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan.config import default_configuration
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.config.releases import RELEASES
from stowplan.framework import CycleState, Nodes, Plugin, Pod, Status, reject
from stowplan.simulator.group_gates import with_group_gates
from stowplan.simulator.report.pod_groups import PodGroupReport
from stowplan.simulator.report.tables import TableStyle, tables


def group(name: str = "g", **spec: Any) -> Any:
    return make("PodGroup", name, namespace="default", spec={"schedulingPolicy": {"gang": {"minCount": 2}}, **spec})


def member(name: str, cpu: str = "1") -> Any:
    return pod(name, schedulingGroup={"podGroupName": "g"}, **asking(cpu))


def test_gates_follow_the_input() -> None:
    config = default_configuration()
    assert with_group_gates(config, [node("n")]) is config
    gang = with_group_gates(config, [group()])
    assert gang.release.has(GENERIC_WORKLOAD)
    assert gang.release.has(GANG_SCHEDULING)
    assert not gang.release.has(TOPOLOGY_AWARE)
    assert [each.name for each in gang.profiles[0].plugins.multi_point.enabled][-1] == "GangScheduling"
    rack = with_group_gates(config, [group(schedulingConstraints={"topology": [{"key": "rack"}]})])
    assert rack.release.has(TOPOLOGY_AWARE)
    assert with_group_gates(config, [group(priority=5)]).release.has(WORKLOAD_PREEMPTION)


def test_plugins_are_those_of_the_gates() -> None:
    given = [group(priority=5, schedulingConstraints={"topology": [{"key": "rack"}]})]
    release = with_group_gates(default_configuration(), given).release
    made = with_group_gates(default_configuration(), given).profiles[0].plugins.multi_point.enabled
    assert made == default_configuration(release).profiles[0].plugins.multi_point.enabled


def test_earlier_releases_stay_as_they_are() -> None:
    config = default_configuration(RELEASES["1.35"])
    assert with_group_gates(config, [group()]) is config


def test_the_report_names_groups() -> None:
    fits = Run(node("n", cpu="2"), group(), member("a"), member("b")).report()
    assert fits.pod_groups == (
        PodGroupReport(pod_group="default/g", policy="Gang", status="Scheduled", members=2, placed=2, min_count=2),
    )
    waits = Run(node("n", cpu="1"), group(), member("a"), member("b")).report()
    (found,) = waits.pod_groups
    assert (found.status, found.placed, found.message) == ("Unschedulable", 0, "pod group is unschedulable")
    lines = [line.plain.split() for line in tables(waits, TableStyle())]
    assert ["default", "g", "Gang", "Unschedulable", "2", "0", "2", "-"] in lines


def test_the_domain_of_a_group_is_reported() -> None:
    rack = group(schedulingConstraints={"topology": [{"key": "rack"}]})
    labels = {"rack": "r1"}
    (found,) = Run(node("n", cpu="2", labels=labels), rack, member("a"), member("b")).report().pod_groups
    assert (found.topology_key, found.domain) == ("rack", "r1")


def test_groups_of_coscheduling() -> None:
    """PodGroups of scheduling.x-k8s.io, whose pods have a label: the same cycle, and no member holds room in vain."""
    named = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    crd = make("CoschedulingPodGroup", "g", namespace="default", spec={"minMember": 2})
    pods = [pod(name, metadata=named, **asking("1")) for name in ("a", "b")]
    (waits,) = Run(node("n", cpu="1"), crd, *pods).report().pod_groups
    assert (waits.status, waits.members, waits.placed, waits.min_count) == ("Pending", 2, 0, 2)
    (fits,) = Run(node("n", cpu="2"), crd, *pods).report().pod_groups
    assert (fits.status, fits.placed) == ("Scheduled", 2)
    config = default_configuration(RELEASES["1.34"])
    assert with_group_gates(config, [crd]).release.has(GANG_SCHEDULING)


class Once(Plugin):
    """Gates pods that were tried, as plugins do that delay the next attempt of a group."""

    name = "Once"
    tried: ClassVar[set[str]] = set()

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return reject("later") if pod.uid in self.tried else None

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        self.tried.add(pod.uid)
        return None


def test_members_that_were_tried_are_pending_and_not_gated() -> None:
    run = Run(node("n", cpu="1"), group(), member("a"), member("b"), plugins={"Once": Once})
    run.simulation.api_server.put(node("more", cpu="4"))
    run.simulation.run()
    assert run.simulation.engine.queue_counts()["gated"] == 1
    report = run.report()
    assert [each.status for each in report.pods] == ["Pending", "Pending"]
    assert report.pods[0].message.startswith("pod group is unschedulable, waiting for minCount pods")
    assert report.summary.gated == 0
