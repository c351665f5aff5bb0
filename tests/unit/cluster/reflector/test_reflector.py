import logging

import pytest
from tests.unit.cluster.reflector.scripted import Step, frame, listed, play, pod

from stowplan.cluster.errors import ApiError, ConnectionFailedError, UntrustedServerError

CUT = ConnectionFailedError("cut")
GONE = ApiError(410, "Expired", "too old resource version")
ERROR_410 = frame("ERROR", {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "old"})


INITIAL_END = "k8s.io/initial-events-end"


# Watching
def test_changes_are_told_in_order_and_in_batches() -> None:
    read = [
        frame("ADDED", pod("b", 6)) + frame("MODIFIED", pod("a", 7)),
        frame("DELETED", pod("a", 8)) + frame("ADDED", pod("a", 9, "a2")) + frame("DELETED", pod("b", 10)),
    ]
    _, calls = play([listed(5, pod("a"))], [[*read]])
    assert calls[2:] == [("put", "b", "a"), ("removed", "a"), ("put", "a:a2"), ("removed", "b")]


def test_a_watch_asks_for_bookmarks_and_an_end() -> None:
    client, _ = play([listed(5)], [], field_selector="a!=b")
    path, params, _ = client.requests[1]
    assert path == "/api/v1/pods"
    assert 300 <= int(params.pop("timeoutSeconds")) <= 600
    assert params == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "fieldSelector": "a!=b",
    }


@pytest.mark.parametrize("end", [[], [CUT], [b'{"type":"ADD'], [b'{"type":"ADD', CUT]], ids=str)
def test_a_watch_that_ends_or_breaks_off_resumes_at_once_behind_the_last_change(end: list[Step]) -> None:
    client, calls = play([listed(5)], [[frame("ADDED", pod("a", 7)), *end], [frame("ADDED", pod("b", 8))]])
    assert client.watched_from == ["5", "7", "8"]
    assert client.times == [0.0] * 4
    assert calls == ["synced", ("put", "a"), ("put", "b")]


def test_a_bookmark_moves_the_place_to_resume_from_and_tells_nothing() -> None:
    client, calls = play([listed(5)], [[frame("BOOKMARK", pod("", 70))]])
    assert client.watched_from == ["5", "70"]
    assert calls == ["synced"]


def test_a_quiet_watch_may_end() -> None:
    client, _ = play([listed(5)], [[400.0], [1.5, CUT]])
    assert client.watched_from == ["5", "5", "5"]
    assert client.times == [0.0, 0.0, 400.0, 401.5]


@pytest.mark.parametrize("watch", [[], [CUT], CUT, ApiError(503), UntrustedServerError("who")], ids=repr)
def test_watches_that_fail_wait_longer_and_longer_and_stay_where_they_are(watch: list[Step] | Exception) -> None:
    client, calls = play([listed(5)], [watch, watch])
    assert client.watched_from == ["5", "5", "5"]
    assert client.times == [0.0, 0.0, 0.8, 2.4]
    assert calls == ["synced"]


def test_the_server_may_ask_for_a_longer_wait() -> None:
    client, _ = play([listed(5)], [ApiError(429, retry_after=20.0)])
    assert client.times == [0.0, 0.0, 20.0]


# Starting over
@pytest.mark.parametrize("gone", [GONE, [ERROR_410], [GONE]], ids=["status", "frame", "later"])
def test_what_vanished_while_nobody_watched_is_told_after_the_relist(gone: list[Step] | Exception) -> None:
    lists = [listed(5, pod("a"), pod("b"), pod("c")), listed(50, pod("b"), pod("c", uid="c2"), pod("d"))]
    client, calls = play(lists, [[frame("ADDED", pod("e", 6))], gone])
    assert calls == [
        ("put", "a", "b", "c"),
        "synced",
        ("put", "e"),
        ("removed", "c"),  # b is as it was.
        ("put", "c:c2", "d"),
        ("removed", "a", "e"),
        "synced",
    ]
    assert client.verbs == ["list", "watch", "watch", "list", "watch"]
    assert client.watched_from == ["5", "6", "50"]
    assert client.times == [0.0] * 5


def test_changes_before_an_error_in_the_same_read_count() -> None:
    client, calls = play([listed(5), listed(9, pod("a"))], [[frame("ADDED", pod("a", 6)) + ERROR_410]])
    assert calls == ["synced", ("put", "a"), ("put", "a"), "synced"]
    assert client.watched_from == ["5", "9"]


