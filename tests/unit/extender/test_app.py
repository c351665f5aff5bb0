"""Extenders made of plain functions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.extender.handlers.handler_fakes import encode, full, named, reply_json

import stowplan.extender
from stowplan import reject_forever
from stowplan.errors import PluginError
from stowplan.extender import App, Selector
from stowplan.extender.handlers import Handlers
from stowplan.extender.policy import OperatorPolicy


def handlers(app: App) -> Handlers:
    return Handlers(app.members, OperatorPolicy(bare_names=True), binds=True)


def filtered(function: Callable[..., Any]) -> Any:
    app = App()
    assert app.filter(function) is function
    return reply_json(handlers(app).filter(named("a", "b", "c")))


def passing_nodes(pod: Any, nodes: Any) -> Any:
    return [node for node in nodes if node.name != "b"]


def passing_names(pod: Any, nodes: Any) -> Any:
    return {"a", "c", "elsewhere"}


def generator(pod: Any, nodes: Any) -> Any:
    yield from (node.name for node in nodes if node.name != "b")


def by_node(pod: Any, node: Any) -> Any:
    return node.name != "b"


@pytest.mark.parametrize("function", [passing_nodes, passing_names, generator, by_node])
def test_the_nodes_that_pass(function: Callable[..., Any]) -> None:
    answer = filtered(function)
    assert answer["NodeNames"] == ["a", "c"]
    assert answer["FailedNodes"] == {"b": f"not chosen by {function.__name__}"}


def reasons(pod: Any, nodes: Any) -> Any:
    return {"b": "full", "c": reject_forever("wrong"), "elsewhere": "no matter"}


def reason_by_node(pod: Any, node: Any) -> Any:
    return {"b": "full", "c": reject_forever("wrong")}.get(node.name)


@pytest.mark.parametrize("function", [reasons, reason_by_node])
def test_reasons(function: Callable[..., Any]) -> None:
    answer = filtered(function)
    assert answer["NodeNames"] == ["a"]
    assert answer["FailedNodes"] == {"b": "full"}
    assert answer["FailedAndUnresolvableNodes"] == {"c": "wrong"}


@pytest.mark.parametrize(("given", "names"), [(True, ["a", "b", "c"]), (False, []), ("closed", []), ([], [])])
def test_one_answer_for_all(given: Any, names: list[str]) -> None:
    def everything(pod: Any, nodes: Any) -> Any:
        return given

    answer = filtered(everything)
    assert answer["NodeNames"] == names
    if given == "closed":
        assert set(answer["FailedNodes"].values()) == {"closed"}


@pytest.mark.parametrize("given", [None, 7])
def test_nonsense_is_an_error_that_names_the_function(given: Any) -> None:
    def forgetful(pod: Any, nodes: Any) -> Any:
        return given

    assert f"forgetful returned {given}" in filtered(forgetful)["Error"]


def test_a_selector_says_for_which_pods() -> None:
    app = App()

    @app.filter(selector=Selector(namespaces=("other",)))
    def nothing(pod: Any, nodes: Any) -> Any:
        return False

    assert reply_json(handlers(app).filter(named("a")))["NodeNames"] == ["a"]
    assert reply_json(handlers(app).filter(named("a", of=pod("p", namespace="other"))))["NodeNames"] == []


def scores(app: App) -> list[int]:
    answer = reply_json(handlers(app).prioritize(full(node("a"), node("b", labels={"x": "y"}))))
    return [entry["Score"] for entry in answer]


def test_scores_of_every_form() -> None:
    for function in (
        lambda pod, nodes: {"a": 3, "b": 7.4},
        lambda pod, nodes: [3, 7],
        lambda pod, node: 7 if node.labels.get("x") else 3,
    ):
        app = App()
        app.prioritize(function)
        assert scores(app) == [3, 7]


def test_scores_are_weighted_and_cut(caplog: pytest.LogCaptureFixture) -> None:
    app = App()

    @app.prioritize(weight=3)
    def much(pod: Any, nodes: Any) -> Any:
        return [0, 400]

    @app.prioritize
    def little(pod: Any, node: Any) -> Any:
        return 2

    assert scores(app) == [1, 8]
    assert "Scores outside of the range are cut (function=much, range=0..10, lowest=0.0, highest=400.0)" in caplog.text


def test_wrong_scores_count_for_nothing() -> None:
    for given in ("high", [1], None):
        app = App()
        app.prioritize(lambda pod, nodes, given=given: given)
        assert scores(app) == [0, 0]


REQUEST = encode({"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "n1"})


async def later(pod: Any, node_name: str) -> Any:
    return f"{pod.name} not on {node_name}"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda pod, node_name: None, ""),
        (lambda pod, node_name: True, ""),
        (lambda pod, node_name: f"{pod.name} not on {node_name}", "web not on n1"),
        (later, "web not on n1"),
        (lambda pod, node_name: 7, "expected None or an error"),
    ],
)
def test_bind(function: Callable[..., Any], said: str) -> None:
    app = App()
    app.bind(function)
    reply = asyncio.run(handlers(app).answer("bind", REQUEST))
    text = json.loads(reply.body)["Error"]
    assert said in text
    assert bool(said) == bool(text)


def test_preempt() -> None:
    app = App()

    @app.preempt
    def spare(pod: Any, victims: Any) -> Any:
        return {name: pods[:1] for name, pods in victims.items() if name != "n2"}

    victims = {"Pods": [pod("a"), pod("b")], "NumPDBViolations": 0}
    request = encode({"Pod": pod("vip"), "NodeNameToVictims": {"n1": victims, "n2": victims}})
    answer = reply_json(handlers(app).preempt(request))["NodeNameToMetaVictims"]
    assert answer == {"n1": {"Pods": [{"UID": "default/a"}], "NumPDBViolations": 0}}


def test_functions_that_read_pods_need_a_cluster() -> None:
    app = App()
    app.filter(lambda pod, node: not node.pods)
    with pytest.raises(PluginError, match=r"\.pods"):
        handlers(app)


def test_the_modules_own_functions_share_one_app() -> None:
    assert stowplan.extender.filter.__self__ is stowplan.extender.run.__self__  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="nonsense"):
        _ = stowplan.extender.nonsense  # type: ignore[attr-defined]
    assert {"filter", "run", "remaining"} <= set(dir(stowplan.extender))


def test_nothing_to_run() -> None:
    with pytest.raises(PluginError, match="no function is registered"):
        App().run(port=0)
