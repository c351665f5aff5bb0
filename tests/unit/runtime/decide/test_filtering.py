"""PreFilter: who is asked, what is merged. Filter: nominated pods count, and do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.builders import HOSTNAME, Json, World, away, near, node, pod, term

from stowplan.framework import (
    CycleState,
    NodeInfo,
    Nodes,
    Plugin,
    Pod,
    Status,
    error,
    pending,
    reject,
    reject_forever,
    skip,
    wait,
)

Answer = Status | Iterable[str] | None


def answering(label: str, answer: Answer, asked: list[str] | None = None) -> type[Plugin]:
    class Answering(Plugin):
        name = label

        def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Answer:
            if asked is not None:
                asked.append(label)
            return answer

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return reject(f"filtered by {label}") if node.name == "a" else None

    return Answering


def message(*answers: Answer, asked: list[str] | None = None) -> str:
    """What becomes of a pod on nodes a, b and c, where plugins p0, p1, ... answer in PreFilter."""
    plugins = {f"p{i}": answering(f"p{i}", answer, asked) for i, answer in enumerate(answers)}
    world = World([node(name) for name in "abc"], plugins=plugins)
    decisions = [*(world.decide(pod(f"p{i}")) for i in range(3)), world.afresh(pod("p"))]
    told = {(decision.node_name in ("b", "c"), decision.message) for decision in decisions}
    assert len(told) == 1
    fits, text = told.pop()
    return "fits" if fits else text.removeprefix("0/3 nodes are available: ")


POST = " no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((None,), "fits"),
        ((["b"], ["b", "c"]), "fits"),
        ((["c", "gone"],), "fits"),
        (([],), "node(s) didn't satisfy plugin p0." + POST),
        ((["b"], ["c"]), "node(s) didn't satisfy plugin(s) [p0 p1] simultaneously." + POST),
        ((["b"], None, ["b", "c"], ["c"]), "node(s) didn't satisfy plugin(s) [p0 p2 p3] simultaneously." + POST),
        ((["gone"],), "3 node(s) didn't satisfy plugin(s) [p0]." + POST),
        ((skip(), skip()), "fits"),
        ((reject_forever("never"), reject("not now")), "never." + POST),
        ((["b"], reject_forever("never")), "never." + POST),
        (
            (wait(1),),
            'running PreFilter plugin "p0": '
            "pre_filter returned wait(), which only permit may return: return reject(reason) instead",
        ),
        ((pending("later"),), 'running PreFilter plugin "p0": later'),
        ((error("broken"),), 'running PreFilter plugin "p0": broken'),
        ((reject("not now"), error("broken")), 'running PreFilter plugin "p1": broken'),
    ],
)
def test_answers_are_merged(answers: tuple[Answer, ...], expected: str) -> None:
    assert message(*answers) == expected


def test_a_rejection_that_evictions_may_cure_lets_the_others_speak() -> None:
    asked: list[str] = []
    text = message(reject("first"), None, reject("last"), asked=asked)
    assert text.startswith("last. ")
    assert asked[:3] == ["p0", "p1", "p2"]


def test_a_rejection_for_good_does_not() -> None:
    asked: list[str] = []
    message(None, reject_forever("never"), None, asked=asked)
    assert set(asked) == {"p0", "p1"}


def test_nodes_that_were_named_are_filtered_and_the_others_told_who_left_them_out() -> None:
    assert message(["a"], None) == (
        "1 filtered by p0, 2 node(s) didn't satisfy plugin(s) [p0]. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def rival(name: str, on: str = "n", **more: Any) -> Json:
    return pod(name, nominated=on, **more)


@pytest.mark.parametrize(
    ("rivals", "newcomer", "fits"),
    [
        ([rival("r", priority=5, requests={"cpu": 3})], pod("p", requests={"cpu": 2}), False),
        ([rival("r", priority=0, requests={"cpu": 3})], pod("p", requests={"cpu": 2}), False),
        ([rival("r", priority=-1, requests={"cpu": 3})], pod("p", requests={"cpu": 2}), True),
        ([rival("r", priority=5, requests={"cpu": 3})], pod("p", requests={"cpu": 1}), True),
        ([rival("r", on="m", priority=5, requests={"cpu": 3})], pod("p", requests={"cpu": 2}), True),
        ([rival(f"r{i}", priority=5, requests={"cpu": 1}) for i in range(3)], pod("p", requests={"cpu": 2}), False),
        ([rival("p", priority=5, requests={"cpu": 3})], pod("p", requests={"cpu": 2}), True),
        # Those who are nominated may never come: what only they would satisfy does not count ...
        ([rival("r", labels={"app": "a"})], pod("p", affinity=near(term(HOSTNAME))), False),
        # ... but what they would stand against does.
        ([rival("r", labels={"app": "a"})], pod("p", affinity=away(term(HOSTNAME))), False),
        # Where no pod that runs has such a term, nobody looks for it among those that are nominated.
        ([rival("r", affinity=away(term(HOSTNAME)))], pod("p", labels={"app": "a"}), True),
        ([rival("r", affinity=away(term(HOSTNAME)))], pod("p", labels={"app": "b"}), True),
    ],
)
@pytest.mark.parametrize("others", [0, 30])
def test_nominated_pods(rivals: list[Json], newcomer: Json, fits: bool, others: int) -> None:
    """Alone, and among nodes that are cordoned."""
    world = World([node("n"), *(node(f"o{i}", unschedulable=True) for i in range(others))])
    for item in rivals:
        world.nominate(item)
    for _ in range(3):
        assert world.decide(newcomer).node_name == ("n" if fits else "")
    assert world.afresh(newcomer).node_name == ("n" if fits else "")


def test_a_pod_goes_where_it_is_nominated_if_it_can() -> None:
    world = World([node("small"), node("big", cpu=64)])
    assert world.decide(pod("p")).node_name == "big"
    assert world.decide(pod("p", nominated="small")).node_name == "small"
    assert world.decide(pod("p", nominated="gone")).node_name == "big"
    assert world.decide(pod("p", nominated="small", requests={"cpu": 5})).node_name == "big"


def test_an_error_about_one_node_fails_the_attempt() -> None:
    """Even if it is one of the tree's own plugins that cannot tell, here about a volume whose id makes no sense."""
    world = World([node("a"), node("b", cpu=64)])
    claim = {"name": "x", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    world.put("PersistentVolumeClaim", **claim, spec={"volumeName": "pv"})
    world.put("PersistentVolume", name="pv", spec={"awsElasticBlockStore": {"volumeID": "aws://nonsense"}})
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    world.put("CSINode", name="a", annotations=migrated)
    item = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}])
    for decision in (*(world.decide(item) for _ in range(3)), world.afresh(item)):
        assert decision.node_name == ""
        assert decision.message.startswith('running "VolumeBinding" filter plugin: could not translate pv: ')