def test_a_server_that_forgets_at_once_is_not_asked_again_at_once() -> None:
    client, _ = play([listed(5), listed(6), listed(7)], [GONE, GONE])
    assert client.verbs == ["list", "watch", "list", "watch", "list", "watch"]
    assert client.times == [0.0, 0.0, 0.8, 0.8, 2.4, 2.4]


def test_after_an_outage_in_which_a_list_expired_the_next_one_is_due_at_once() -> None:
    client, _ = play([listed(5), listed(6)], [CUT, CUT, CUT, GONE])
    assert client.verbs == ["list", "watch", "watch", "watch", "watch", "list", "watch"]
    assert client.times == [0.0, 0.0, 0.8, 2.4, 5.6, 6.4, 6.4]  # The list is due 6.4 s after the first one.


def test_a_malformed_frame_is_told_and_the_watch_resumed(caplog: pytest.LogCaptureFixture) -> None:
    bad = frame("ADDED", pod("a", 6)) + b'{"type":"MODIFIED","object":{"kind":"Pod","meta\n'
    client, calls = play([listed(5)], [[bad], [frame("ADDED", pod("b", 7))]])
    assert calls == ["synced", ("put", "a"), ("put", "b")]
    assert client.watched_from == ["5", "6", "7"]
    assert client.times == [0.0, 0.0, 0.8, 0.8]
    assert caplog.messages[0].startswith("Failed to watch: malformed frame in the watch of pods: ")


@pytest.mark.parametrize("bad", [[b"{\n"], ApiError(504, "Timeout", "Too large resource version")], ids=repr)
def test_a_watch_that_fails_from_one_place_again_and_again_starts_over(bad: list[Step] | Exception) -> None:
    client, _ = play([listed(5), listed(6)], [bad, bad, bad])
    assert client.verbs == ["list", "watch", "watch", "watch", "list", "watch"]


# Kinds that cannot be had
def test_a_missing_kind_is_told_once_and_looked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    missing = ApiError(404, "NotFound", "the server could not find the requested resource")
    client, calls = play([missing, missing, missing, listed(5, pod("a"))], [])
    assert calls == ["missing", ("put", "a"), "synced"]
    assert client.times == [0.0, 30.0, 90.0, 210.0, 210.0]
    assert caplog.messages == [
        "The API server does not serve this resource, continuing without it (resource=pods, apiVersion=v1)"
    ]


def test_a_server_without_an_optional_kind_leaves_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "stowplan.cluster"):
        _, calls = play([ApiError(404, "NotFound", "page not found"), listed(5)], [], optional=True)
    assert calls == ["missing", "synced"]
    assert not caplog.messages


def test_a_kind_that_goes_takes_its_objects_along() -> None:
    _, calls = play([listed(5, pod("a"))], [ApiError(404)])
    assert calls == [("put", "a"), "synced", ("removed", "a"), "missing"]


def test_a_kind_that_must_be_there_keeps_its_objects_when_it_is_not_found(caplog: pytest.LogCaptureFixture) -> None:
    missing = ApiError(404, "NotFound", "page not found")
    client, calls = play([missing, listed(5, pod("a")), listed(6, pod("a"))], [missing] * 3, required=True)
    assert calls == [("put", "a"), "synced", "synced"]
    assert client.verbs == ["list", "list", "watch", "watch", "watch", "list", "watch"]
    assert caplog.messages[0] == "Failed to list: NotFound (404): page not found (resource=pods)"


def test_a_forbidden_list_is_told_by_name_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    forbidden = ApiError(403, "Forbidden", 'User "x" cannot list resource "pods"')
    with caplog.at_level(logging.INFO, "stowplan.cluster"):
        client, calls = play([forbidden, forbidden, listed(5)], [])
    assert calls == ["forbidden list", "synced"]
    assert client.times[:3] == [0.0, 0.8, 2.4]
    assert caplog.messages == [
        'Failed to list: Forbidden (403): User "x" cannot list resource "pods" (resource=pods)',
        "Succeeded to list again (resource=pods)",
    ]


