"""What a case must look like, and how it is told what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import Json, node, pod

from stowplan.errors import InputError
from stowplan.evaluation.case import read_case


def read(**case: Any) -> Any:
    return read_case(msgspec.json.encode(case))


def test_the_least_case() -> None:
    case = read(pod=pod("p"))
    assert (case.id, case.config, case.nodes, case.pods) == (None, None, (), ())
    assert case.pod.metadata.name == "p"


def test_null_is_nothing() -> None:
    case = read_case(
        b'{"id": null, "pod": {"metadata": {"name": "p", "namespace": "d", "labels": null}}, "nodes": null}'
    )
    assert case.nodes == ()
    assert case.pod.metadata.labels == {}


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({}, r"\$\.pod: required"),
        ({"pod": pod("p"), "node": []}, r"\$\.node: unknown field.*nodes"),
        ({"pod": pod("p"), "nodes": {}}, r"\$\.nodes"),
        ({"pod": pod("p"), "nodes": [node("n"), node("n")]}, r'\$\.nodes\[1\]\.metadata\.name: duplicate Node "n"'),
        ({"pod": pod("p"), "pods": [pod("r")]}, r"\$\.pods\[0\]\.spec\.nodeName: required"),
        ({"pod": pod("p"), "pods": [pod("p", "n")]}, r"\$\.pod\.metadata\.uid: duplicate"),
        ({"pod": pod("p"), "nominatedPods": [pod("r")]}, r"\$\.nominatedPods\[0\]: must have"),
        ({"pod": pod("p", requests={"cpu": "many"})}, r"\$\.pod\.spec\.containers\[0\]\.resources\.requests"),
        ({"pod": {"metadata": {"name": 5}}}, r"\$\.pod\.metadata\.name"),
    ],
)
def test_problems_have_paths(case: Json, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(**case)


def test_many_problems_are_not_all_told() -> None:
    with pytest.raises(InputError, match=r"pods\[2\].*; and more$") as caught:
        read(pod=pod("p"), pods=[pod(f"r{i}") for i in range(50)])
    assert "pods[3]" not in str(caught.value)


def test_pods_that_take_part() -> None:
    phases = {"a": "Running", "b": "Succeeded", "c": "Failed", "d": "Pending"}
    pods = [pod(name, "n", status={"phase": phase}) for name, phase in reversed(phases.items())]
    case = read(pod=pod("p"), pods=[*pods, pod("z", "n", namespace="aa")])
    assert [(p.metadata.namespace, p.metadata.name) for p in case.running()] == [
        ("aa", "z"),
        ("default", "a"),
        ("default", "d"),
    ]


def test_pods_without_a_uid_get_one() -> None:
    def anonymous(name: str, on: str = "") -> Json:
        made = pod(name, on)
        del made["metadata"]["uid"]
        return made

    case = read(pod=anonymous("p"), pods=[anonymous("r", "n")])
    assert (case.pod.metadata.uid, case.pods[0].metadata.uid) == ("default/p", "default/r")


def test_lookups_are_all_but_nodes_and_pods() -> None:
    service = {"metadata": {"name": "s", "namespace": "default"}}
    case = read(pod=pod("p"), nodes=[node("n")], pods=[pod("r", "n")], services=[service])
    assert [item.metadata.name for item in case.lookups()] == ["s"]
