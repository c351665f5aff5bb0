"""Plugins of users: whatever they do, a pod's attempt may fail, in their name, and nothing else happens."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import inf, nan
from typing import Any, cast

import numpy as np
import pytest
from tests.builders import World, node, pod

from stowplan.errors import PluginBugError
from stowplan.framework import (
    Code,
    CycleState,
    NodeInfo,
    Nodes,
    Plugin,
    Pod,
    QueuedPodInfo,
    Status,
    error,
    reject,
    skip,
    wait,
)
from stowplan.framework.safe_text import shown
from stowplan.runtime import Decision
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin

SCOPES = ("node", "node+pods", "cluster")
NODES = {"few": 3, "many": 20}
"""Few nodes are looked at one by one, many as vectors."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("stowplan").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("stowplan").setLevel(logging.NOTSET)


def plugin(scope: str = "cluster", base: type[Plugin] = Plugin, **members: Any) -> type[Plugin]:
    """A plugin class called "p" with these attributes; functions become methods that take what they like."""
    methods = {name: _method(value) if callable(value) else value for name, value in members.items()}
    return type("Authors", (base,), {"name": "p", "scope": scope, **methods})


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: function(*args)


def world(kind: type[Plugin], nodes: int = 3) -> World:
    """The last node is the emptiest by far."""
    small = [node(f"n{i}") for i in range(nodes - 1)]
    return World([*small, node(f"n{nodes - 1}", cpu=64, memory="128Gi")], plugins={"p": kind})


def decisions(in_: World) -> list[Decision]:
    """At first sight, with a plan in the making, with a plan at hand, and afresh."""
    made = [in_.decide(pod(f"p{i}")) for i in range(4)]
    return [*made, in_.afresh(pod("p"))]


def boom(*_: Any) -> Any:
    raise ValueError("boom")


TEXTS = {
    "pre_filter": 'running PreFilter plugin "p": ',
    "filter": 'running "p" filter plugin: ',
    "filter_nodes": 'running "p" filter plugin: ',
    "pre_score": 'running PreScore plugin "p": ',
    "score": 'running Score plugins: plugin "p" failed with: ',
    "score_nodes": 'running Score plugins: plugin "p" failed with: ',
    "normalize_score": 'running Normalize on Score plugins: plugin "p" failed with: ',
    "normalize_nodes": 'running Normalize on Score plugins: plugin "p" failed with: ',
}
NEEDED = {
    "pre_score": {"score": lambda *_: 1},
    "normalize_score": {"score": lambda *_: 1},
    "normalize_nodes": {"score": lambda *_: 1},
}
"""What a plugin has to do besides, lest the point be not run at all."""


