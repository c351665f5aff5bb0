"""Refusals because of devices: the inventory of a node in order, sentences, facts, and rejections of the pod."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, make, node, pod, profile_config
from tests.builders.engine_host import Host
from tests.unit.plugins.dynamic_resources.devices import CLASS, DRIVER, allocated, claim, devices, using

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.explain import explain, run
from stowplan.insight.insight import Insight
from stowplan.insight.matrix import FilterMatrix

MEMORY = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0'
MODEL = f'device.attributes["{DRIVER}"].model == "a100"'


def world_of(*objects: Any, nodes: str = "ab") -> World:
    world = World([node(name) for name in nodes])
    for item in (CLASS, *objects):
        world.cluster.put(item)
    return world


def request(count: int = 1, *selectors: str, name: str = "gpu", **more: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    exactly["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    return {"name": name, "exactly": exactly}


def wants(*requests: dict[str, Any], constraints: Any = ()) -> Any:
    spec = {"devices": {"requests": list(requests), "constraints": list(constraints)}}
    return make("ResourceClaim", "gpus", "default", spec=spec)


def held(name: str, *gpus: str, on: str = "a", by: str = "") -> Any:
    status = allocated(*gpus, node=on)
    if by:
        status["reservedFor"] = [{"resource": "pods", "name": by, "uid": by}]
    return claim(name, len(gpus), status=status)


def refusals(world: World, on: str = "a", **spec: Any) -> list[Refusal]:
    info = world.cluster.nodes.get(on)
    assert info is not None
    item = using("new", "gpus") if not spec else pod("new", **spec)
    return FilterMatrix(world.profile, world.pod(item)).explain("DynamicResources", info)


def explained(world: World, item: dict[str, Any] | None = None) -> Explanation:
    return run(explain(world.profile, world.pod(item or using("new", "gpus"))))


def test_a_node_without_devices() -> None:
    (refusal,) = refusals(world_of(claim("gpus"), devices("b")))
    assert (refusal.id, refusal.lasting) == ("devices.none", False)
    assert refusal.text == "the node offers no device of class gpu"
    assert refusal.facts == {
        "claim": "default/gpus",
        "request": "gpu",
        "class": "gpu",
        "wanted": 1,
        "requests": 1,
        "published": 0,
        "ofClass": 0,
        "matching": 0,
        "tolerated": 0,
        "free": 0,
    }


def test_a_node_with_too_few_devices() -> None:
    world = world_of(claim("gpus", 3), devices("a", 2))
    (refusal,) = refusals(world)
    assert refusal.text == "the node offers 2 devices of class gpu, 3 are wanted"
    answer = explained(world)
    assert answer.sentence == "Needs 3 devices of class gpu on one node; the best of 2 nodes offers 2."
    assert answer.verdict == "not-now"


def test_no_node_offers_devices() -> None:
    assert explained(world_of(claim("gpus"))).sentence == (
        "Needs 1 device of class gpu on one node; none of 2 nodes offers any."
    )
    assert explained(world_of(claim("gpus"), nodes="a")).sentence == (
        "Needs 1 device of class gpu on one node; the only node offers none."
    )


def test_devices_of_another_class_do_not_count() -> None:
    selector = [{"cel": {"expression": 'device.driver == "other"'}}]
    world = world_of(claim("gpus"), devices("a"), make("DeviceClass", "gpu", spec={"selectors": selector}))
    (refusal,) = refusals(world)
    assert refusal.text == "the node offers no device of class gpu"
    assert (refusal.facts["published"], refusal.facts["ofClass"]) == (2, 0)


def test_devices_that_are_too_small_say_the_largest() -> None:
    small = devices("a", 2, capacity={"memory": {"value": "40Gi"}})
    world = world_of(wants(request(1, MEMORY)), small, nodes="a")
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.lasting) == ("devices.no-match", True)
    assert refusal.text == "2 devices of class gpu, none with memory >= 80Gi; the largest has 40Gi"
    assert (refusal.facts["ofClass"], refusal.facts["matching"], refusal.facts["selector"]) == (2, 0, MEMORY)
    answer = explained(world)
    assert answer.verdict == "never"
    assert answer.sentence == (
        "Needs 1 device of class gpu on one node; on the only node, a: "
        "2 devices of class gpu, none with memory >= 80Gi; the largest has 40Gi."
    )


@pytest.mark.parametrize(
    ("count", "selectors", "each", "text"),
    [
        (
            1,
            [MODEL],
            {"attributes": {"model": {"string": "t4"}}},
            "2 devices of class gpu, none with model a100; there is t4 (2)",
        ),
        (1, ["false"], {}, "2 devices of class gpu, none matches false"),
        (
            1,
            [f'device.capacity["{DRIVER}"].memory.isLessThan(quantity("8Gi"))'],
            {"capacity": {"memory": {"value": "40Gi"}}},
            "2 devices of class gpu, none with memory < 8Gi; the smallest has 40Gi",
        ),
    ],
)
def test_the_nearest_value_of_a_selector(count: int, selectors: list[str], each: dict[str, Any], text: str) -> None:
    world = world_of(wants(request(count, *selectors)), devices("a", **each), nodes="a")
    (refusal,) = refusals(world)
    assert refusal.text == text


def test_some_devices_match_but_not_enough() -> None:
    slices = devices("a", 3)
    named = wants(request(2, 'device.driver == "gpu.example.com" && device.attributes["x"].big'))
    spec = {
        "driver": DRIVER,
        "nodeName": "a",
        "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}", "attributes": {"x/big": {"bool": number == 0}}} for number in range(3)],
    }
    world = world_of(named, make("ResourceSlice", slices.metadata.name, spec=spec), nodes="a")
    (refusal,) = refusals(world)
    assert refusal.text.startswith("3 devices of class gpu, 1 matches device.driver == ")
    assert refusal.text.endswith(", 2 are wanted")


def test_tainted_devices() -> None:
    taint = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
    world = world_of(claim("gpus"), devices("a", taints=[taint]), nodes="a")
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.lasting) == ("devices.tainted", False)
    assert refusal.text == (
        "2 of the 2 devices that match have taints that request gpu does not tolerate, such as broken=yes:NoSchedule"
    )
    assert (refusal.facts["matching"], refusal.facts["tolerated"]) == (2, 0)


def test_devices_that_other_pods_have() -> None:
    world = world_of(claim("gpus", 4), devices("a", 5), held("t1", "gpu-0", by="train-1"), held("t2", "gpu-1"))
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.lasting) == ("devices.taken", False)
    assert refusal.text == (
        "needs 4 of class gpu, 3 of 5 are free; 1 is held by claim default/t2 and 1 is held by default/train-1"
    )
    assert refusal.facts["holders"] == {"default/train-1": 1, "claim default/t2": 1}
    assert (refusal.facts["tolerated"], refusal.facts["free"]) == (5, 3)
    (change,) = refusal.changes
    assert (change.kind, change.on, change.text) == (
        "device",
        "cluster",
        "count: 3 in request gpu of claim default/gpus",
    )
    assert change.effort == pytest.approx(4.25)


def test_many_holders_are_counted() -> None:
    holders = [held(f"t{number}", f"gpu-{number}", by=f"train-{number}") for number in range(4)]
    (refusal,) = refusals(world_of(claim("gpus", 2), devices("a", 5), *holders))
    assert refusal.text.endswith("; 4 are held by 4 others, such as default/train-0")


def test_free_devices_are_summed_over_all_nodes() -> None:
    world = world_of(
        claim("gpus", 4), devices("a", 4), devices("b", 4), held("t", "gpu-0"), held("u", "gpu-0", "gpu-1", on="b")
    )
    answer = explained(world)
    assert answer.sentence == (
        "Needs 4 devices of class gpu on one node; the best of 2 nodes has 3 free, 5 are free in all."
    )
    assert answer.because is not None
    assert (answer.because.id, answer.because.best, answer.because.facts["free"]) == ("devices.taken", "a", 3)


def test_on_many_nodes_the_sentence_names_one() -> None:
    names = [f"n{number:03}" for number in range(130)]
    world = World([node(name) for name in names])
    for item in (CLASS, claim("gpus", 3), *(devices(name, 2) for name in names)):
        world.cluster.put(item)
    assert explained(world).sentence == (
        "Needs 3 devices of class gpu on one node; none of 130 nodes can serve that, n000 has 2 of 2 free."
    )


def test_requests_that_want_the_same_devices() -> None:
    world = world_of(wants(request(2), request(2, name="more")), devices("a", 3), nodes="a")
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.lasting) == ("devices.together", False)
    assert refusal.text == "each request alone could be served, but not together: they want the same devices"
    answer = explained(world)
    assert answer.sentence.startswith("Needs all its devices on one node; on the only node, a: each request alone")


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ({"matchAttribute": "x/numa"}, "at most 2 free devices have the same numa, 3 are wanted"),
        ({"distinctAttribute": "x/numa"}, "the free devices have 2 different values of numa, 3 are wanted"),
    ],
)
def test_constraints_between_devices(constraint: dict[str, str], text: str) -> None:
    spec = {
        "driver": DRIVER,
        "nodeName": "a",
        "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{n}", "attributes": {"x/numa": {"int": n % 2}}} for n in range(4)],
    }
    requests = [request(name=f"r{number}") for number in range(3)]
    world = world_of(wants(*requests, constraints=[constraint]), make("ResourceSlice", "s", spec=spec), nodes="a")
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.text) == ("devices.together", text)


def test_the_closest_alternative_is_reported() -> None:
    sub = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    alternatives = {"name": "gpu", "firstAvailable": [{"name": n, "count": c, **sub} for n, c in (("x", 8), ("y", 3))]}
    world = world_of(wants(alternatives), devices("a", 3), held("t", "gpu-0"))
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.facts["request"]) == ("devices.taken", "gpu/y")
    assert refusal.text.startswith("needs 3 of class gpu, 2 of 3 are free; ")
    assert refusal.text.endswith(" (closest of 2 alternatives)")


def test_a_claim_with_devices_of_another_node() -> None:
    world = world_of(held("gpus", "gpu-0", on="b"), devices("a"), devices("b"))
    (refusal,) = refusals(world, "a")
    assert (refusal.id, refusal.lasting) == ("devices.elsewhere", False)
    assert refusal.text == "claim gpus has devices of b already, so the pod must go there"
    world.put_node(node("b", unschedulable=True))
    answer = explained(world)
    assert answer.sentence == (
        "Claim gpus has devices already, which can be reached from b only, "
        "and a, the only node that is left, is not there."
    )


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ("device.nonsense", "selector 1 of claim default/gpus cannot be compiled: "),
        (MEMORY, "selector 1 of claim default/gpus fails for device gpu-0: "),
    ],
)
def test_an_error_of_a_selector(selector: str, text: str) -> None:
    world = world_of(wants(request(1, selector)), devices("a"), nodes="a")
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.lasting) == ("devices.error", False)
    assert refusal.text.startswith(f"the search for devices failed: {text}")
    assert explained(world).sentence.startswith(f"The search for devices failed: {text}")


def test_a_search_that_takes_too_long() -> None:
    requests = [request(name=f"r{number}") for number in range(4)]
    constraint = {"matchAttribute": "x/numa"}
    args = {"DynamicResources": {"filterTimeout": "1ns"}}
    world = World([node("a")], config=profile_config(args=args))
    for item in (CLASS, devices("a", 3), wants(*requests, constraints=[constraint])):
        world.cluster.put(item)
    (refusal,) = refusals(world)
    assert (refusal.id, refusal.lasting) == ("devices.timeout", False)
    assert refusal.text == "the search for devices was broken off after 1e-09 s"


def test_an_extended_resource_that_no_node_offers() -> None:
    world = world_of(devices("a", 1), nodes="a")
    item = pod("new", requests={"example.com/gpu": "1", "example.com/fpga": "1"})
    info = world.cluster.nodes.get("a")
    assert info is not None
    found = FilterMatrix(world.profile, world.pod(item)).explain("DynamicResources", info)
    assert [(each.id, each.text) for each in found] == [
        ("devices.none", "the node offers no example.com/fpga, and no device class serves it")
    ]


def test_devices_for_an_extended_resource() -> None:
    world = world_of(devices("a", 1), nodes="a")
    (refusal,) = refusals(world, requests={"example.com/gpu": "2"})
    assert refusal.text == "the node offers 1 device of class gpu, 2 are wanted"


@pytest.mark.parametrize(
    ("objects", "entry", "identifier", "sentence", "more"),
    [
        (
            [],
            {"resourceClaimName": "gpus"},
            "claim.device-missing",
            "ResourceClaim gpus does not exist in namespace default.",
            (),
        ),
        (
            [claim("gpu-s"), make("ResourceClaim", "gpus", "ml")],
            {"resourceClaimName": "gpus"},
            "claim.device-missing",
            "ResourceClaim gpus does not exist in namespace default.",
            ("Namespace default has a ResourceClaim gpu-s.", "Namespace ml has a ResourceClaim gpus."),
        ),
        (
            [],
            {"resourceClaimTemplateName": "t"},
            "claim.device-missing",
            "The ResourceClaim of gpus is not made yet from template t.",
            (),
        ),
        (
            [claim("gpus", deletionTimestamp="2026-01-01T00:00:00Z")],
            {"resourceClaimName": "gpus"},
            "claim.device-deleting",
            "ResourceClaim gpus is being deleted.",
            (),
        ),
        (
            [wants(request(deviceClassName="gpus-of-ours")), make("DeviceClass", "gpu-of-ours")],
            {"resourceClaimName": "gpus"},
            "class.device-missing",
            "Request gpu of ResourceClaim gpus asks for device class gpus-of-ours, which does not exist.",
            ("There is a device class gpu-of-ours.",),
        ),
    ],
)
def test_rejections_of_the_pod(
    objects: list[Any], entry: dict[str, str], identifier: str, sentence: str, more: tuple[str, ...]
) -> None:
    answer = explained(world_of(*objects), pod("new", resourceClaims=[{"name": "gpus", **entry}]))
    assert answer.because is not None
    assert (answer.because.id, answer.sentence, answer.more) == (identifier, sentence, more)
    assert answer.verdict == ("never" if identifier == "claim.device-deleting" else "not-now")


def test_a_pod_that_waits_for_its_claim_is_explained_while_it_is_gated() -> None:
    host = Host(node("a"), using("new", "gpus"))
    host.schedule()
    insight = Insight(host.engine, host.clock)
    answer = run(insight.explain(insight.find("new").pod))
    assert answer.state == "gated"
    assert answer.sentence == "ResourceClaim gpus does not exist in namespace default."


def test_the_requirement_is_reported_for_every_node() -> None:
    world = world_of(claim("gpus", 4), devices("a", 5), held("t", "gpu-0"))
    new = world.pod(using("new", "gpus"))
    state, info = FilterMatrix(world.profile, new).state, world.cluster.nodes.get("a")
    found = world.plugin("DynamicResources").requirement(state, new, info)
    assert (found.wanted, found.there) == ("4 of class gpu", "4 of 5 free")


def test_the_score_is_the_alternative_that_is_taken() -> None:
    sub = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    alternatives = {"name": "gpu", "firstAvailable": [{"name": n, "count": c, **sub} for n, c in (("x", 8), ("y", 2))]}
    world = world_of(wants(alternatives), devices("a", 3))
    new = world.pod(using("new", "gpus"))
    matrix = FilterMatrix(world.profile, new)
    assert isinstance(matrix.state, CycleState)
    words = world.plugin("DynamicResources").explain_score(matrix.state, new, world.cluster.nodes.get("a"))
    assert words == "takes y, alternative 2 of request gpu"
