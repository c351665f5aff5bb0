"""Answers: the keys, the mode, and the bytes of nodes."""

from __future__ import annotations

import json

import pytest

from stowplan.extender.wire.server_replies import (
    PriorityLines,
    write_bind_result,
    write_filter_result,
    write_host_priorities,
    write_preempt_result,
)


def test_names() -> None:
    written = json.loads(write_filter_result("names", ["a"], {"b": "full"}, {"c": "wrong"}))
    assert written == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {"b": "full"},
        "FailedAndUnresolvableNodes": {"c": "wrong"},
        "Error": "",
    }


def test_nodes_go_out_as_they_are() -> None:
    raw = [b'{"metadata":{"name":"a"}, "odd" : 1e3}', b'{"metadata":{"name":"b"}}']
    written = write_filter_result("nodes", raw, {}, {})
    assert b'"items":[' + b",".join(raw) + b"]" in written
    assert json.loads(written)["NodeNames"] is None


@pytest.mark.parametrize("mode", ["names", "nodes"])
def test_none_pass(mode: str) -> None:
    written = json.loads(write_filter_result(mode, [], {"b": "full"}, {}))  # type: ignore[arg-type]
    assert written["NodeNames"] == ([] if mode == "names" else None)
    assert written["Nodes"] == (None if mode == "names" else {"metadata": {}, "items": []})


def test_an_error_goes_without_nodes() -> None:
    written = json.loads(write_filter_result("names", [], {}, {}, 'it "broke"'))
    assert written["Error"] == 'it "broke"'
    assert written["NodeNames"] is None


def test_lower_case() -> None:
    written = json.loads(write_filter_result("names", ["a"], {}, {}, lower_case=True))
    assert set(written) == {"nodes", "nodenames", "failedNodes", "failedAndUnresolvableNodes", "error"}
    assert json.loads(write_bind_result("x", lower_case=True)) == {"error": "x"}
    assert json.loads(write_host_priorities([("a", 3)], lower_case=True)) == [{"host": "a", "score": 3}]
    evictions = json.loads(write_preempt_result({"n": (["u"], 1)}, lower_case=True))
    assert evictions == {"nodeNameToMetaVictims": {"n": {"pods": [{"uid": "u"}], "numPDBViolations": 1}}}


@pytest.mark.parametrize("lower_case", [False, True])
def test_ready_made_lines_are_the_same(lower_case: bool) -> None:
    lines = PriorityLines(lower_case=lower_case)
    for names in (["a", 'b"'], ["c", "a"], []):
        scores = list(range(len(names)))
        expected = write_host_priorities(zip(names, scores, strict=True), lower_case=lower_case)
        assert lines.write(names, scores) == expected


def test_lines_do_not_pile_up() -> None:
    lines = PriorityLines()
    for number in range(3000):
        lines.write([f"node-{number}"], [5])
    assert len(lines._lines) < 1100


def test_preempt_and_bind() -> None:
    assert json.loads(write_preempt_result({"n": ((), 0)})) == {
        "NodeNameToMetaVictims": {"n": {"Pods": [], "NumPDBViolations": 0}}
    }
    assert json.loads(write_bind_result()) == {"Error": ""}
