"""Tables of weakly held values, and what remains of pods that are gone."""

import gc

from tests.builders import World, node, pod

from stowplan.api.names import label_key_errors
from stowplan.api.text_cache import clear_text_caches
from stowplan.cache.interning import WeakTable


class Value:
    pass


def test_entries_without_a_value_are_swept_on_request() -> None:
    table: WeakTable[str, Value] = WeakTable()
    kept = Value()
    table.put("kept", kept)
    table.put("gone", Value())
    table.sweep()
    assert [key for key, _ in table.items()] == ["kept"]
    assert table._entries.keys() == {"kept"}


def test_nothing_in_the_tables_refers_to_a_pod_that_is_gone() -> None:
    world = World([node("n1")])
    for i in range(10):
        world.decide(world.pod(pod(f"p{i}", labels={"app": f"p{i}"})))
    world.decide(world.pod(pod("last")))
    gc.collect()
    world.cluster.free_unused()
    assert len(world.cluster.templates._known._entries) <= 2
    assert len(world.cluster.selection._classes._entries) <= 2


def test_caches_of_texts_are_cleared_on_request() -> None:
    assert not label_key_errors("example.com/a")
    assert label_key_errors.cache_info().currsize > 0
    clear_text_caches()
    assert label_key_errors.cache_info().currsize == 0