def check_failure(decision: Decision, point: str, text: str) -> None:
    assert decision.node_name == ""
    assert decision.error is not None, decision.message
    assert (decision.error.code, decision.error.plugin) == (Code.Error, "p")
    assert decision.message.startswith(TEXTS[point])
    assert text in decision.message


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("point", TEXTS)
def test_raising(point: str, scope: str, nodes: int) -> None:
    kind = plugin(scope, **{**NEEDED.get(point, {}), point: boom})
    for decision in decisions(world(kind, nodes)):
        check_failure(decision, point, f"{point} raised ValueError: boom")


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("point", ["pre_filter", "filter", "filter_nodes", "pre_score", "score", "score_nodes"])
def test_failures_do_not_last(point: str, scope: str, nodes: int) -> None:
    """What was being remembered when the plugin failed is not half remembered."""
    harmless: dict[str, Any] = {"score": 1, "score_nodes": np.ones(nodes + 1, dtype=np.int64), "filter_nodes": ()}
    broken = [True]

    def sometimes(*args: Any) -> Any:
        if broken:
            raise ValueError("boom")
        answer = harmless.get(point)
        return answer[: len(args[-1])] if isinstance(answer, np.ndarray) else answer

    in_ = world(plugin(scope, **{**NEEDED.get(point, {}), point: sometimes}), nodes)
    for decision in decisions(in_):
        check_failure(decision, point, "boom")
    broken.clear()
    assert {decision.node_name for decision in decisions(in_)} == {f"n{nodes - 1}"}
    in_.put_node(node("bigger", cpu=640, memory="1280Gi"))
    assert {decision.node_name for decision in decisions(in_)} == {"bigger"}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_an_error_about_one_node_fails_the_attempt(scope: str, nodes: int) -> None:
    """It is no rejection: the pod is not put on another node as if nothing had happened."""

    def picky(state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return error("cannot tell") if node.name == "n1" else None

    for decision in decisions(world(plugin(scope, filter=picky), nodes)):
        check_failure(decision, "filter", "cannot tell")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("point", "answer"),
    [
        ("filter", True),
        ("filter", "no"),
        ("filter", 3),
        ("pre_filter", "n0"),
        ("pre_filter", 7),
        ("pre_filter", wait(3)),
        ("pre_score", 1),
        ("pre_score", reject("no")),
        ("filter_nodes", None),
        ("filter_nodes", [True, False, False]),
        ("filter_nodes", [(np.array([True, False]), reject("x"))]),
        ("filter_nodes", [(np.ones(3, dtype=np.bool_), "x")]),
        ("filter_nodes", [(np.ones((3, 2)), reject("x"))]),
        ("filter_nodes", [([[True], [True, False], True], reject("x"))]),
        ("filter_nodes", [(np.ones(3, dtype=np.bool_), reject(5))]),  # type: ignore[arg-type]
        ("filter", reject(5)),  # type: ignore[arg-type]
        ("filter", reject(["no room"])),  # type: ignore[arg-type]
        ("filter", Status(9, "what")),  # type: ignore[arg-type]
        ("pre_filter", reject(ValueError("no"))),  # type: ignore[arg-type]
        ("score", error(None)),  # type: ignore[arg-type]
        ("score", None),
        ("score", "5"),
        ("score", True),
        ("score", nan),
        ("score", inf),
        ("score", [1]),
        ("score", np.float32(nan)),
        ("score", np.True_),
        ("score", 1j),
        ("score", 10**400),
        ("score", Fraction(10**400, 3)),
        ("score", reject("no")),
        ("score", error("no")),
        ("score_nodes", None),
        ("score_nodes", 5),
        ("score_nodes", np.ones(2, dtype=np.int64)),
        ("score_nodes", np.ones((3, 1), dtype=np.int64)),
        ("score_nodes", np.array(["a", "b", "c"])),
        ("score_nodes", np.array([1.0, nan, 2.0])),
        ("score_nodes", np.array([1, None, 3], dtype=object)),
        ("score_nodes", [[1], [1, 2], [3]]),
        ("score_nodes", [1, 2, 10**400]),
        ("score_nodes", reject("no")),
        ("normalize_score", 5),
        ("normalize_score", reject("no")),
        ("normalize_score", error(None)),  # type: ignore[arg-type]
        ("normalize_nodes", error("no")),
        ("normalize_nodes", np.array([1, 2, 10**400], dtype=object)),
        ("normalize_nodes", None),
        ("normalize_nodes", np.ones(2, dtype=np.int64)),
        ("normalize_nodes", np.array([nan, 1.0, 2.0])),
    ],
    ids=lambda value: value if isinstance(value, str) else shown(value).replace("\n", " ")[:40],
)
def test_nonsense(point: str, answer: Any, scope: str) -> None:
    kind = plugin(scope, **{**NEEDED.get(point, {}), point: lambda *_: answer})
    told = decisions(world(kind))
    for decision in told:
        check_failure(decision, point, "")
    assert len({decision.message for decision in told}) == 1


def test_names_that_a_generator_does_not_finish() -> None:
    def names(*_: Any) -> Iterator[str]:
        yield "n0"
        raise ValueError("boom")

    for decision in decisions(world(plugin(pre_filter=names))):
        check_failure(decision, "pre_filter", "pre_filter raised ValueError: boom")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("normalize", ["default", "default-reverse", "min-max", "reverse"])
