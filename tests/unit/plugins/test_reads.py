"""Kinds that a plugin looks up are watched only if it says so."""

import pytest
from tests.builders import World

from stowplan.framework import EventResource, implements
from stowplan.plugins.registry import REGISTRY

PODS_AND_NODES = {EventResource.Pod, EventResource.AssignedPod, EventResource.UnschedulablePod, EventResource.Node}


REJECTING = [name for name, factory in REGISTRY.items() if implements(factory, "events_to_register")]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", REJECTING)
def test_whoever_hears_of_a_kind_reads_it(name: str) -> None:
    plugin = World().plugin(name)
    heard = {each.event.resource for each in plugin.events_to_register()} - PODS_AND_NODES
    assert {resource.rsplit("/", 1)[-1] for resource in heard} <= set(plugin.reads)


def test_stores_are_those_of_kinds_that_are_read() -> None:
    world = World()
    read = {kind for factory in REGISTRY.values() for kind in getattr(factory, "reads", ())}
    assert {kind.__name__ for kind in world.cluster.stores._by_type} <= read
