from stowplan import api
from stowplan.cache import Store
from stowplan.plugins.volume_binding.assume_cache import VolumeAssumeCache


def item(version: str = "", **labels: str) -> api.PersistentVolume:
    return api.PersistentVolume(metadata=api.ObjectMeta(name="pv", resource_version=version, labels=labels))


def over(stored: api.PersistentVolume) -> tuple[Store[api.PersistentVolume], VolumeAssumeCache[api.PersistentVolume]]:
    store: Store[api.PersistentVolume] = Store()
    store.put(stored)
    return store, VolumeAssumeCache(store, "persistentvolumes")


def test_assumed_objects_hide_stored_ones_until_restored() -> None:
    stored, assumed = item("1"), item("1", assumed="yes")
    store, overlay = over(stored)
    assert overlay.get("pv") is stored
    assert overlay.assume(assumed) is None
    assert overlay.get("pv") is assumed
    assert overlay.all_latest(store) == [assumed]
    overlay.restore(item("2"))
    assert overlay.get("pv") is assumed
    overlay.restore(item("1"))
    overlay.restore(item("1"))
    assert overlay.get("pv") is stored


def test_a_newer_object_ends_an_assumption_and_a_repeated_one_does_not() -> None:
    store, overlay = over(item("1"))
    assumed = item("1", assumed="yes")
    overlay.assume(assumed)
    store.put(item("1"))
    assert overlay.get("pv") is assumed
    newer = item("2")
    store.put(newer)
    assert overlay.get("pv") is newer
    store.remove("pv")
    assert overlay.get("pv") is None


def test_without_versions_any_other_object_is_newer() -> None:
    store, overlay = over(item())
    assumed = item(assumed="yes")
    overlay.assume(assumed)
    assert overlay.get("pv") is assumed
    newer = item()
    store.put(newer)
    assert overlay.get("pv") is newer


def test_complaints() -> None:
    store, overlay = over(item("1"))
    assert overlay.assume(item("2")) == '"pv" is out of sync (stored: 1, assume: 2)'
    store.remove("pv")
    assert overlay.assume(item("1")) == 'persistentvolumes "pv" not found'


def test_outdated_assumptions_are_forgotten() -> None:
    store, overlay = over(item("1"))
    overlay.assume(item("1", assumed="yes"))
    store.put(item("2"))
    other = api.PersistentVolume(metadata=api.ObjectMeta(name="other"))
    store.put(other)
    overlay.assume(other)
    assert list(overlay._assumed) == ["other"]
