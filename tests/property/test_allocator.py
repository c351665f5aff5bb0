"""What is remembered about devices never changes what is found, nor does looking ahead."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.builders import World
from tests.property.device_cases import DeviceCases, Json

from stowplan import api
from stowplan.api import codec
from stowplan.evaluation.case import Case
from stowplan.framework import CycleState, Pod, Status
from stowplan.plugins.dynamic_resources.allocation import AllocationFailure, Allocator, Solution, search
from stowplan.plugins.dynamic_resources.allocation import allocator as allocator_module
from stowplan.plugins.dynamic_resources.allocation.first_fit import first_fit
from stowplan.plugins.dynamic_resources.assume_cache import tracker_of
from stowplan.plugins.dynamic_resources.plugin import DynamicResources

EXAMPLES = int(os.environ.get("STOWPLAN_EXAMPLES", "50"))
quick = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 10**6)

STEP_SECONDS = 0.001
"""What a search believes to take between two looks at the clock. Real time would depend on the machine's load."""

Found = list[list[tuple[str, tuple[str, str, str]]]] | str | None


def step_clock() -> Callable[[], float]:
    """A clock that moves by the number of calls."""
    return partial(next, count(0.0, STEP_SECONDS))


def world_of(case: Json) -> tuple[World, Pod]:
    """The cluster and the pod of a case; searches end after a number of steps."""
    world, pod = World.of_case(codec.convert(Case, {"id": "x", **case}))
    plugin = world.plugin("DynamicResources")
    assert isinstance(plugin, DynamicResources)
    plugin._offers_by_claims.allocator.clock = step_clock()
    return world, pod


def shown(found: Solution | AllocationFailure | None) -> Found:
    if found is None or isinstance(found, AllocationFailure):
        return None if found is None else found.text
    return [[(item.wanted.full_name, item.device.id) for item in picked] for picked in found.picked]


def agree(found: Found, defined: Found) -> None:
    """Unless a search took too many steps: they take different ones."""
    if "timed out" not in f"{found} {defined}":
        assert found == defined


def afresh(world: World, case: Json, node: str) -> Found:
    """What an allocator finds that knows nothing from before."""
    stores = world.cluster.stores
    classes, slices = stores.of(api.DeviceClass), stores.of(api.ResourceSlice)
    allocator = Allocator(tracker_of(world.cluster).allocated, classes, slices, clock=step_clock())
    mine = [codec.convert(api.ResourceClaim, item) for item in case["resourceclaims"] if not item["status"]]
    wanted = allocator.prepare(mine)
    info = world.cluster.nodes.get(node)
    assert info is not None
    return wanted.text if isinstance(wanted, AllocationFailure) else shown(allocator.solve(info, wanted))


def remembered(world: World, case: Json) -> dict[str, Found]:
    """What the plugin finds on each node."""
    plugin = world.plugin("DynamicResources")
    assert isinstance(plugin, DynamicResources)
    mine = [codec.convert(api.ResourceClaim, item) for item in case["resourceclaims"] if not item["status"]]
    registry = plugin._offers_by_claims
    wanted = registry.allocator.prepare(mine)
    offers = registry.offers(mine)
    return {
        node.name: wanted.text if isinstance(wanted, AllocationFailure) else shown(offers.on(node, wanted))
        for node in world.cluster.nodes
    }


def stir(world: World, case: Json, random: Random) -> None:
    """Change something that matters to devices."""
    cluster = world.cluster
    claims = cluster.stores.of(api.ResourceClaim)
    match random.choice(("release", "take", "slice", "gone", "label", "class")):
        case "release":
            held = [claim for claim in claims if claim.status.allocation is not None]
            if held:
                claims.remove(f"default/{random.choice(held).metadata.name}")
        case "take":
            made = DeviceCases(random.randrange(10**6))
            for item in made.held(case["resourceslices"])[:2]:
                item["metadata"] |= {"name": f"new-{random.randrange(10**6)}", "uid": str(random.randrange(10**6))}
                claims.put(codec.convert(api.ResourceClaim, item))
        case "slice":
            item = random.choice(DeviceCases(random.randrange(10**6)).case()["resourceslices"] or [None])
            if item is not None:
                cluster.stores.of(api.ResourceSlice).put(codec.convert(api.ResourceSlice, item))
        case "gone":
            slices = cluster.stores.of(api.ResourceSlice)
            if len(slices):
                slices.remove(random.choice(sorted(slices.items())))
        case "label":
            node = random.choice(case["nodes"])
            node["metadata"]["labels"]["topology.kubernetes.io/zone"] = random.choice("ab")
            world.put_node(node)
        case "class":
            for item in DeviceCases(random.randrange(10**6)).classes():
                cluster.stores.of(api.DeviceClass).put(codec.convert(api.DeviceClass, item))


