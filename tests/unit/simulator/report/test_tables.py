from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import make
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.simulator.report import SimulationReport
from stowplan.simulator.report import tables as module
from stowplan.simulator.report.detailed_decisions import top_scores
from stowplan.simulator.report.resources import cores, gibibytes, percentage
from stowplan.simulator.report.tables import TableStyle, aligned, folded, summary_line, tables


def lines(report: SimulationReport, **style: Any) -> list[str]:
    return [line.plain for line in tables(report, TableStyle(**style))]


SMALL = Run(
    node("ant"),
    node("bee", cpu="2"),
    pod("old", "ant", **asking("1")),
    pod("new", **asking("3")),
    pod("big", **asking("9")),
    pod("gated", schedulingGates=[{"name": "g"}]),
    examine=top_scores,
).report()


def test_a_line_a_pod_and_why_some_wait() -> None:
    attempts = next(each.attempts for each in SMALL.pods if each.pod == "default/big")
    assert lines(SMALL) == [
        "NAMESPACE  POD    STATUS   NODE  ATTEMPTS",
        f"default    big    Pending  -            {attempts}",
        "default    gated  Gated    -            -",
        "default    new    Placed   ant          1",
        "default    old    Running  ant          -",
        "",
        "Pending",
        "default/big:",
        "  0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
        "    Insufficient cpu (2): ant, bee",
        "default/gated:",
        "  waiting for scheduling gates: [g]",
        "",
        "1 placed, 2 pending (1 gated), 1 running before; 1 of 2 nodes used. "
        "Requested: cpu 4 of 6 (67 %), memory 0Gi of 16Gi (0 %).",
    ]


def test_wide_adds_scores_and_nodes() -> None:
    found = lines(SMALL, wide=True)
    assert found[0] == "NAMESPACE  POD    STATUS   NODE  ATTEMPTS  SCORE  RUNNER-UP  FEASIBLE"
    assert found[3].endswith("  -               1/2")
    nodes = found[found.index("Nodes") + 1 : found.index("Use") - 1]
    assert nodes == [
        "NODE  PODS  CPU          MEMORY",
        "ant      2  4/4 (100 %)  0Gi/8Gi (0 %)",
        "bee      0  0/2 (0 %)    0Gi/8Gi (0 %)",
    ]


def test_wide_names_the_runner_up() -> None:
    report = Run(node("ant"), node("bee", cpu="2"), pod("p", **asking("1")), examine=top_scores).report()
    (row,) = (line for line in lines(report, wide=True) if "Placed" in line)
    assert report.pods[0].runner_up == "bee"
    assert f"{report.pods[0].score}  bee ({report.pods[0].runner_up_score})       2/2" in row


def test_zones_and_extended_resources_have_columns() -> None:
    gpus = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "a.com/gpu": "1"}}}]}
    report = Run(
        node("ant", zone="eu-1a", extra={"a.com/gpu": "2"}), node("bee"), pod("p", **gpus), pod("q", "bee")
    ).report()
    found = lines(report, wide=True)
    assert found[0].split()[:6] == ["NAMESPACE", "POD", "STATUS", "NODE", "ZONE", "A.COM/GPU"]
    assert found[1].split()[1:6] == ["p", "Placed", "ant", "eu-1a", "1"]
    assert found[2].split()[1:6] == ["q", "Running", "bee", "-", "-"]
    at = found.index("Nodes")
    assert found[at + 1 : at + 4] == [
        "NODE  ZONE   PODS  CPU         MEMORY         A.COM/GPU",
        "ant   eu-1a     1  1/4 (25 %)  0Gi/8Gi (0 %)  1/2 (50 %)",
        "bee   -         1  0/4 (0 %)   0Gi/8Gi (0 %)  -",
    ]
    assert found[-1].endswith(", a.com/gpu 1 of 2 (50 %).")


