import json

import pytest
import yaml
from tests.builders import make
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod

from stowplan.simulator.report import SimulationReport
from stowplan.simulator.report.detailed_decisions import recording, top_scores
from stowplan.simulator.report.recorder import Examine
from stowplan.simulator.report.serialized import to_json, to_yaml


def report(examine: Examine | None) -> SimulationReport:
    return Run(
        node("a"),
        make("PriorityClass", "vip", value=7),
        pod("low", "a", **asking("3")),
        pod("high", priorityClassName="vip", **asking("4")),
        pod("big", **asking("9")),
        examine=examine,
    ).report()


@pytest.mark.parametrize("examine", [None, top_scores, recording(all_nodes=True)])
def test_both_say_the_same(examine: Examine | None) -> None:
    found = report(examine)
    text = b"".join(to_json(found))
    data = json.loads(text)
    assert yaml.safe_load(b"".join(to_yaml(found))) == data
    assert list(data) == [
        "pods",
        "pending",
        "preemptions",
        "nodes",
        "summary",
        "unknownKinds",
        "units",
        "assumptions",
        "notCreated",
        "use",
        "groups",
        "podGroups",
    ]
    assert [each["pod"] for each in data["pods"]] == ["default/big", "default/high"]
    assert data["pods"][1]["node"] == data["preemptions"][0]["node"] == "a"
    assert data["pending"][0]["reasons"] == [{"reason": "Insufficient cpu", "nodes": ["a"]}]
    assert ("decision" in data["pods"][0]) == (examine not in (None, top_scores))
    assert text.endswith(b"}\n")
    # A line an element, for those who search with grep.
    assert sum(line.startswith(b'{"pod":') for line in text.splitlines()) == 2


def test_records_are_embedded_as_they_are() -> None:
    data = json.loads(b"".join(to_json(report(recording(all_nodes=True)))))
    assert data["pods"][0]["decision"]["rejected"]["a"]["reasons"] == ["Insufficient cpu"]
    assert data["pods"][1]["decision"]["node"] == "a"


def test_nothing_to_tell() -> None:
    found = Run().report()
    assert json.loads(b"".join(to_json(found)))["pods"] == []
    assert yaml.safe_load(b"".join(to_yaml(found)))["pods"] == []
