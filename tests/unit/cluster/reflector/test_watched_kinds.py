import pytest

from stowplan.cluster.reflector import REQUIRED_KINDS, watched_kinds
from stowplan.errors import ConfigError


def test_objects_that_pods_refer_to_are_listed_before_pods() -> None:
    names = [kind.name for kind in watched_kinds(["StorageClass", "Pod", "CSINode"])]
    assert names == ["CSINode", "StorageClass", *REQUIRED_KINDS]


def test_required_kinds_are_always_watched() -> None:
    assert [kind.name for kind in watched_kinds([])] == list(REQUIRED_KINDS)


def test_unknown_kinds_are_rejected() -> None:
    with pytest.raises(ConfigError, match=r"cannot be watched: Bar, Foo$"):
        watched_kinds(["Foo", "Node", "Bar"])
