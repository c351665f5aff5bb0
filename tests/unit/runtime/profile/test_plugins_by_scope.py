from __future__ import annotations

from tests.builders import World, node, node_affinity, pod

from stowplan.framework import PodTemplate


def template(world: World, **spec: object) -> PodTemplate:
    return world.pod(pod("p", **spec)).template  # type: ignore[arg-type]


def test_plugins_that_a_pod_does_not_concern_are_left_out_everywhere() -> None:
    world = World([node("n")])
    by_scope = world.profile.plugins_by_scope.of(template(world, requests={"cpu": 1}))
    assert {"NodeAffinity", "VolumeBinding", "NodePorts"} <= by_scope.unconcerned
    listed = [
        *by_scope.pre_filters,
        *by_scope.constant_pre_filters,
        *by_scope.cycle_pre_filters,
        *by_scope.constant_pre_scores,
        *by_scope.cycle_pre_scores,
        *by_scope.node_filters,
        *by_scope.pod_filters,
        *by_scope.cluster_filters,
        *by_scope.cluster_plugins,
        *(scorer.plugin for scorer in by_scope.scorers),
    ]
    assert not {plugin.name for plugin in listed} & by_scope.unconcerned
    assert [p.name for p in by_scope.pod_filters] == ["NodeResourcesFit"]


def test_equal_templates_share_the_table() -> None:
    world = World([node("n")])
    by_scope = world.profile.plugins_by_scope
    one = by_scope.of(template(world, requests={"cpu": 1}))
    assert by_scope.of(template(world, requests={"cpu": 2, "memory": 5}, labels={"a": "b"})) is one
    affine = template(world, requests={"cpu": 1}, affinity=node_affinity({"matchExpressions": []}))
    assert by_scope.of(affine) is not one
    assert "NodeAffinity" not in by_scope.of(affine).unconcerned
    assert by_scope.of(template(world, affinity={"podAffinity": {}})).unconcerned == one.unconcerned | {
        "NodeResourcesBalancedAllocation"
    }


def test_whom_the_pod_concerns_is_asked_anew_when_plans_are_forgotten() -> None:
    world = World([node("n")])
    plain = template(world)
    before = world.profile.plugins_by_scope.of(plain)
    world.profile.forget_plans()
    assert world.profile.plugins_by_scope.of(plain) is not before
