from typing import Any

import msgspec
import pytest
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan import CycleState, NodeInfo, Plugin, Pod
from stowplan.simulator.report import detailed_decisions
from stowplan.simulator.report.detailed_decisions import TopScores, recording, top_scores, unpack


def record(run: Run, name: str) -> Any:
    return msgspec.json.decode(unpack(run.story(name).detail))


def test_the_top_scores() -> None:
    run = Run(node("a"), node("b", cpu="32"), node("c", cpu="8"), pod("p", **asking("1")), examine=top_scores)
    found = run.story("p").detail
    assert (found.runner_up, run.story("p").node_name) == ("c", "b")
    assert found.score > found.runner_up_score > 0


@pytest.mark.parametrize("nodes", [[node("a")], [node("a", cpu="1"), node("b", cpu="1")]])
def test_a_race_without_rivals(nodes: list[object]) -> None:
    assert Run(*nodes, pod("p", **asking("2")), examine=top_scores).story("p").detail == TopScores()


def test_records_of_pods_that_fit_and_that_do_not() -> None:
    run = Run(node("a"), node("b"), pod("p"), pod("big", **asking("9")), examine=recording(all_nodes=False))
    fits, big = record(run, "p"), record(run, "big")
    assert fits["node"] == run.story("p").node_name
    assert set(fits["scores"]) == set(fits["totals"]) == {"a", "b"}
    assert set(big["rejected"]) == {"a", "b"}
    assert big["message"] == run.story("big").message
    assert big.get("attempt", 1) == run.story("big").attempts


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four nodes are many, and two of them are told of."""
    monkeypatch.setattr(detailed_decisions, "MAX_NODES_RECORDED", 3)
    monkeypatch.setattr(detailed_decisions, "BEST_NODES_RECORDED", 2)


NODES = [node("a"), node("b", cpu="8"), node("c", cpu="16"), node("d", cpu="1")]


@pytest.mark.usefixtures("few")
def test_many_nodes_are_told_of_briefly() -> None:
    run = Run(*NODES, pod("p", **asking("2")), pod("big", **asking("99")), examine=recording(all_nodes=False))
    fits, big = record(run, "p"), record(run, "big")
    assert fits["feasible"] == ["b", "c"]
    assert set(fits["scores"]) == set(fits["totals"]) == {"b", "c"}
    assert fits["funnel"] == [{"plugin": "NodeResourcesFit", "remaining": 3}]
    assert (fits["node"], fits["nodes"]) == ("c", 4)
    assert "rejected" not in {**fits, **big}
    assert big["funnel"] == [{"plugin": "NodeResourcesFit", "remaining": 0}]
    assert big["message"] == run.story("big").message


@pytest.mark.usefixtures("few")
def test_unless_all_are_asked_for() -> None:
    run = Run(*NODES, pod("p", **asking("2")), examine=recording(all_nodes=True))
    assert record(run, "p")["feasible"] == ["a", "b", "c"]
    assert set(record(run, "p")["rejected"]) == {"d"}


@pytest.mark.usefixtures("few")
def test_brief_scores_are_those_of_the_whole_record() -> None:
    whole, brief = (
        record(Run(*NODES, pod("p", **asking("2")), examine=recording(all_nodes=everything)), "p")
        for everything in (True, False)
    )
    assert brief["totals"].items() <= whole["totals"].items()
    assert brief["scores"].items() <= whole["scores"].items()


class Moody(Plugin):
    """Answers once, and then never again."""

    name = "Moody"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        if pod.name in self.asked:
            raise RuntimeError("asked before")
        self.asked.add(pod.name)

    asked: set[str] = set()  # noqa: RUF012


@pytest.mark.parametrize("examine", [top_scores, recording(all_nodes=False)])
def test_a_plugin_that_stumbles_spoils_the_closer_look_only(examine: detailed_decisions.Examine) -> None:
    Moody.asked.clear()
    story = Run(node("a"), pod("p"), pod("q"), plugins={"Moody": Moody}, examine=examine).story("q")
    assert story.node_name == "a"
