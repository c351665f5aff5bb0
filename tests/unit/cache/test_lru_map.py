from __future__ import annotations

from stowplan.cache.lru_map import LruMap


def filled(*keys: str) -> LruMap[str, int]:
    values: LruMap[str, int] = LruMap(3)
    for number, key in enumerate(keys):
        values.put(key, number)
    return values


def keys(values: LruMap[str, int]) -> str:
    return "".join(key for key in "abcdefgh" if values.peek(key) is not None)


def test_the_entry_used_least_recently_is_dropped() -> None:
    values = filled("a", "b", "c", "d")
    assert keys(values) == "bcd"
    assert values.get("b") == 1
    values.put("e", 9)
    assert keys(values) == "bde"
    assert len(values) == 3


def test_a_value_that_is_put_again_is_used() -> None:
    values = filled("a", "b", "c", "a", "d")
    assert keys(values) == "acd"
    assert values.peek("a") == 3


def test_a_look_is_no_use() -> None:
    values = filled("a", "b", "c")
    assert values.peek("a") == 0
    assert values.oldest() == ("a", 0)
    values.put("d", 9)
    assert values.get("a") is None
    assert values.oldest() == ("b", 1)


def test_a_missing_value_is_made_once() -> None:
    values = filled()
    assert [values.get_or_make("a", iter((5, 6)).__next__) for _ in range(2)] == [5, 5]


def test_whether_a_key_was_used_before_is_known_of_the_latest_keys() -> None:
    values = filled()
    assert [values.used_before(key) for key in "abab"] == [False, False, True, True]
    assert [values.used_before(key) for key in "cda"] == [False] * 3
    assert len(values) == 0


def test_an_empty_map_has_no_oldest_entry() -> None:
    values = filled("a")
    assert values.used_before("a") is False
    assert values.pop("a") == 0
    assert values.pop("a") is None
    assert values.oldest() is None
    values.put("b", 1)
    values.clear()
    assert len(values) == 0
    assert values.used_before("a") is False


def test_keys_come_in_the_order_of_their_use() -> None:
    values = filled("a", "b", "c")
    values.get("a")
    assert list(values) == ["b", "c", "a"]
