from __future__ import annotations

from tests.builders import World, member, pod_group

from stowplan import api
from stowplan.api import codec


def test_rules() -> None:
    world = World()
    groups = world.cluster.pod_groups
    assert groups.rules("default", "g") is None
    world.cluster.put(codec.convert(api.PodGroup, pod_group("g", 3, rack="rack", disruptionMode="PodGroup")))
    rules = groups.rules("default", "g")
    assert rules == api.PodGroupRules("group g", 3, "rack", True, 0, True)
    assert groups.rules("default", "g") is rules
    assert groups.rules("other", "g") is None
    world.cluster.put(codec.convert(api.PodGroup, pod_group("g", priority=7)))
    assert groups.rules("default", "g") == api.PodGroupRules("group g", None, "", False, 7, False)


def test_a_member_from_its_creation_to_its_end() -> None:
    world = World()
    groups = world.cluster.pod_groups
    made = world.add_member(member("m"))
    state = groups.of(made)
    assert state is not None
    assert (len(state.all), len(state.unscheduled), state.scheduled_count) == (1, 1, 0)
    groups.assume(made)
    assert (len(state.unscheduled), state.scheduled_count) == (0, 1)
    groups.add(world.pod(member("m", on="n")))
    assert (len(state.assumed), len(state.assigned), state.scheduled_count) == (0, 1, 1)
    groups.forget(made)  # The binding was seen meanwhile.
    assert (len(state.assigned), len(state.unscheduled)) == (1, 0)
    groups.remove(made)
    assert groups.of(made) is None
    groups.remove(made)