def test_a_forbidden_kind_that_discovery_does_not_list_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    """The API server checks permissions first: without them, a group that it does not have looks forbidden."""
    forbidden = ApiError(403, "Forbidden", 'User "x" cannot list resource "resourceclaims"')
    group = b'{"versions": [{"version": "v1beta1"}]}'
    with caplog.at_level(logging.INFO, "stowplan.cluster"):
        client, calls = play([forbidden, group, forbidden, group, listed(5)], [], kind="ResourceClaim")
    assert calls == ["missing", "synced"]
    assert [path for path, _, _ in client.requests][:2] == [
        "/apis/resource.k8s.io/v1/resourceclaims",
        "/apis/resource.k8s.io",
    ]
    assert client.times[:5] == [0.0, 0.0, 30.0, 30.0, 90.0]
    assert caplog.messages == [
        "The API server does not serve this resource, continuing without it (resource=resourceclaims, "
        "apiVersion=resource.k8s.io/v1)"
    ]


@pytest.mark.parametrize("answer", [b'{"versions": [{"version": "v1"}]}', ApiError(403), CUT], ids=str)
def test_a_forbidden_kind_that_discovery_lists_is_forbidden(answer: bytes | Exception) -> None:
    _, calls = play([ApiError(403, "Forbidden"), answer], [], kind="ResourceClaim")
    assert calls == ["forbidden list"]


def test_where_watching_alone_is_forbidden_lists_take_its_place() -> None:
    forbidden = ApiError(403, "Forbidden")
    client, calls = play([listed(5, pod("a")), listed(6, pod("b"))], [forbidden, forbidden])
    assert client.verbs == ["list", "watch", "list", "watch", "list"]
    assert calls[:3] == [("put", "a"), "synced", "forbidden watch"]
    assert calls[3:] == [("put", "b"), ("removed", "a"), "synced", "forbidden watch"]


def test_refused_credentials_are_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    client, calls = play([ApiError(401), listed(5)], [])
    assert calls == ["synced"]
    assert caplog.messages == ["Failed to list: Unauthorized (401) (resource=pods)"]
    assert client.times[:2] == [0.0, 0.8]


# Streamed lists
def end_of_list(version: int) -> bytes:
    return frame("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": {INITIAL_END: "true"}}})


def test_a_streamed_list_is_the_beginning_of_the_watch() -> None:
    read = frame("ADDED", pod("a", 3)) + frame("ADDED", pod("b", 2)) + end_of_list(5) + frame("ADDED", pod("c", 6))
    client, calls = play([], [[read]], streams=True, field_selector="a!=b")
    assert calls == [("put", "a", "b"), "synced", ("put", "c")]
    assert client.verbs == ["watch", "watch"]
    _, params, _ = client.requests[0]
    assert 300 <= int(params.pop("timeoutSeconds")) <= 600
    assert params == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "fieldSelector": "a!=b",
    }
    assert client.watched_from == ["", "6"]
    assert "sendInitialEvents" not in client.requests[1][1]


def test_a_bookmark_within_a_streamed_list_is_not_its_end() -> None:
    read = frame("ADDED", pod("a", 3)) + frame("BOOKMARK", pod("", 4)) + frame("ADDED", pod("b", 2)) + end_of_list(5)
    client, calls = play([], [[read]], streams=True)
    assert calls == [("put", "a", "b"), "synced"]
    assert client.watched_from == ["", "5"]


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_server_that_does_not_stream_is_listed_in_pages(status: int) -> None:
    client, calls = play([listed(5, pod("a"))], [ApiError(status)], streams=True)
    assert client.verbs == ["watch", "list", "watch"]
    assert client.times == [0.0, 0.0, 0.0]
    assert calls == [("put", "a"), "synced"]


@pytest.mark.parametrize("problem", [CUT, ApiError(429), ApiError(503)], ids=repr)
def test_a_streamed_list_that_fails_is_streamed_again(problem: Exception) -> None:
    """Objects that were delivered and are gone when it is complete are removed."""
    cut: list[list[Step] | Exception] = [[frame("ADDED", pod("a", 3)), frame("ADDED", pod("b", 2)), problem]]
    client, calls = play([], [*cut, [frame("ADDED", pod("b", 2)), end_of_list(5)]], streams=True)
    assert client.watched_from == ["", "", "5"]
    assert calls == [("put", "a"), ("put", "b"), ("put", "b"), ("removed", "a"), "synced"]


def test_later_lists_are_not_streamed() -> None:
    client, calls = play([listed(50, pod("a", 3))], [[frame("ADDED", pod("a", 3)), end_of_list(5), GONE]], streams=True)
    assert client.verbs == ["watch", "list", "watch"]
    assert calls == [("put", "a"), "synced", "synced"]
