"""The objects that a reflector has delivered, over lists."""

from __future__ import annotations

from stowplan.api import KINDS
from stowplan.api.meta import ObjectMeta
from stowplan.cluster.reflector.known_objects import KnownObjects


def meta(name: str, version: str = "1", uid: str = "") -> ObjectMeta:
    return ObjectMeta(name=name, namespace="shop", uid=uid or name, resource_version=version)


def known(*objects: ObjectMeta) -> KnownObjects:
    objects_known = KnownObjects(KINDS["Pod"])
    for each in objects:
        objects_known.note(each)
    objects_known.start_list()
    return objects_known


def test_an_object_of_the_same_version_is_confirmed() -> None:
    objects = known(meta("a"))
    assert objects.confirm(meta("a"))
    assert objects.end_list() == []


def test_other_versions_other_uids_and_new_objects_are_not_confirmed() -> None:
    objects = known(meta("a"), meta("b"))
    assert not objects.confirm(meta("a", "2"))
    assert not objects.confirm(meta("b", uid="another"))
    assert not objects.confirm(meta("c"))
    assert not objects.confirm(meta("a", ""))
    assert {each.metadata.name for each in objects.end_list()} == {"a", "b"}


def test_a_confirmed_object_can_be_confirmed_by_the_next_list() -> None:
    objects = known(meta("a"))
    assert objects.confirm(meta("a"))
    objects.end_list()
    objects.start_list()
    assert objects.confirm(meta("a"))