@pytest.mark.parametrize("number", [10**30, 2**63, 1e300, -(10**30)])
def test_scores_too_large_to_compare(number: float, normalize: str, scope: str) -> None:
    members = {"score": lambda state, pod, node: number * node.slot, "normalize": normalize}
    for decision in decisions(world(plugin(scope, **members))):
        if number < 0 and normalize.startswith("default"):
            assert decision.message == OUT_OF_RANGE.format(number)
        else:
            check_failure(decision, "score", "expected a number of at most 64 bits")


@pytest.mark.parametrize("score_range", [(5.0, 5.0), (1,), ("low", "high")])
@pytest.mark.parametrize("normalize", [None, "min-max"])
def test_ranges_that_cannot_be_mapped_are_found_at_load(score_range: Any, normalize: str | None) -> None:
    with pytest.raises(PluginBugError, match="score_range is "):
        world(plugin(score=lambda *_: 9, score_range=score_range, normalize=normalize))


@pytest.mark.parametrize("normalize", [None, "min-max"])
def test_ranges_too_narrow_for_the_score(normalize: str | None) -> None:
    members = {"score": lambda *_: 9, "score_range": (0.0, 1e-320), "normalize": normalize}
    for decision in decisions(world(plugin(**members))):
        check_failure(decision, "score", "score returned 9, ")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda scores: scores.pop("n1"), "normalize_score left no score for node n1"),
        (lambda scores: scores.clear(), "normalize_score left no score for node n0"),
        (lambda scores: scores.update(n1=None), "normalize_score returned None, expected numbers"),
        (lambda scores: scores.update(n1="5"), "normalize_score returned '5', expected numbers"),
        (lambda scores: scores.update(n1=nan), "normalize_score returned nan, expected numbers"),
        (lambda scores: scores.update(n1=10**400), "normalize_score returned 1000"),
    ],
    ids=["removed", "cleared", "none", "text", "nan", "huge"],
)
@pytest.mark.parametrize("scope", SCOPES)
def test_scores_spoilt_while_they_are_normalised(change: Any, text: str, scope: str) -> None:
    def spoil(state: CycleState, pod: Pod, scores: dict[str, int]) -> None:
        change(scores)

    for decision in decisions(world(plugin(scope, score=lambda *_: 1, normalize_score=spoil))):
        check_failure(decision, "normalize_score", text)


class UnspeakableError(Exception):
    """Neither this nor what it holds can be shown."""

    def __str__(self) -> str:
        raise AttributeError("reason")

    __repr__ = __str__


def raise_(problem: BaseException) -> Callable[..., Any]:
    def method(*_: Any) -> Any:
        raise problem

    return method


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("point", TEXTS)
@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (UnspeakableError(), "raised UnspeakableError: (no text)"),
        (asyncio.CancelledError("enough"), "raised CancelledError: enough"),
        (SystemExit(2), "raised SystemExit: 2"),
        (GeneratorExit(), "raised GeneratorExit: "),
    ],
    ids=["unspeakable", "cancelled", "exit", "generator-exit"],
)
def test_raising_what_is_odd(problem: BaseException, text: str, point: str, scope: str) -> None:
    kind = plugin(scope, **{**NEEDED.get(point, {}), point: raise_(problem)})
    for decision in decisions(world(kind)):
        check_failure(decision, point, f"{point} {text}")


def test_interrupts_get_through() -> None:
    """Without a signal handler of its own, the process cannot distinguish the plugin from the user."""
    for point in ("filter", "score"):
        with pytest.raises(KeyboardInterrupt):
            world(plugin(**{point: raise_(KeyboardInterrupt())})).decide(pod("p"))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    "read",
    [
        lambda pod, node: pod.labels,
        lambda pod, node: pod.template.labels,
        lambda pod, node: node.labels,
        lambda pod, node: node.annotations,
    ],
    ids=["pod", "template", "node", "annotations"],
)
def test_labels_cannot_be_changed(read: Callable[[Pod, NodeInfo], Any], scope: str) -> None:
    def change(state: CycleState, pod: Pod, node: NodeInfo) -> None:
        read(pod, node)["app"] = "mine"

    for decision in decisions(world(plugin(scope, filter=change))):
        check_failure(decision, "filter", "raised TypeError: 'mappingproxy' object does not support item assignment")


