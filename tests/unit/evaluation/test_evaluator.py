"""Cases in, verdicts out, and no case that stops another."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from tests.builders import HOSTNAME, Json, away, node, only, pod, profile_config, selector

from stowplan.config import KubeSchedulerConfiguration, default_configuration, from_builtins
from stowplan.config.releases import RELEASES, Release
from stowplan.evaluation import Evaluator
from stowplan.framework import CycleState, NodeInfo, Plugin, Pod, Status, reject

INDEX = "apps.kubernetes.io/pod-index"


def ask(evaluator: Evaluator, **case: Any) -> Json:
    answer: Json = msgspec.json.decode(evaluator.answer(msgspec.json.encode(case)))
    return answer


class Curious(Plugin):
    name = "curious"
    needs_objects = True

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        others = [other.object["spec"]["note"] for other in node.pods.values()]
        return reject(f"{pod.object['spec']['note']} {node.object['status']['note']} {others}")


def test_the_id_comes_back() -> None:
    evaluator = Evaluator()
    for given in ("x", 7, None):
        assert ask(evaluator, id=given, pod=pod("p"), nodes=[node("n")])["id"] == given


def test_a_case_may_have_a_release_of_its_own() -> None:
    tainted = node("n", taints=[{"key": "gpu", "value": "a", "effect": "NoSchedule"}])
    asked = {"pod": pod("p"), "nodes": [tainted]}
    texts = {"1.33": "untolerated taint {gpu: a}", "1.34": "untolerated taint(s)"}
    for default, given, expected in (("1.36", "1.33", "1.33"), ("1.33", "v1.34.4", "1.34"), ("1.33", None, "1.33")):
        evaluator = Evaluator(release=RELEASES[default])
        case = {**asked, "release": given} if given else asked
        verdict = ask(evaluator, **case)
        assert verdict["filter"]["n"]["reasons"] == [f"node(s) had {texts[expected]}"]


@pytest.mark.parametrize(
    ("release", "error"),
    [
        ("1.32", '$.release: must be one of 1.33, 1.34, 1.35, 1.36, got "1.32"'),
        ("new", "$.release: could not parse 'new' as version"),
        (1.34, "$.release: Expected `str`, got `float`"),
    ],
)
def test_a_release_that_is_not_known(release: object, error: str) -> None:
    assert ask(Evaluator(), pod=pod("p"), release=release)["error"] == error


def test_the_configuration_is_read_for_the_release_of_a_case() -> None:
    read: list[str] = []

    def reader(release: Release) -> KubeSchedulerConfiguration:
        read.append(release.version)
        return default_configuration(release)

    evaluator = Evaluator(reader)
    for given in ("1.34", "1.36", "1.34"):
        assert ask(evaluator, pod=pod("p"), nodes=[node("n")], release=given)["feasible"] == ["n"]
    assert read == ["1.34", "1.36"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"{", "$: Input data was truncated"),
        (b"[1]", "$: "),
        (b'{"id": "x"}', "$.pod: required"),
        (b"[" * 5000, "$: "),
    ],
)
def test_broken_lines_are_answered(line: bytes, error: str) -> None:
    answer = msgspec.json.decode(Evaluator().answer(line))
    assert answer["error"].startswith(error)
    assert set(answer) == {"id", "error"}


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ({"pod": pod("p", schedulerName="nobody"), "nodes": [node("n")]}, 'no profile for schedulerName "nobody"'),
        ({"pod": pod("p"), "nodes": []}, "no nodes available to schedule pods"),
        ({"pod": pod("p"), "config": {"kind": "Pod"}, "nodes": [node("n")]}, "config"),
        (
            {"pod": pod("p"), "nodes": [node("n")], "config": {**profile_config(), "extenders": [{"urlPrefix": "http://x"}]}},
            "extenders",
        ),
    ],
)  # fmt: skip
def test_cases_without_a_verdict(case: Json, error: str) -> None:
    answer = ask(Evaluator(), **case)
    assert error in answer["error"]
    assert "\n" not in answer["error"]


def test_a_case_brings_its_own_configuration() -> None:
    config = from_builtins(profile_config(only("filter", "NodeUnschedulable")), "c", frozenset({"NodeUnschedulable"}))
    evaluator = Evaluator(config)
    case = {"pod": pod("p", requests={"cpu": 99}), "nodes": [node("n")]}
    assert ask(evaluator, **case)["feasible"] == ["n"]
    assert ask(evaluator, **case, config=profile_config())["feasible"] == []


def test_one_case_does_not_know_of_another() -> None:
    evaluator = Evaluator()
    full = {"pod": pod("p", requests={"cpu": 4}), "nodes": [node("n")], "pods": [pod("r", "n", requests={"cpu": 1})]}
    assert ask(evaluator, **full)["feasible"] == []
    assert ask(evaluator, **{**full, "pods": []})["feasible"] == ["n"]


def test_plugins_of_users_see_whole_objects() -> None:
    evaluator = Evaluator(plugins={"curious": Curious})
    nodes = [node("n", status={"note": 2})]
    told = ask(evaluator, pod=pod("p", note=1), nodes=nodes, pods=[pod("r", "n", note=3)])
    assert told["filter"]["n"]["reasons"] == ["1 2 [3]"]
    assert evaluator.known_plugins >= {"curious", "NodeName"}


def test_bugs_are_shown_and_stop_nothing() -> None:
    class Buggy(Plugin):
        name = "buggy"

        def concerns(self, template: object) -> bool:
            raise ZeroDivisionError

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            raise ZeroDivisionError

    shown: list[Exception] = []
    evaluator = Evaluator(plugins={"buggy": Buggy}, on_bug=shown.append)
    answer = ask(evaluator, pod=pod("p"), nodes=[node("n")])
    assert "ZeroDivisionError" in answer["error"]
    assert ask(Evaluator(), pod=pod("p"), nodes=[node("n")])["feasible"] == ["n"]


def test_labels_that_nobody_but_the_pending_pod_reads() -> None:
    """Replicas share what is known about them until a selector tells them apart, wherever they wait or run."""
    term = {"topologyKey": HOSTNAME, "labelSelector": selector(**{INDEX: "1"})}
    newcomer = pod("p", affinity=away(term))

    def replica(index: str, **more: Any) -> Json:
        return pod(f"w-{index}", labels={"app": "w", INDEX: index}, **more)

    nodes = [node("a"), node("b"), node("c")]
    evaluator = Evaluator()
    running = [replica("0", on="a"), replica("1", on="b")]
    assert ask(evaluator, pod=newcomer, nodes=nodes, pods=running)["feasible"] == ["a", "c"]
    waiting = [replica("0", nominated="a"), replica("1", nominated="b")]
    assert ask(evaluator, pod=newcomer, nodes=nodes, nominatedPods=waiting)["feasible"] == ["a", "c"]


def test_cases_may_be_dicts_json_and_yaml() -> None:
    case = {"id": 1, "pod": pod("p"), "nodes": [node("n")]}
    evaluator = Evaluator()
    expected = ask(evaluator, **case)
    assert expected["feasible"] == ["n"]
    assert evaluator.verdict(case) == expected
    assert evaluator.verdict(msgspec.json.encode(case)) == expected
    assert evaluator.verdict(msgspec.json.format(msgspec.json.encode(case)).decode()) == expected
    assert evaluator.verdict(yaml.safe_dump(case)) == expected
    assert evaluator.failures == 0


def test_a_verdict_is_about_one_case() -> None:
    evaluator = Evaluator()
    assert evaluator.verdict("")["error"] == "expected one case, got 0"
    assert evaluator.verdict("- {pod: {}}\n- {pod: {}}\n")["error"] == "expected one case, got 2"
    assert "YAML" in evaluator.verdict("pod: {")["error"]
    assert evaluator.failures == 3
