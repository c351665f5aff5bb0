"""What one half of the protocol writes, the other reads."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stowplan.extender.wire import client_replies, client_requests, server_replies, server_requests

object_names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]+)?", fullmatch=True)
"""As Kubernetes names objects."""
names = st.lists(st.text(max_size=12), max_size=6, unique=True)
reasons = st.dictionaries(st.text(max_size=12), st.text(min_size=1, max_size=20), max_size=4)
victims = st.dictionaries(
    st.text(min_size=1, max_size=12),
    st.tuples(st.lists(st.text(min_size=1, max_size=8), max_size=4).map(tuple), st.integers(0, 9)),
    max_size=4,
)
POD = b'{"metadata":{"name":"p","namespace":"ns","uid":"u"}}'


def encoded(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}}, separators=(",", ":")).encode()


@given(names)
def test_filter_requests(listed: list[str]) -> None:
    by_name = server_requests.read_filter(client_requests.write_filter(POD, node_names=listed))
    assert (by_name.pod_bytes, by_name.names, by_name.nodes) == (POD, listed, None)
    in_full = server_requests.read_filter(client_requests.write_filter(POD, nodes=map(encoded, listed)))
    assert (in_full.pod_bytes, in_full.names) == (POD, listed)


@given(victims)
def test_preempt_requests(offered: dict[str, Any]) -> None:
    read = server_requests.read_preempt(client_requests.write_preempt(POD, offered))
    assert read.names_only
    assert {node: (v.uids, v.num_pdb_violations) for node, v in read.victims.items()} == offered
    whole = {
        node: ([b'{"metadata":{"uid":%b}}' % json.dumps(uid).encode() for uid in uids], count)
        for node, (uids, count) in offered.items()
    }
    read = server_requests.read_preempt(client_requests.write_preempt_whole(POD, whole))
    assert {node: (v.uids, v.num_pdb_violations) for node, v in read.victims.items()} == offered


@given(object_names, st.just("") | object_names, st.text(), object_names)
def test_bind_requests(name: str, namespace: str, uid: str, node: str) -> None:
    read = server_requests.read_bind(client_requests.write_bind(name, namespace, uid, node))
    assert (read.pod_name, read.pod_namespace, read.pod_uid, read.node) == (name, namespace, uid, node)


@given(names, reasons, reasons, st.booleans())
def test_filter_replies(passing: list[str], failed: dict[str, str], hopeless: dict[str, str], lower_case: bool) -> None:
    written = server_replies.write_filter_result("names", passing, failed, hopeless, lower_case=lower_case)
    read = client_replies.read_filter_result(written)
    assert read.node_names is not None
    assert (list(read.node_names), dict(read.failed), dict(read.unresolvable)) == (passing, failed, hopeless)
    nodes = server_replies.write_filter_result(
        "nodes", [encoded(name) for name in passing], {}, {}, lower_case=lower_case
    )
    read = client_replies.read_filter_result(nodes)
    assert read.nodes is not None
    assert list(read.nodes) == passing


@given(st.dictionaries(st.text(max_size=12), st.integers(0, 10), max_size=6), st.booleans())
def test_prioritize_replies(scores: dict[str, int], lower_case: bool) -> None:
    written = server_replies.write_host_priorities(scores.items(), lower_case=lower_case)
    assert dict(client_replies.read_host_priorities(written).scores) == scores


@given(victims, st.text(), st.booleans())
def test_other_replies(kept: dict[str, Any], error: str, lower_case: bool) -> None:
    assert client_replies.read_bind_result(server_replies.write_bind_result(error, lower_case=lower_case)) == error
    read = client_replies.read_preempt_result(server_replies.write_preempt_result(kept, lower_case=lower_case))
    assert {node: (tuple(v.uids), v.violations) for node, v in read.items()} == kept