@pytest.fixture
def own_signal_handler() -> Iterator[None]:
    """Servers handle SIGINT themselves, so no KeyboardInterrupt comes from the user."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("own_signal_handler")
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("point", TEXTS)
def test_interrupts_in_a_server_are_the_plugins(point: str, scope: str) -> None:
    kind = plugin(scope, **{**NEEDED.get(point, {}), point: raise_(KeyboardInterrupt("mine"))})
    for decision in decisions(world(kind)):
        check_failure(decision, point, f"{point} raised KeyboardInterrupt: mine")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("point", TEXTS)
def test_answers_that_cannot_be_shown(point: str, scope: str) -> None:
    kind = plugin(scope, **{**NEEDED.get(point, {}), point: lambda *_: UnspeakableError()})
    for decision in decisions(world(kind)):
        text = (
            "'UnspeakableError' object is not iterable"
            if point == "filter_nodes"
            else "that cannot be shown), expected"
        )
        check_failure(decision, point, text)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("answer", [boom, raise_(asyncio.CancelledError()), lambda *_: ["unhashable"]])
@pytest.mark.parametrize("point", ["signature", "filter_token"])
def test_hints_on_what_to_remember_may_fail(point: str, answer: Any, scope: str) -> None:
    """Nothing depends on them but how much has to be asked again."""
    kind = plugin(scope, filter=lambda s, p, node: None if node.name == "n0" else reject("no"), **{point: answer})
    assert {decision.node_name for decision in decisions(world(kind))} == {"n0"}


OUT_OF_RANGE = (
    'applying score defaultWeights on Score plugins: plugin "p" returns an invalid score {}, '
    "it should in the range of [0, 100] after normalizing"
)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize(
    ("members", "number"),
    [
        ({"score": lambda *_: 101}, 101),
        ({"score": lambda *_: -1}, -1),
        ({"score": lambda *_: 10**30}, 10**30),
        ({"score": lambda state, pod, node: 500 if node.name == "n1" else 0}, 500),
        ({"score_nodes": lambda state, pod, nodes: np.full(len(nodes), 101)}, 101),
        ({"score": lambda *_: -3, "normalize": "default"}, -3),
        ({"score": lambda *_: 5, "normalize_score": lambda s, p, scores: scores.update(n1=101)}, 101),
        ({"score": lambda *_: 5, "normalize_nodes": lambda s, p, scores, nodes: scores - 9}, -4),
        ({"score": lambda *_: 11, "score_range": (0.0, 10.0)}, 110),
    ],
)
def test_scores_out_of_range(members: dict[str, Any], number: int, nodes: int, scope: str) -> None:
    for decision in decisions(world(plugin(scope, **members), nodes)):
        assert decision.message == OUT_OF_RANGE.format(number)
        assert decision.error is not None
        assert decision.error.plugin == "p"


def slots_of(nodes: Nodes) -> Any:
    return nodes.slots_at(np.arange(len(nodes)))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"score": lambda s, p, node: 10 * node.slot}, [0, 10, 20]),
        ({"score": lambda s, p, node: 10.9 * node.slot}, [0, 10, 21]),
        ({"score": lambda s, p, node: np.int64(10 * node.slot)}, [0, 10, 20]),
        ({"score": lambda s, p, node: np.uint8(node.slot), "score_range": (0, 2)}, [0, 50, 100]),
        ({"score": lambda s, p, node: np.float32(node.slot / 2), "normalize": "min-max"}, [0, 50, 100]),
        ({"score": lambda s, p, node: Fraction(node.slot, 3), "normalize": "reverse"}, [100, 50, 0]),
        ({"score_nodes": lambda s, p, nodes: [np.int8(10 * i) for i in slots_of(nodes)]}, [0, 10, 20]),
        ({"score": lambda s, p, node: node.slot, "normalize": "default"}, [0, 50, 100]),
        ({"score": lambda s, p, node: node.slot, "normalize": "default-reverse"}, [100, 50, 0]),
        ({"score": lambda s, p, node: node.slot - 0.5, "normalize": "min-max"}, [0, 50, 100]),
        ({"score": lambda s, p, node: -7 * node.slot, "normalize": "reverse"}, [0, 50, 100]),
        ({"score": lambda *_: 3.5, "normalize": "min-max"}, [0, 0, 0]),
        ({"score": lambda s, p, node: node.slot, "score_range": (0.0, 4.0)}, [0, 25, 50]),
        ({"score": lambda s, p, node: node.slot - 1.0, "score_range": (-1.0, 1.0)}, [0, 50, 100]),
        ({"score_nodes": lambda s, p, nodes: 10 * slots_of(nodes)}, [0, 10, 20]),
        ({"score_nodes": lambda s, p, nodes: slots_of(nodes) / 2, "normalize": "min-max"}, [0, 50, 100]),
        (
            {
                "score": lambda s, p, node: node.slot,
                "normalize_score": lambda s, p, scores: scores.update({name: 7 * v for name, v in scores.items()}),
            },
            [0, 7, 14],
        ),
        ({"score": lambda s, p, node: node.slot, "normalize_nodes": lambda s, p, v, nodes: v * 8}, [0, 8, 16]),
        (
            {
                "score": lambda s, p, node: node.slot,
                "normalize_score": lambda s, p, scores: scores.update({k: np.float32(v) for k, v in scores.items()}),
            },
            [0, 1, 2],
        ),
        (
            {
                "score": lambda s, p, node: node.slot,
                "normalize_nodes": lambda s, p, v, nodes: np.array([Fraction(9 * i, 2) for i in v], dtype=object),
            },
            [0, 4, 9],
        ),
    ],
)
def test_scales(members: dict[str, Any], expected: list[int], nodes: int, scope: str) -> None:
    """Scores of three open nodes; the others, where there are more, are cordoned."""
    in_ = world(plugin(scope, **members), nodes)
    for i in range(3, nodes):
        in_.put_node(node(f"n{i}", unschedulable=True))
    (found,) = [s for s in in_.diagnosis(pod("p")).scores if s.plugin == "p"]
    assert found.normalized.tolist() == expected
    assert len({(decision.node_name, decision.message) for decision in decisions(in_)}) == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_only_feasible_nodes_are_scored(scope: str) -> None:
    """A score may rely on what the same plugin's filter demands."""
    members = {
        "filter": lambda state, pod, node: None if "colour" in node.labels else reject("colourless"),
        "score": lambda state, pod, node: int(node.labels["colour"]),
    }
    in_ = world(plugin(scope, **members))
    for i in range(2):
        in_.put_node(node(f"n{i}", labels={"colour": str(90 * i)}))
    assert {decision.node_name for decision in decisions(in_)} == {"n1"}


