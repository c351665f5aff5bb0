import pytest
from tests.builders import World

from stowplan.cache.device_classes import IMPLICIT_PREFIX, backing_device_class


def put(world: World, name: str, resource: str = "", created: str = "2026-01-01T00:00:00Z") -> None:
    world.put(
        "DeviceClass", metadata={"name": name, "creationTimestamp": created}, spec={"extendedResourceName": resource}
    )


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("example.com/gpu", "newer-a"),
        ("example.com/other", None),
        (f"{IMPLICIT_PREFIX}plain", "plain"),
        (f"{IMPLICIT_PREFIX}missing", None),
        ("cpu", None),
    ],
)
def test_who_serves_a_resource(resource: str, expected: str | None) -> None:
    world = World()
    assert backing_device_class(world.cluster, resource) is None
    put(world, "plain")
    put(world, "older", "example.com/gpu")
    put(world, "newer-b", "example.com/gpu", "2026-02-01T00:00:00Z")
    put(world, "newer-a", "example.com/gpu", "2026-02-01T00:00:00Z")
    found = backing_device_class(world.cluster, resource)
    assert (found and found.metadata.name) == expected
