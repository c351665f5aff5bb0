import json
from collections import Counter
from importlib.resources import files

import pytest

from stowplan.bench.cluster.objects import beside, incoming
from stowplan.bench.cluster.workload import NAMES, PEERS, Bars, load_workload
from stowplan.errors import InputError

BARS = {
    "basic": Bars(per_second=2, of_upper_bound=0.85, cpu_us_per_pod=0.15, rss_mib=1, first_bind_s=3),
    "service": Bars(per_second=5, cpu_us_per_pod=0.06),
    "spread": Bars(per_second=4, of_upper_bound=0.8, cpu_us_per_pod=0.06),
    "affinity": Bars(per_second=6, of_upper_bound=0.8, cpu_us_per_pod=0.05),
    "antiaffinity": Bars(per_second=4, of_upper_bound=0.8, cpu_us_per_pod=0.06),
    "preemption": Bars(per_second=1.5, cpu_us_per_pod=0.4),
    **dict.fromkeys(
        ("preemption-basic", "preemption-pvs", "preemption-async"),
        Bars(cpu_us_per_pod=0.4, unschedulable_attempts=1.1, victims=1),
    ),
    "devices": Bars(per_second=2, cpu_us_per_pod=0.3),
    "startup": Bars(first_bind_s=10),
    "gangs": Bars(per_second=5, cpu_us_per_pod=0.1),
    "gangs-unschedulable": Bars(per_second=5, idle_cpu_share=0.02),
}
PODS = {
    "basic": 5000,
    "service": 5000,
    "spread": 5000,
    "affinity": 3000,
    "antiaffinity": 2000,
    "preemption": 500,
    "preemption-basic": 1000,
    "preemption-pvs": 1000,
    "preemption-async": 2000,
    "devices": 2000,
    "gangs": 5000,
    "gangs-unschedulable": 2000,
}
NODES = {name: 1000 for name in NAMES if name.startswith("preemption")} | {"devices": 500}


def test_every_file_is_a_workload_and_the_other_way_round() -> None:
    folder = files("stowplan.bench.cluster").joinpath("workloads")
    assert {item.name.removesuffix(".yaml") for item in folder.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_asks_for_what_it_should(name: str) -> None:
    workload = load_workload(name)
    assert workload.name == name
    assert workload.about.endswith(".")
    assert workload.bars == BARS[name]
    assert workload.pods == PODS.get(name, 1)
    assert workload.nodes == NODES.get(name, 5000)
    assert set(workload.peers) <= set(PEERS)


def test_the_scenario_is_the_pattern() -> None:
    assert load_workload("spread").incoming.pod["spec"]["topologySpreadConstraints"]
    assert [item["kind"] for item in load_workload("service").objects] == ["Service"]
    assert load_workload("basic").running is None


def test_priorities_come_from_classes() -> None:
    workload = load_workload("preemption")
    assert {item["metadata"]["name"] for item in workload.objects} == {"low-0", "low-10", "low-20", "high"}
    assert workload.running is not None
    for series in (workload.incoming, workload.running):
        assert series.pod["spec"]["priority"] is None
    assert workload.running.pod["spec"]["terminationGracePeriodSeconds"] == 0


def test_what_runs_can_be_taken_from_another_scenario() -> None:
    running = load_workload("startup").running
    assert running is not None
    assert (running.per_node, running.templates) == (10, 499)


def test_gangs_have_a_group_each_and_gates() -> None:
    workload = load_workload("gangs")
    assert workload.flags == ("--feature-gates=GenericWorkload=true,GangScheduling=true",)
    assert load_workload("basic").flags == ()
    groups = [json.loads(body) for _, (_, body) in beside(workload, 500)]
    assert len(groups) == 50
    assert {each["spec"]["schedulingPolicy"]["gang"]["minCount"] for each in groups} == {10}
    members = Counter(
        json.loads(body)["spec"]["schedulingGroup"]["podGroupName"] for _, body in incoming(workload, 500)
    )
    assert members == {each["metadata"]["name"]: 10 for each in groups}
    names = [(kind, name) for kind, (name, _) in beside(load_workload("gangs-unschedulable"), 1)]
    assert len(names) == len(set(names)) == 2500


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="no workload 'nonsense'; there are basic"):
        load_workload("nonsense")
