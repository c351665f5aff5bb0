"""Bodies with what Go 1.26 made of them, recorded from its encoding/json and kube-scheduler's types."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.testing.extender import go_json

FILTER, SCORES, BIND, PREEMPT = (
    (go_json.FILTER_RESULT, "v1.ExtenderFilterResult"),
    (go_json.HOST_PRIORITIES, "v1.HostPriorityList"),
    (go_json.BINDING_RESULT, "v1.ExtenderBindingResult"),
    (go_json.PREEMPTION_RESULT, "v1.ExtenderPreemptionResult"),
)


@pytest.mark.parametrize(
    ("kind", "body", "value"),
    [
        (BIND, b'{"Error":"x"}', {"Error": "x"}),
        (BIND, b'{"error":"x"}', {"Error": "x"}),
        (BIND, b'{"Error":"x","eRROR":"y"}', {"Error": "y"}),
        (BIND, b'{"error":"x"} junk', {"Error": "x"}),
        (BIND, b"null", {"Error": ""}),
        (BIND, b'{"Error":null,"err_or":"x"}', {"Error": ""}),
        (BIND, b'{"Error":"\xff"}', {"Error": "\ufffd"}),
        (SCORES, b"null", None),
        (SCORES, b'[{"host":"a","SCORE":7},null]', [{"Host": "a", "Score": 7}, {"Host": "", "Score": 0}]),
        (PREEMPT, b'{"NodeNameToMetaVictims":{"n":null}}', {"NodeNameToMetaVictims": {"n": None}}),
        (
            PREEMPT,
            b'{"nodenametometavictims":{"n":{"pods":[null,{"uid":"u"}]}}}',
            {"NodeNameToMetaVictims": {"n": {"Pods": [None, {"UID": "u"}], "NumPDBViolations": 0}}},
        ),
    ],
)
def test_what_it_takes(kind: tuple[go_json.Reader, str], body: bytes, value: Any) -> None:
    assert go_json.read(kind[0], body, kind[1]) == value


def test_nodes_by_name() -> None:
    result = go_json.read(*_with(FILTER, b'{"nodes":{"Items":[{"Metadata":{"Name":"n"},"spec":5}]},"NodeNames":[]}'))
    assert result["Nodes"]["items"] == [{"metadata": {"name": "n"}}]
    assert result["NodeNames"] == []
    assert result["FailedNodes"] is None


def _with(kind: tuple[go_json.Reader, str], body: bytes) -> tuple[go_json.Reader, bytes, str]:
    return kind[0], body, kind[1]


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        (BIND, b"", "EOF"),
        (BIND, b" \n", "EOF"),
        (BIND, b"{", "unexpected EOF"),
        (BIND, b'{"Error":"x', "unexpected EOF"),
        (BIND, b"NaN", "invalid character 'N' looking for beginning of value"),
        (BIND, b"[]", "json: cannot unmarshal array into Go value of type v1.ExtenderBindingResult"),
        (
            SCORES,
            b'[{"Host":"a","Score":7.0}]',
            "json: cannot unmarshal number 7.0 into Go struct field HostPriority.Score of type int64",
        ),
        (
            SCORES,
            b'[{"Host":"a","Score":1e2}]',
            "json: cannot unmarshal number 1e2 into Go struct field HostPriority.Score of type int64",
        ),
        (
            SCORES,
            b'[{"Score":1180591620717411303424}]',
            "json: cannot unmarshal number 1180591620717411303424 into "
            "Go struct field HostPriority.Score of type int64",
        ),
        (
            SCORES,
            b'[{"Host":"a","Score":"7"}]',
            "json: cannot unmarshal string into Go struct field HostPriority.Score of type int64",
        ),
        (SCORES, b'{"Host":"a"}', "json: cannot unmarshal object into Go value of type v1.HostPriorityList"),
        (
            FILTER,
            b'{"Nodes":[]}',
            "json: cannot unmarshal array into Go struct field ExtenderFilterResult.Nodes of type v1.NodeList",
        ),
        (
            FILTER,
            b'{"FailedNodes":{"a":1}}',
            "json: cannot unmarshal number into Go struct field ExtenderFilterResult.FailedNodes of type string",
        ),
        (
            PREEMPT,
            b'{"NodeNameToMetaVictims":{"n":{"NumPDBViolations":1.0}}}',
            "json: cannot unmarshal number 1.0 into Go struct field "
            "MetaVictims.NodeNameToMetaVictims.NumPDBViolations of type int64",
        ),
    ],
)
def test_what_it_refuses(kind: tuple[go_json.Reader, str], body: bytes, told: str) -> None:
    with pytest.raises(go_json.GoError) as caught:
        go_json.read(kind[0], body, kind[1])
    assert str(caught.value) == told
