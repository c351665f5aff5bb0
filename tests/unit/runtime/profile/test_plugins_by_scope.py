from __future__ import annotations

from tests.builders import World, node, node_affinity, pod

from stowplan.framework import PodTemplate


def template(world: World, **spec: object) -> PodTemplate:
    return world.pod(pod("p", **spec)).template  # type: ignore[arg-type]


def test_plugins_that_a_pod_does_not_concern_are_left_out_everywhere() -> None:
    world = World([node("n")])
    shape = world.profile.shape.of(template(world, requests={"cpu": 1}))
    assert {"NodeAffinity", "VolumeBinding", "NodePorts"} <= shape.unconcerned
    listed = [
        *shape.pre_filters,
        *shape.constant_pre_filters,
        *shape.cycle_pre_filters,
        *shape.constant_pre_scores,
        *shape.cycle_pre_scores,
        *shape.node_filters,
        *shape.pod_filters,
        *shape.cluster_filters,
        *shape.cluster_plugins,
        *(scorer.plugin for scorer in shape.scorers),
    ]
    assert not {plugin.name for plugin in listed} & shape.unconcerned
    assert [p.name for p in shape.pod_filters] == ["NodeResourcesFit"]


def test_templates_alike_share_a_shape() -> None:
    world = World([node("n")])
    shape = world.profile.shape
    one = shape.of(template(world, requests={"cpu": 1}))
    assert shape.of(template(world, requests={"cpu": 2, "memory": 5}, labels={"a": "b"})) is one
    affine = template(world, requests={"cpu": 1}, affinity=node_affinity({"matchExpressions": []}))
    assert shape.of(affine) is not one
    assert "NodeAffinity" not in shape.of(affine).unconcerned
    assert shape.of(template(world, affinity={"podAffinity": {}})).unconcerned == one.unconcerned | {
        "NodeResourcesBalancedAllocation"
    }


def test_whom_the_pod_concerns_is_asked_anew_when_plans_are_forgotten() -> None:
    world = World([node("n")])
    plain = template(world)
    before = world.profile.shape.of(plain)
    world.profile.forget_plans()
    assert world.profile.shape.of(plain) is not before
