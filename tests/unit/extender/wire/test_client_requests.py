"""What the client writes, the server reads; and the reverse, in either spelling."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.extender.wire import client_replies, client_requests, server_replies, server_requests
from stowplan.extender.wire.errors import WireError

names = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=5)
reasons = st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), max_size=3)
POD = b'{"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"containers":[]},"status":{}}'


def node_json(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "spec": {}, "status": {}}).encode()


@given(names)
def test_filter_requests(wanted: list[str]) -> None:
    named = server_requests.read_filter(client_requests.write_filter(POD, node_names=wanted))
    assert (named.names, named.nodes, named.pod.metadata.name) == (wanted, None, "p")
    whole = server_requests.read_filter(client_requests.write_filter(POD, nodes=map(node_json, wanted)))
    assert whole.mode == "nodes"
    assert whole.names == wanted


def test_a_filter_request_to_the_byte() -> None:
    assert (
        client_requests.write_filter(b"{}", node_names=["a", "b"]) == b'{"Pod":{},"Nodes":null,"NodeNames":["a","b"]}'
    )
    expected = b'{"Pod":{},"Nodes":{"metadata":{},"items":[{"x":1}]},"NodeNames":null}'
    assert client_requests.write_filter(b"{}", nodes=[b'{"x":1}']) == expected


def test_bind_requests() -> None:
    body = client_requests.write_bind("p", "ns", "u", "n")
    assert body == b'{"PodName":"p","PodNamespace":"ns","PodUID":"u","Node":"n"}'
    read = server_requests.read_bind(body)
    assert (read.pod_name, read.pod_namespace, read.pod_uid, read.node) == ("p", "ns", "u", "n")


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.tuples(names, st.integers(0, 9)), max_size=3))
def test_preempt_requests(victims: dict[str, tuple[list[str], int]]) -> None:
    read = server_requests.read_preempt(client_requests.write_preempt(POD, victims))
    assert read.names_only
    assert {name: (list(v.uids), v.num_pdb_violations) for name, v in read.victims.items()} == victims


def test_preempt_requests_with_whole_victims() -> None:
    read = server_requests.read_preempt(client_requests.write_preempt_whole(POD, {"n": ([POD, POD], 2)}))
    assert not read.names_only
    assert read.victims["n"].uids == ("u", "u")
    assert read.victims["n"].num_pdb_violations == 2


@given(names, reasons, reasons, st.booleans(), st.booleans())
def test_filter_results(
    passing: list[str], failed: dict[str, str], unresolvable: dict[str, str], whole: bool, lower: bool
) -> None:
    mode = "nodes" if whole else "names"
    given_ = list(map(node_json, passing)) if whole else passing
    body = server_replies.write_filter_result(mode, given_, failed, unresolvable, lower_case=lower)  # type: ignore[arg-type]
    read = client_replies.read_filter_result(body)
    assert (read.nodes if whole else read.node_names) == passing
    assert (read.failed, read.unresolvable, read.error, list(read.problems)) == (failed, unresolvable, "", [])


@given(st.lists(st.tuples(st.text(min_size=1, max_size=5), st.integers(0, 10)), max_size=5), st.booleans())
def test_scores(scores: list[tuple[str, int]], lower: bool) -> None:
    read = client_replies.read_host_priorities(server_replies.write_host_priorities(scores, lower_case=lower))
    assert (read.scores, list(read.problems)) == (scores, [])


@given(st.text(max_size=9), st.booleans())
def test_bind_results(error: str, lower: bool) -> None:
    assert client_replies.read_bind_result(server_replies.write_bind_result(error, lower_case=lower)) == error


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.tuples(names, st.integers(0, 9)), max_size=3), st.booleans())
def test_preempt_results(victims: dict[str, tuple[list[str], int]], lower: bool) -> None:
    read = client_replies.read_preempt_result(server_replies.write_preempt_result(victims, lower_case=lower))
    assert {name: (list(v.uids), v.violations) for name, v in read.items()} == victims


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["NodeNames", "nodes", "items", "Host", "Score", "Error", "Pods", "a"]), inner
        )
    ),
    max_leaves=8,
)


@given(json_values | st.binary(max_size=20))
def test_whatever_comes_it_is_an_answer_or_a_wire_error(value: Any) -> None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    readers: list[Any] = [
        client_replies.read_filter_result,
        client_replies.read_host_priorities,
        client_replies.read_bind_result,
        client_replies.read_preempt_result,
    ]
    for read in readers:
        with suppress(WireError):
            read(body)


@pytest.mark.parametrize("body", [b"[" * 5000, b'{"a":' * 5000, b'{"NodeNames":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_depth(body: bytes) -> None:
    with pytest.raises(WireError):
        client_replies.read_filter_result(body)
    with pytest.raises(WireError):
        client_replies.read_host_priorities(body)