@pytest.mark.usefixtures("few")
def test_workloads_have_zones_and_extended_resources() -> None:
    gpus = {"containers": [{"name": "c", "resources": {"requests": {"a.com/gpu": "1"}}}]}
    nodes = [node(name, zone=f"eu-{name}", extra={"a.com/gpu": "2"}) for name in "ab"]
    found = lines(Run(*nodes, workload("Deployment", "web", replicas=5, pod=gpus)).report())
    assert found[:2] == [
        "NAMESPACE  WORKLOAD        PODS  PLACED  RUNNING  PENDING  NODES  A.COM/GPU  ZONES",
        "default    Deployment/web     5       4        0        1      2          5  eu-a 2, eu-b 2",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_sentences_fit_into_the_terminal(width: int) -> None:
    sentences = lines(SMALL, width=width)[6:]
    assert max(map(len, sentences)) < width
    assert " ".join(" ".join(sentences).split()) == " ".join(" ".join(lines(SMALL)[6:]).split())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LISTED_PODS", 3)
    monkeypatch.setattr(module, "_MAX_LISTED_MESSAGES", 2)
    monkeypatch.setattr(module, "_MAX_LISTED_NAMES", 1)


@pytest.mark.usefixtures("few")
def test_many_pods_are_told_of_by_workload() -> None:
    report = Run(
        node("ant"),
        node("bee"),
        workload("Deployment", "web", replicas=5, pod=asking("2")),
        pod("one", "bee"),
        workload("Job", "big", namespace="jobs", parallelism=2, completions=2, pod=asking("9")),
    ).report()
    found = lines(report)
    assert found[:4] == [
        "NAMESPACE  WORKLOAD           PODS  PLACED  RUNNING  PENDING  NODES",
        "default    Deployment/web        5       4        0        1      2",
        "default    pods on their own     1       0        1        0      1",
        "jobs       Job/big               2       0        0        2      0",
    ]
    assert "2 pods of jobs/Job/big:" in found
    assert sum(line.startswith("default    web-") for line in lines(report, everything=True)) == 5


@pytest.mark.usefixtures("few")
def test_names_and_messages_are_abbreviated() -> None:
    zoned = [node(name, labels={"zone": name}) for name in "abc"]
    wishes = [{"nodeSelector": {"zone": zone}} for zone in "xa"]
    apart = [pod(f"p{i}", **asking(f"{i + 5}"), **wish) for i, wish in enumerate([*wishes, {}])]
    found = lines(Run(*zoned, *apart, pod("p3", **asking("9"))).report())
    assert "    node(s) didn't match Pod's node affinity/selector (3): a and 2 more" in found
    assert found[-3] == "and 1 more messages; --all lists them"
    everything = lines(Run(*zoned, *apart, pod("p3", **asking("9"))).report(), everything=True)
    assert "    node(s) didn't match Pod's node affinity/selector (3): a, b, c" in everything
    assert "2 pods: default/p2, default/p3:" in everything


def evicting(count: int) -> SimulationReport:
    victims = [pod(f"low-{index}", "n", **asking("1")) for index in range(count)]
    vip = pod("vip", priorityClassName="vip", **asking(str(count)))
    return Run(node("n", cpu=str(count)), make("PriorityClass", "vip", value=5), *victims, vip).report()


def test_evictions() -> None:
    found = lines(evicting(1))
    at = found.index("Evicted")
    assert found[at + 1] == (
        "  default/low-0 (priority 0) left n for default/vip (priority 5); not recreated: it has no controller"
    )
    assert found[-1].startswith("1 placed, 0 pending, 1 evicted;")


@pytest.mark.usefixtures("few")
def test_many_evictions_are_summed_up() -> None:
    found = lines(evicting(4))
    assert (
        "  4 pods of default/pods on their own (priority 0) for default/pods on their own (priority 5); "
        "not recreated: it has no controller"
    ) in found
    assert sum("low-" in line for line in lines(evicting(4), everything=True)) == 4


def test_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LISTED_PODS", 1)
    assert "and 1 more; --all lists them" in lines(SMALL, wide=True)
    assert "and 1 more; --all lists them" not in lines(SMALL, wide=True, everything=True)


def test_nothing_at_all() -> None:
    assert lines(Run().report()) == ["0 placed, 0 pending; there are no nodes."]


def test_nodes_without_resources_do_not_divide() -> None:
    summary = replace(SMALL.summary, allocatable={"cpu": 0, "memory": 0}, requested={"cpu": 0, "memory": 0})
    assert summary_line(summary).endswith("cpu 0 of 0 (none), memory 0Gi of 0Gi (none).")


def test_columns_are_as_wide_as_the_widest_cell() -> None:
    rows = [["漢字", "7"], ["x", "1,000"]]
    assert [line.plain for line in aligned(["NAME", "PODS"], rows)] == ["NAME   PODS", "漢字      7", "x     1,000"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [(cores(1500), "1.5"), (cores(2000), "2"), (gibibytes(3 * 2**29), "1.5Gi"), (percentage(1, 3), "33 %")],
)
def test_amounts(shown: str, expected: str) -> None:
    assert shown == expected


def test_folding_keeps_words_whole() -> None:
    assert [line.plain for line in folded("aa bb cc-dd", 30, "  ")] == ["  aa bb cc-dd"]
    text = " ".join(["word"] * 20)
    assert " ".join(line.plain.strip() for line in folded(text, 25, " ")) == text


def test_how_pods_fared_before() -> None:
    pods = tuple(
        replace(each, before={"default/old": "Running", "default/big": "Pending"}.get(each.pod, ""))
        for each in SMALL.pods
    )
    report = replace(SMALL, pods=pods, summary=replace(SMALL.summary, pending_before=1))
    found = lines(report, before=True)
    assert found[0].split() == ["NAMESPACE", "POD", "BEFORE", "STATUS", "NODE", "ATTEMPTS"]
    assert [line.split()[1:4] for line in found[1:5]] == [
        ["big", "Pending", "Pending"],
        ["gated", "-", "Gated"],
        ["new", "-", "Placed"],
        ["old", "Running", "Running"],
    ]
    assert found[-1].startswith("1 placed, 2 pending (1 gated, 1 pending before), 1 running before;")
