import pytest
from tests.unit.cluster.reflector.scripted import listed, play, pod

from stowplan.cluster.errors import ApiError

EXPIRED = ApiError(410, "Expired", "the provided continue parameter is too old")


def test_pages_follow_each_other() -> None:
    client, calls = play([listed(5, pod("a"), pod("b"), more="x"), listed(5, pod("c"))], [], page=2)
    assert calls == [("put", "a", "b"), ("put", "c"), "synced"]
    assert [params for _, params, _ in client.requests[:2]] == [{"limit": "2"}, {"limit": "2", "continue": "x"}]
    assert client.watched_from == ["5"]


def test_a_list_asks_for_the_latest() -> None:
    client, _ = play([listed(5)], [], field_selector="a!=b")
    path, params, _ = client.requests[0]
    assert (path, params) == ("/api/v1/pods", {"limit": "500", "fieldSelector": "a!=b"})


def test_a_snapshot_that_expires_between_pages_is_listed_anew_in_one_piece() -> None:
    lists = [listed(5, pod("a"), pod("b"), more="x"), EXPIRED, listed(9, pod("b"), pod("c"))]
    client, calls = play(lists, [], page=2)
    assert calls == [("put", "a", "b"), ("put", "c"), ("removed", "a"), "synced"]
    assert client.requests[2][1] == {}
    assert client.watched_from == ["9"]
    assert client.times[:3] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("error", [EXPIRED, ApiError(500, "InternalError")])
def test_other_failures_of_a_page_start_over_after_a_wait(error: ApiError) -> None:
    client, calls = play([error, listed(9, pod("b"))], [])
    assert calls == [("put", "b"), "synced"]
    assert client.times[:2] == [0.0, 0.8]
