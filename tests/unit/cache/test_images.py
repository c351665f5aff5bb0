from stowplan.api import ContainerImage
from stowplan.cache.images import ImageTable


def image(size: int, *names: str) -> ContainerImage:
    return ContainerImage(names=names, size_bytes=size)


def test_who_holds_an_image() -> None:
    table = ImageTable()
    table.replace(0, (), (image(10, "a", "b"),))
    table.replace(3, (), (image(10, "a"),))
    found = table.get("a")
    assert found is not None
    assert found.slots == {0, 3}
    assert sorted(found.slot_array().tolist()) == [0, 3]
    assert table.get("c") is None


def test_the_size_first_reported_stays_until_nobody_holds_the_image() -> None:
    table = ImageTable()
    first, second = (image(10, "a"),), (image(99, "a"),)
    table.replace(0, (), first)
    table.replace(1, (), second)
    found = table.get("a")
    assert found is not None
    assert found.size == 10
    table.replace(0, first, ())
    table.replace(1, second, ())
    assert table.get("a") is None
    table.replace(1, (), second)
    found = table.get("a")
    assert found is not None
    assert found.size == 99


def test_changes_are_new_versions_and_reach_the_array() -> None:
    table = ImageTable()
    images = (image(10, "a"),)
    table.replace(0, (), images)
    version, found = table.version, table.get("a")
    assert found is not None
    assert found.slot_array().tolist() == [0]
    table.replace(0, images, images)
    assert table.version == version
    table.replace(5, (), images)
    assert table.version > version
    assert sorted(found.slot_array().tolist()) == [0, 5]