@quick
@given(seeds)
def test_what_is_remembered_is_what_would_be_found(seed: int) -> None:
    case = DeviceCases(seed).case()
    world, _ = world_of(case)
    random = Random(seed)
    for _ in range(6):
        for name, found in remembered(world, case).items():
            agree(found, afresh(world, case, name))
        stir(world, case, random)


@quick
@given(seeds)
def test_pruning_changes_nothing(seed: int) -> None:
    case = DeviceCases(seed).case()
    world, _ = world_of(case)
    names = [node["metadata"]["name"] for node in case["nodes"]]
    answers = []
    for steps in (1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "PRUNING_AFTER_STEPS", steps)
            answers.append([afresh(world, case, name) for name in names])
    for ahead, plain in zip(*answers, strict=True):
        agree(ahead, plain)


def compare_first_fit(seed: int) -> int:
    """Compare first fit with the search; returns the number of its answers."""
    case = DeviceCases(seed).case()
    world, _ = world_of(case)
    stores, allocated = world.cluster.stores, tracker_of(world.cluster).allocated
    allocator = Allocator(allocated, stores.of(api.DeviceClass), stores.of(api.ResourceSlice), clock=step_clock())
    answers = 0
    for item in case["resourceclaims"]:
        wanted = () if item["status"] else allocator.prepare([codec.convert(api.ResourceClaim, item)])
        if isinstance(wanted, AllocationFailure) or not wanted or not wanted[0].is_plain:
            continue
        for node in world.cluster.nodes:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(allocator_module, "first_fit", lambda *parts: None)
                searched = allocator.solve(node, wanted)
            pools = allocator.inventory.pools(node)
            picked = None if isinstance(pools, str) else first_fit(wanted, pools, node, allocated)
            if picked is not None:
                assert shown(Solution(picked, ({},))) == shown(searched)
                answers += any(picked)
    return answers


@quick
@given(seeds)
def test_first_fit_finds_what_the_search_finds(seed: int) -> None:
    compare_first_fit(seed)


def test_cases_for_first_fit_are_not_rare() -> None:
    assert sum(map(compare_first_fit, range(100))) > 5


@quick
@given(seeds)
@example(951816)  # Tens of thousands of steps.
def test_both_forms_of_the_filter_agree(seed: int) -> None:
    world, pod = world_of(DeviceCases(seed).case())
    plugin = world.plugin("DynamicResources")
    nodes = world.cluster.nodes.everything()
    states = CycleState(), CycleState()
    for state in states:
        plugin.pre_filter(state, pod, nodes)
    told: dict[int, Status] = {}
    for mask, status in plugin.filter_nodes(states[0], pod, nodes):
        for position in mask.nonzero()[0].tolist():
            told.setdefault(position, status)
    for position, node in nodes.infos():
        one_by_one = plugin.filter(states[1], pod, node)
        if "timed out" not in f"{one_by_one} {told.get(position)}":
            assert one_by_one == told.get(position), node.name


@quick
@given(seeds)
def test_nothing_is_given_away_twice(seed: int) -> None:
    case = DeviceCases(seed).case()
    world, pod = world_of(case)
    plugin = world.plugin("DynamicResources")
    state = CycleState()
    plugin.pre_filter(state, pod, world.cluster.nodes.everything())
    claims = state.get("PreFilterDynamicResources")
    taken = tracker_of(world.cluster).allocated.devices
    for node in world.cluster.nodes:
        found = claims.allocations.get(node.name) if plugin.filter(state, pod, node) is None else None
        given = [
            (item.driver, item.pool, item.device)
            for result in (found.results if found is not None else ())
            for item in result.devices.results
            if not item.admin_access and item.share_id is None
        ]
        assert len(given) == len(set(given))
        assert not set(given) & set(taken)


@quick
@given(seeds)
def test_decisions_are_those_of_a_plain_diagnosis(seed: int) -> None:
    world, pod = world_of(DeviceCases(seed).case())
    lots = world.rng.getstate()
    fast = world.decide(pod)
    world.rng.setstate(lots)
    plain = world.afresh(pod)
    assert (fast.node_name, fast.message, fast.error) == (plain.node_name, plain.message, plain.error)
