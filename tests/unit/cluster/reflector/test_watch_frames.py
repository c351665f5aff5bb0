import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan import api
from stowplan.api.kinds import KINDS
from stowplan.cluster.errors import ApiError
from stowplan.cluster.reflector import watch_frames
from stowplan.cluster.reflector.watch_frames import Decoder, FrameSplitter, MalformedReplyError


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "5", "managedFields": [{"x": None}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}


def _list(*items: Any, **meta: str) -> bytes:
    return json.dumps({"kind": "PodList", "metadata": {"resourceVersion": "7", **meta}, "items": items}).encode()


def _frame(type_: str, item: Any) -> bytes:
    return json.dumps({"type": type_, "object": item}).encode()


def _decoder(keep_objects: bool = False) -> Decoder:
    return Decoder(KINDS["Pod"], keep_objects=keep_objects)


def test_a_page_of_a_list() -> None:
    meta, items = _decoder().page(_list(_pod("a", nodeName="n1"), _pod("b"), **{"continue": "more"}))
    assert (meta.resource_version, meta.continue_) == ("7", "more")
    assert [(pod.metadata.name, pod.spec.node_name, whole) for pod, whole in items] == [
        ("a", "n1", None),
        ("b", "", None),
    ]


@pytest.mark.parametrize("items", [b"[]", b"null"])
def test_an_empty_list(items: bytes) -> None:
    body = b'{"metadata":{"resourceVersion":"7"},"items":' + items + b"}"
    assert _decoder().page(body)[1] == []


def test_whole_objects_where_they_are_wanted() -> None:
    pod = _pod("a", hostPID=True)
    assert json.loads(_decoder(keep_objects=True).page(_list(pod))[1][0][1] or "") == pod
    (event,) = _decoder(keep_objects=True).frames(_frame("ADDED", pod))
    assert json.loads(event.item[1] or "") == pod
    assert isinstance(event.item[0], api.Pod)


def test_an_object_that_cannot_be_read_is_told_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    odd = _pod("odd", nodeName={"not": "a name"})
    assert [pod.metadata.name for pod, _ in _decoder().page(_list(_pod("a"), odd, _pod("b")))[1]] == ["a", "b"]
    lines = [_frame("ADDED", odd), _frame("ADDED", _pod("c"))]
    assert [event.item[0].metadata.name for event in _decoder().frames(b"\n".join(lines))] == ["c"]
    expected = (
        "Failed to decode object, ignoring it: $.spec.nodeName: Expected `str`, got `object` (kind=Pod, object=ns/odd)"
    )
    assert caplog.messages == [expected, expected]


def test_nulls_count_as_absent() -> None:
    pod = _pod("a", nodeName=None, containers=None)
    (event,) = _decoder().frames(_frame("MODIFIED", pod))
    assert event.item[0].spec == api.PodSpec()


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"items":[{}]}', b'{"metadata":{"resourceVersion":"1"},"items":{}}']
)
def test_a_malformed_list(body: bytes) -> None:
    with pytest.raises(MalformedReplyError, match="malformed list of pods: "):
        _decoder().page(body)


@pytest.mark.parametrize("keep_objects", [False, True])
def test_an_error_frame_is_an_error_of_the_server(keep_objects: bool) -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}
    events = _decoder(keep_objects).frames(_frame("ADDED", _pod("a")) + b"\n" + _frame("ERROR", status))
    assert next(events).type == "ADDED"
    with pytest.raises(ApiError) as caught:
        next(events)
    assert (caught.value.status, caught.value.reason) == (410, "Expired")


def test_an_error_frame_of_a_kind_without_status() -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "metadata": {}}
    with pytest.raises(ApiError, match="Expired"):
        list(Decoder(KINDS["StorageClass"]).frames(_frame("ERROR", status)))


@pytest.mark.parametrize("line", [b"{", b'{"type":"ADDED"}', b'{"type":"ADDED","object":{"metadata":', b"\xff", b"[1]"])
def test_a_malformed_frame(line: bytes) -> None:
    with pytest.raises(MalformedReplyError, match="malformed frame in the watch of pods: "):
        list(_decoder().frames(line))


def test_a_bookmark_as_the_server_sends_it() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"resourceVersion": "99", "creationTimestamp": None},
        "spec": {"containers": None},
    }
    (event,) = _decoder().frames(_frame("BOOKMARK", pod))
    assert (event.type, event.item[0].metadata.resource_version) == ("BOOKMARK", "99")


@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line)), st.lists(st.integers(0, 200)))
def test_lines_come_out_however_the_stream_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    splitter = FrameSplitter()
    found: list[bytes] = []
    for start, end in pairwise(places):
        found += splitter.feed(stream[start:end]).split(b"\n")
    assert [line for line in found if line] == lines


def test_a_long_line_in_many_pieces() -> None:
    splitter = FrameSplitter()
    for _ in range(2000):
        assert splitter.feed(b"x" * 100) == b""
    assert [len(line) for line in splitter.feed(b"\nab\nc").split()] == [200_000, 2]


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_frames, "MAX_FRAME_BYTES", 1000)
    splitter = FrameSplitter()
    splitter.feed(b"x" * 1000)
    with pytest.raises(MalformedReplyError, match="longer than"):
        splitter.feed(b"x")


def test_many_frames_are_decoded_as_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    good = [_frame("ADDED", _pod(name)) for name in ("a", "b", "c")]
    (odd, null) = (_frame("ADDED", _pod("odd", nodeName=1)), _frame("MODIFIED", _pod("d", nodeName=None)))
    alone = [event for line in [*good, null] for event in _decoder().frames(line)]
    assert list(_decoder().frames(b"\n".join([*good, odd, b"", null]))) == alone
    assert len(caplog.messages) == 1
