"""Use of nodes: all requested resources, fragmentation, largest hole, by zone and by a label of choice."""

import json

import pytest
from click.testing import CliRunner
from tests.unit.simulator.what_if.asking import GPU, ZONE, as_list, node, pod, run_of, workload

from stowplan.cli.main import cli
from stowplan.simulator.report.use import label_key, largest_requests

CLUSTER = (
    node("g1", gpu=4, pool="gpu"),
    node("g2", zone="b", gpu=4, pool="gpu"),
    node("n1", cpu="4"),
    workload("train", 2, gpu=3),
)


def test_resources_that_pods_request_are_part_of_the_report() -> None:
    report = run_of(*CLUSTER).report()
    use = {each.resource: each for each in report.use}
    assert list(use) == ["cpu", "memory", GPU]
    assert (use[GPU].requested, use[GPU].allocatable, use[GPU].free, use[GPU].largest_hole) == (6, 8, 2, 1)
    assert (use[GPU].largest_request, use[GPU].nodes_for_largest, use[GPU].fragmented) == (3, 0, 1.0)
    assert (use["cpu"].free, use["cpu"].largest_hole, use["cpu"].fragmented) == (18_000, 7_000, 0.0)
    assert (use["cpu"].lowest, use["cpu"].median, use["cpu"].highest) == (0.0, 12.5, 12.5)


def test_half_of_the_free_amount_is_fragmented() -> None:
    report = run_of(node("a", cpu="4"), node("b", cpu="4"), pod("p", cpu="3"), pod("q", cpu="2", nodeName="a")).report()
    cpu = report.use[0]
    assert (cpu.free, cpu.largest_request, cpu.largest_hole) == (3_000, 3_000, 2_000)
    assert cpu.fragmented == 1.0
    report = run_of(node("a", cpu="4"), node("b", cpu="5"), pod("p", cpu="2")).report()
    assert report.use[0].fragmented == round(1_000 / 7_000, 4)


def test_cordoned_nodes_have_nothing_free() -> None:
    cordoned = {**node("n1"), "spec": {"unschedulable": True}}
    assert run_of(cordoned).report().use[0].free == 0


def test_groups_by_zone() -> None:
    groups = run_of(*CLUSTER).report().groups
    assert [(each.label, each.value, each.nodes, each.pods) for each in groups] == [
        (ZONE, "a", 2, 1),
        (ZONE, "b", 1, 1),
    ]
    assert [use.requested for each in groups for use in each.use if use.resource == GPU] == [3, 3]


def test_no_groups_without_zones() -> None:
    plain = node("n1")
    del plain["metadata"]["labels"][ZONE]
    assert run_of(plain).report().groups == ()


def test_tables_by_a_label_of_choice() -> None:
    given = as_list(*CLUSTER)
    text = CliRunner().invoke(cli, ["simulate", "-", "--by", "pool"], input=given).stdout
    assert "Use by pool" in text
    assert "gpu       2     2  cpu" in text
    wide = CliRunner().invoke(cli, ["simulate", "-", "-o", "wide"], input=given).stdout
    assert "RESOURCE        USED  FREE  LARGEST HOLE  FRAGMENTED" in wide
    assert "Use by zone" in wide
    report = json.loads(CliRunner().invoke(cli, ["simulate", "-", "-o", "json", "--by", "pool"], input=given).stdout)
    assert [each["value"] for each in report["groups"]] == ["gpu", "-"]
    assert report["use"][2]["largestHole"] == 1


@pytest.mark.parametrize(("labels", "key"), [([{}], ZONE), ([{"zone": "a"}], "zone"), ([], ZONE)])
def test_zone_is_short_for_the_well_known_label(labels: list[dict[str, str]], key: str) -> None:
    assert label_key("zone", labels) == key


def test_largest_requests() -> None:
    found = largest_requests([{"cpu": 1, "b": 2}, {"cpu": 3, "a": 1, "z": 0}], ("cpu", "memory"))
    assert list(found.items()) == [("cpu", 3), ("memory", 0), ("a", 1), ("b", 2)]