def test_two_hundred_reasons() -> None:
    def refuse(state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return reject(f"reason {node.slot}")

    expected = ", ".join(sorted(f"1 reason {i}" for i in range(200)))
    for scope in SCOPES:
        in_ = world(plugin(scope, filter=refuse), 200)
        for decision in decisions(in_):
            assert decision.message.startswith(f"0/200 nodes are available: {expected}. ")


class Vectors(Plugin):
    """In vector form alone."""

    name = "p"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Iterator[tuple[Any, Status]]:
        even = np.zeros(len(nodes), dtype=np.bool_)
        third = even.copy()
        for position, info in nodes.infos():
            even[position] = info.slot % 2 == 0
            third[position] = info.slot % 3 == 0
        yield even, reject("even")
        yield third, Status(Code.UnschedulableAndUnresolvable, "third")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_vector_form(scope: str, nodes: int) -> None:
    in_ = world(plugin(scope, Vectors), nodes)
    in_.put_node(node("n1", cpu=640, memory="1280Gi"))
    assert {decision.node_name for decision in decisions(in_)} == {"n1"}
    diagnosis = in_.diagnosis(pod("p"))
    both = Status(Code.UnschedulableAndUnresolvable, "even", "third", plugin="p")
    assert diagnosis.status_of(0) == both
    assert diagnosis.status_of(2) == Status(Code.Unschedulable, "even", plugin="p")
    for i in range(nodes):
        if i % 2 and i % 3:
            in_.put_node(node(f"n{i}", unschedulable=True))
    assert len({decision.message for decision in decisions(in_)}) == 1


@pytest.mark.parametrize("scope", SCOPES)
def test_skipped_plugins_say_nothing(scope: str) -> None:
    members = {"pre_filter": lambda *_: skip(), "filter": lambda *_: reject("no"), "pre_score": lambda *_: skip()}
    in_ = world(plugin(scope, score=boom, **members))
    assert {decision.node_name for decision in decisions(in_)} == {"n2"}


def test_pre_enqueue() -> None:
    for answer, code in ((reject("not yet"), Code.Unschedulable), (True, Code.Error)):
        in_ = world(plugin(pre_enqueue=lambda *_, answer=answer: answer))
        status = in_.profile.pre_enqueue(in_.pod(pod("p")))
        assert status is not None
        assert (status.code, status.plugin) == (code, "p")
    in_ = world(plugin(pre_enqueue=boom))
    status = in_.profile.pre_enqueue(in_.pod(pod("p")))
    assert status is not None
    assert re.fullmatch(r"pre_enqueue raised ValueError: boom \(\S+/test_plugin.py:\d+\)", status.message)


@pytest.mark.parametrize("point", ["add_pod", "remove_pod"])
@pytest.mark.parametrize("answer", [boom, lambda *_: reject("no"), lambda *_: 5], ids=["raises", "rejects", "nonsense"])
def test_extensions_must_succeed(point: str, answer: Any) -> None:
    """Nominated pods are added to their nodes, and victims are removed."""
    in_ = world(plugin(pre_filter=lambda *_: None, filter=lambda *_: None, **{point: answer}), 1)
    in_.put_node(node("n0"))
    if point == "add_pod":
        in_.nominate(pod("rival", nominated="n0", priority=5))
        told = decisions(in_)
    else:
        in_.add_pod(pod("victim", "n0", requests={"cpu": 4}, priority=-1))
        told = [in_.decide(pod("p", requests={"cpu": 4})), in_.afresh(pod("p", requests={"cpu": 4}))]
    word = "AddPod" if point == "add_pod" else "RemovePod"
    for decision in told:
        assert decision.message.startswith(f'running {word} on PreFilter plugin "p": ')


def test_state_that_was_never_written() -> None:
    """A plugin that reads what it did not write raises, like any other mistake."""
    in_ = world(plugin(filter=lambda state, pod, node: state.read("missing")))
    for decision in decisions(in_):
        check_failure(decision, "filter", "filter raised StateNotFoundError: not found")


def test_failures_are_logged_with_the_plugin(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("stowplan").setLevel(logging.WARNING)
    world(plugin(filter=boom), 1).decide(pod("p"))
    expected = r"Plugin failed: filter raised ValueError: boom \(\S+/test_plugin.py:\d+\) \(plugin=p\)"
    assert any(re.fullmatch(expected, message) for message in caplog.messages)


class Sorts(Plugin):
    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        return a.pod.name < b.pod.name


class SortsByKey(Sorts):
    def sort_key(self, item: QueuedPodInfo) -> tuple[Any, ...]:
        return (item.pod.name,)


class SortsOtherwise(SortsByKey):
    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        return a.pod.name > b.pod.name


class SortsAlike(SortsByKey): ...


@pytest.mark.parametrize(
    ("cls", "keyed"), [(Plugin, False), (Sorts, False), (SortsByKey, True), (SortsOtherwise, False), (SortsAlike, True)]
)
def test_a_key_counts_only_beside_its_less(cls: type[Plugin], keyed: bool) -> None:
    plugin = OutOfTreePlugin(cls(None, cast(Any, None)), lambda: None)
    key = plugin.current_sort_key()
    assert (key is not None) is keyed
    assert not plugin.keeps_equal_pods_together()
    if key is not None:
        assert key(QueuedPodInfo(World().pod(pod("p0")), 1.0)) == (0, "p0")
