"""Rules and faults."""

import json

import pytest

from stowplan.testing.faults import Delay, Drop, Reply, Rule, RuleBook, is_watch

BINDING = "/api/v1/namespaces/default/pods/a/binding"
WATCH = "/api/v1/pods?allowWatchBookmarks=true&resourceVersion=12&watch=true"
LIST = "/api/v1/pods?limit=500&resourceVersion=0"


@pytest.mark.parametrize(
    ("rule", "method", "path", "fits"),
    [
        (Rule(Drop()), "GET", LIST, True),
        (Rule(Drop(), method="POST"), "POST", BINDING, True),
        (Rule(Drop(), method="POST"), "GET", BINDING, False),
        (Rule(Drop(), path="/binding$"), "POST", BINDING, True),
        (Rule(Drop(), path="/binding$"), "POST", LIST, False),
        (Rule(Drop(), watch=True), "GET", WATCH, True),
        (Rule(Drop(), watch=True), "GET", LIST, False),
        (Rule(Drop(), watch=False), "GET", WATCH, False),
        (Rule(Drop(), watch=True, path="resourceVersion=[1-9]"), "GET", WATCH, True),
        (Rule(Drop(), times=0), "GET", LIST, False),
    ],
)
def test_which_requests_a_rule_fits(rule: Rule, method: str, path: str, fits: bool) -> None:
    assert rule.fits(method, path) is fits


@pytest.mark.parametrize(
    ("path", "watch"),
    [(WATCH, True), ("/x?watch=1", True), (LIST, False), ("/x?watch=false", False), ("/watch=1", False)],
)
def test_what_is_a_watch(path: str, watch: bool) -> None:
    assert is_watch(path) is watch


def test_a_rule_is_spent_after_its_times() -> None:
    rule = Rule(Drop(), times=2)
    book = RuleBook([rule])
    assert [book.fault_for("GET", LIST) for _ in range(3)] == [Drop(), Drop(), None]
    assert rule.hits == 2


def test_the_first_rule_that_fits_decides() -> None:
    first, second = Rule(Drop(), method="POST"), Rule(Delay(1.0))
    book = RuleBook([first])
    book.add(second)
    assert book.fault_for("POST", BINDING) == Drop()
    assert book.fault_for("GET", LIST) == Delay(1.0)
    book.remove(first)
    assert book.fault_for("POST", BINDING) == Delay(1.0)
    assert (first.hits, second.hits) == (1, 2)


def test_an_equal_rule_is_not_the_same_rule() -> None:
    one, other = Rule(Drop(), times=1), Rule(Drop(), times=1)
    book = RuleBook([one, other])
    book.remove(other)
    assert book.fault_for("GET", LIST) == Drop()
    assert (one.hits, other.hits) == (1, 0)


def test_probability_is_a_share_and_repeats_with_the_seed() -> None:
    def hits(seed: int) -> list[bool]:
        book = RuleBook([Rule(Drop(), probability=0.25)], seed)
        return [book.fault_for("GET", LIST) is not None for _ in range(1000)]

    assert 200 < sum(hits(1)) < 300
    assert hits(1) == hits(1) != hits(2)


def parse(response: bytes) -> tuple[str, dict[str, str], dict[str, object]]:
    head, _, body = response.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ") for line in lines)
    assert int(headers["Content-Length"]) == len(body)
    return first, headers, json.loads(body)


def test_a_reply_is_a_status() -> None:
    first, headers, body = parse(Reply(429, "TooManyRequests", "slow down", retry_after=2).render())
    assert first.startswith("HTTP/1.1 429 ")
    assert headers["Retry-After"] == "2"
    assert (body["kind"], body["code"], body["reason"], body["message"]) == (
        "Status",
        429,
        "TooManyRequests",
        "slow down",
    )


def test_a_reply_in_a_watch_is_an_event() -> None:
    first, headers, body = parse(Reply(410, "Expired", in_watch=True).render())
    assert first == "HTTP/1.1 200 OK"
    assert "Retry-After" not in headers
    assert body["type"] == "ERROR"
    assert body["object"]["code"] == 410  # type: ignore[index]
