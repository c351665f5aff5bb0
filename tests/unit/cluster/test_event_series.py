from __future__ import annotations

import json

from tests.unit.cluster.proto_json import to_json

from stowplan.cluster import wire
from stowplan.cluster.event_series import FINISH_AFTER_SECONDS, REFRESH_SECONDS, Series, SeriesBook
from stowplan.cluster.wire import MicroTime


class Book:
    """A book of series, and what it wants told to the server."""

    def __init__(self, most: int = 100) -> None:
        self.told: list[tuple[object, int]] = []
        self.book = SeriesBook(lambda series: self.told.append((series.key, series.count)), most)

    def see(self, key: str, now: float, created: bool = True) -> Series:
        series = Series(key, b"/events/e1", b"", now)
        self.book.add(series)
        if created:
            self.book.created(series, now)
        return series


def test_the_second_time_is_told_and_further_ones_are_counted() -> None:
    book = Book()
    series = book.see("a", 0.0)
    assert book.told == []
    assert [book.book.count_again("a", float(now)) for now in range(1, 5)] == [True] * 4
    assert book.told == [("a", 2)]
    assert json.loads(series.patch(MicroTime())) == {
        "series": {"count": 5, "lastObservedTime": "1970-01-01T00:00:04.000000Z"}
    }
    assert to_json(wire.event_body(series.fields()))["series"] == json.loads(series.patch(MicroTime()))["series"]
    assert not book.book.count_again("b", 0.0)


def test_what_is_seen_again_before_the_server_has_it_is_told_then() -> None:
    book = Book()
    series = book.see("a", 0.0, created=False)
    book.book.count_again("a", 1.0)
    book.book.count_again("a", 2.0)
    assert book.told == []
    book.book.created(series, 3.0)
    assert book.told == [("a", 3)]


def test_what_comes_to_an_end_is_told_a_last_time() -> None:
    book = Book()
    book.see("single", 0.0)
    for _ in range(3):
        if not book.book.count_again("series", 1.0):
            book.see("series", 0.0)
    book.told.clear()
    book.book.flush(FINISH_AFTER_SECONDS + 0.5)
    assert (book.told, len(book.book)) == ([], 1)
    book.book.flush(FINISH_AFTER_SECONDS + 1.5)
    assert (book.told, len(book.book)) == ([("series", 3)], 0)
    book.see("series", 400.0)
    book.book.count_again("series", 401.0)
    book.told.clear()
    book.book.flush(401.0 + FINISH_AFTER_SECONDS + 1)
    assert (book.told, len(book.book)) == ([], 0), "the count was told already"


def test_what_goes_on_is_refreshed() -> None:
    book = Book()
    book.see("a", 0.0)
    now = 0.0
    while now < 2 * REFRESH_SECONDS + 2:
        now += FINISH_AFTER_SECONDS / 2
        book.book.count_again("a", now)
        book.book.flush(now)
    counts = [count for _, count in book.told]
    assert counts == [2, 12, 22]


def test_a_forgotten_series_begins_anew() -> None:
    book = Book()
    first = book.see("a", 0.0)
    book.book.forget(first)
    assert not book.book.count_again("a", 1.0)
    book.see("a", 1.0)
    book.book.forget(first)
    assert book.book.count_again("a", 2.0)


def test_the_book_is_bounded() -> None:
    book = Book(most=2)
    for key in "abc":
        book.see(key, 0.0)
    assert [book.book.count_again(key, 1.0) for key in "abc"] == [False, True, True]


def keep(book: Book, *pods: str) -> None:
    book.book.keep_together("batch", dict(zip(pods, pods, strict=True)))


def test_series_of_equal_pods_are_counted_together_once_the_server_has_their_counts() -> None:
    book, pods = Book(), ("a", "b")
    series = [book.see(key, 0.0) for key in pods]
    keep(book, *pods)
    assert book.book.count_together("batch", pods, 1.0) == pods, "the server has no count of them"
    for key in pods:
        book.book.count_again(key, 1.0)
    keep(book, *pods)
    assert [book.book.count_together("batch", pods, float(now)) for now in range(2, 5)] == [[]] * 3
    assert book.book.count_together("other batch", pods, 5.0) == pods
    assert [each.count for each in series] == [2, 2]
    book.book.flush(REFRESH_SECONDS)
    assert [(each.count, each.seen_at) for each in series] == [(5, 4.0)] * 2
    assert book.told == [("a", 2), ("b", 2), ("a", 5), ("b", 5)]


def test_pods_that_leave_or_join_do_not_end_the_common_count_of_the_others() -> None:
    book, pods = Book(), ("a", "b", "c", "d")
    series = [book.see(key, 0.0) for key in pods]
    for key in pods:
        book.book.count_again(key, 1.0)
    keep(book, *pods)
    assert book.book.count_together("batch", pods, 2.0) == []
    assert book.book.count_together("batch", ("b", "d"), 3.0) == [], "two pods have left"
    assert book.book.count_together("batch", ("a", "b", "d"), 4.0) == ["a"], "back, and counted by the caller"
    book.book.count_again("a", 4.0)
    keep(book, "a")
    assert book.book.count_together("batch", ("a", "b", "d"), 5.0) == []
    book.book.flush(7.0)
    assert [(each.count, each.seen_at) for each in series] == [(5, 5.0), (6, 5.0), (3, 2.0), (6, 5.0)]


def test_series_that_join_others_need_a_count_at_the_server() -> None:
    book, pods = Book(), ("a", "b")
    series = [book.see(key, 0.0) for key in pods]
    book.book.count_again("b", 1.0)
    keep(book, "b")
    for now in (2.0, 3.0):
        assert book.book.count_together("batch", pods, now) == ["a"]
        keep(book, "a")
    book.book.flush(4.0)
    assert [each.count for each in series] == [1, 4]


def test_an_event_that_repeats_with_others_while_it_is_created_is_told_then() -> None:
    book, pods = Book(), ("a", "b")
    series = [book.see(key, 0.0, created=False) for key in pods]
    keep(book, *pods)
    assert [book.book.count_together("batch", pods, now) for now in (1.0, 2.0)] == [[], []]
    book.book.created(series[1], 3.0)
    assert book.told == [("b", 3)]


def test_series_that_move_to_another_batch_keep_their_count() -> None:
    book, pods = Book(), ("a", "b")
    series = [book.see(key, 0.0) for key in pods]
    for key in pods:
        book.book.count_again(key, 1.0)
    keep(book, "a")
    book.book.keep_together("later batch", {"b": "b"})
    book.book.count_together("later batch", ("b",), 2.0)
    assert book.book.count_together("batch", pods, 3.0) == ["b"]
    book.book.count_again("b", 3.0)
    keep(book, "b")
    book.book.count_together("batch", pods, 4.0)
    book.book.flush(5.0)
    assert [each.count for each in series] == [4, 5]
