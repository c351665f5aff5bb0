"""Pods that all filters let pass: extenders, errors of plugins, and pods that are not tried."""

from __future__ import annotations

from typing import Any

from tests.builders import node, pod
from tests.builders.engine_host import Host
from tests.extenders import FakeExtender

from stowplan.framework import Explanation, Plugin, reject
from stowplan.framework.extender import CallExtender, Filtered
from stowplan.framework.instructions import Failure
from stowplan.insight.insight import Insight
from stowplan.insight.slices import run


def explained(host: Host, name: str = "web") -> Explanation:
    insight = Insight(host.engine, host.clock)
    return run(insight.explain(insight.find(name).pod))


def facts(answer: Explanation) -> tuple[str, str]:
    assert answer.because is not None
    return answer.verdict, answer.because.id


def attempted(outcome: Any) -> Host:
    """A pod whose attempt ends with this answer of an extender."""
    extender = FakeExtender("shop-quota", filter=lambda pod, nodes: outcome)
    host = Host(node("a"), node("b"), pod("web"), extenders=(extender,))
    host.schedule(CallExtender)
    host.do(host.next_open(CallExtender), outcome)
    host.settle(CallExtender)
    return host


def test_an_extender_refuses_the_nodes_that_are_left() -> None:
    answer = explained(attempted(Filtered((), {"a": "over quota", "b": "over quota"})))
    assert facts(answer) == ("not-now", "extender.refused")
    assert answer.sentence == "In the last attempt extender shop-quota refused the nodes that were left: 2 over quota."
    assert answer.more == ("All filters let it pass: fits on 2 nodes now.",)


def test_an_extender_fails() -> None:
    answer = explained(attempted(Failure("shop-quota: no answer in 5 s")))
    assert facts(answer) == ("not-now", "extender.failed")
    assert answer.sentence == (
        "Extender shop-quota failed: shop-quota: no answer in 5 s; pods wait until it answers (ignorable is false)."
    )


class BrokenOnce(Plugin):
    name = "BrokenOnce"
    broken = True

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        raise RuntimeError("no such quota")


def test_a_plugin_failed_after_the_filters() -> None:
    host = Host(node("a"), pod("web"), plugins={"BrokenOnce": BrokenOnce})
    host.schedule()
    answer = explained(host)
    assert facts(answer) == ("not-now", "error")
    assert answer.sentence.startswith("The last attempt failed: ")
    assert "no such quota" in answer.sentence


class Picky(Plugin):
    name = "Picky"

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return reject("node(s) were not on the list")


def test_a_plugin_of_other_authors_is_quoted() -> None:
    host = Host(node("a"), node("b"), pod("web"), plugins={"Picky": Picky})
    host.schedule()
    answer = explained(host)
    assert facts(answer) == ("not-now", "plugin")
    assert answer.sentence == "Picky rejects all 2 nodes: the node was not on the list."


def test_there_are_no_nodes() -> None:
    host = Host(pod("web"))
    host.schedule()
    answer = explained(host)
    assert facts(answer) == ("not-now", "no-nodes")
    assert answer.sentence == "There are no nodes."


def test_a_pod_that_was_not_tried_yet_fits() -> None:
    host = Host(node("a"), pod("web"))
    host.deliver()
    answer = explained(host)
    assert (answer.verdict, answer.sentence) == ("fits", "Fits on 1 node now.")
    assert answer.queue is not None
    assert answer.queue.text == "next to be tried"
