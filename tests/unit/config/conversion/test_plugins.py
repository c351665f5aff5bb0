"""Which plugins run at which point, and with which weight, for profiles of every version."""

from typing import Any

import pytest

from stowplan.config import expand, from_builtins
from stowplan.config.args import NodeAffinityArgs, PodTopologySpreadArgs, VolumeBindingArgs
from stowplan.config.conversion.plugin_tables import LATER_DEFAULT_PLUGINS, POINTS_OF, SUCCESSORS
from stowplan.config.defaults import DEFAULT_WEIGHTS
from stowplan.config.types import GROUP, KIND
from stowplan.framework import Plugin
from stowplan.framework.points import RUN_POINTS, implements_point
from stowplan.plugins.registry import REGISTRY

VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")


def implements(name: str, point: str) -> bool:
    factory = REGISTRY.get(name)
    return point in ("score", "bind") if factory is None else implements_point(factory, point)


def expanded(version: str, plugins: dict[str, Any], **fields: Any) -> dict[str, dict[str, int]]:
    profile = {"plugins": plugins}
    body = profile if version == "v1alpha1" else {"profiles": [profile]}
    config = from_builtins({"apiVersion": f"{GROUP}/{version}", "kind": KIND, **body, **fields})
    points = expand(config.profiles[0], implements)
    return {point: {plugin.name: plugin.weight for plugin in enabled} for point, enabled in points.items()}


def names(*plugins: str) -> list[dict[str, str]]:
    return [{"name": name} for name in plugins]


def test_the_table_of_points_is_that_of_the_plugins() -> None:
    assert set(POINTS_OF) | LATER_DEFAULT_PLUGINS == set(DEFAULT_WEIGHTS)
    for name, points in POINTS_OF.items():
        kind = REGISTRY[name]
        assert isinstance(kind, type)
        assert issubclass(kind, Plugin)
        assert set(points) == {point.name for point in RUN_POINTS if implements_point(kind, point)}, name


def test_successors_exist() -> None:
    assert {successor.name for successor in SUCCESSORS.values()} - {""} <= set(DEFAULT_WEIGHTS)
    assert not set(SUCCESSORS).intersection(DEFAULT_WEIGHTS)


@pytest.mark.parametrize("version", VERSIONS)
def test_default_plugins_score_with_the_weights_of_their_time(version: str) -> None:
    weights = {
        "InterPodAffinity": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "PodTopologySpread": 1 if "alpha" in version else 2,
    }
    today = {name: weight for name, weight in expanded(version, {})["score"].items() if name in weights}
    assert today == weights


@pytest.mark.parametrize("version", VERSIONS)
def test_default_plugins_are_all_there(version: str) -> None:
    default = {point: set(enabled) for point, enabled in expanded("v1", {}).items()}
    assert {point: set(enabled) for point, enabled in expanded(version, {}).items()} == default


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plugin_of_ones_own_comes_after_the_default_ones_unless_they_are_listed_anew(version: str) -> None:
    after = expanded(version, {"bind": {"enabled": names("mine")}})
    assert list(after["bind"]) == ["DefaultBinder", "mine"]
    before = expanded(
        version, {"bind": {"disabled": names("DefaultBinder"), "enabled": names("mine", "DefaultBinder")}}
    )
    assert list(before["bind"]) == ["mine", "DefaultBinder"]


@pytest.mark.parametrize("version", VERSIONS)
def test_all_defaults_disabled_at_a_point(version: str) -> None:
    points = expanded(version, {"score": {"disabled": names("*"), "enabled": [{"name": "ImageLocality", "weight": 3}]}})
    assert points["score"] == {"ImageLocality": 3}
    assert "NodeAffinity" in points["filter"]


def test_a_filter_that_is_disabled_does_not_reject_before_either() -> None:
    plugins = {"filter": {"disabled": names("NodeAffinity")}}
    assert "NodeAffinity" not in expanded("v1alpha2", plugins)["preFilter"]
    assert "NodeAffinity" in expanded("v1beta1", plugins)["preFilter"], "which it did by then"


def test_what_scores_is_prepared_for_it() -> None:
    policy = {"kind": "Policy", "predicates": [], "priorities": [{"name": "SelectorSpreadPriority", "weight": 3}]}
    points = expand(from_builtins(policy).profiles[0], implements)
    for point in ("preScore", "score"):
        assert "PodTopologySpread" in {plugin.name for plugin in points[point]}
        assert "TaintToleration" not in {plugin.name for plugin in points[point]}
    assert "PodTopologySpread" not in {plugin.name for plugin in points["filter"]}


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
def test_preemption_can_be_off(version: str) -> None:
    assert "DefaultPreemption" in expanded(version, {})["postFilter"]
    assert "DefaultPreemption" not in expanded(version, {}, disablePreemption=True)["postFilter"]


def test_volume_limits_go_when_all_of_them_are_disabled() -> None:
    all_of_them = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "NodeVolumeLimits")
    assert "NodeVolumeLimits" in expanded("v1beta1", {"filter": {"disabled": names(*all_of_them[:3])}})["filter"]
    assert "NodeVolumeLimits" not in expanded("v1beta1", {"filter": {"disabled": names(*all_of_them)}})["filter"]


def test_a_plugin_for_all_points() -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "mine", "weight": 4}]}}
    assert expanded("v1beta2", plugins)["score"]["mine"] == 4


@pytest.mark.parametrize(
    ("version", "plugins", "args", "defaulting"),
    [
        ("v1alpha2", {}, None, "System"),
        ("v1alpha2", {"score": {"disabled": names("DefaultPodTopologySpread")}}, None, "List"),
        (
            "v1alpha2",
            {},
            {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]},
            "List",
        ),
        ("v1beta1", {}, None, "System"),
        ("v1beta1", {}, {"defaultingType": "List"}, "List"),
    ],
)
def test_how_pods_without_constraints_spread(
    version: str, plugins: dict[str, Any], args: dict[str, Any] | None, defaulting: str
) -> None:
    profile = {"plugins": plugins, "pluginConfig": [{"name": "PodTopologySpread", "args": args}] if args else []}
    value = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "profiles": [profile]}
    spread = from_builtins(value).profiles[0].args("PodTopologySpread")
    assert isinstance(spread, PodTopologySpreadArgs)
    assert spread.defaulting_type == defaulting


def profile_args(version: str, plugin: str, **fields: Any) -> Any:
    return from_builtins({"apiVersion": f"{GROUP}/{version}", "kind": KIND, **fields}).profiles[0].args(plugin)


def test_labels_that_nodes_must_have_are_asked_for_by_every_alternative() -> None:
    terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": [pool]}]} for pool in "ab"]
    required = {"nodeSelectorTerms": terms}
    profile = {
        "plugins": {"filter": {"enabled": names("NodeLabel")}},
        "pluginConfig": [
            {"name": "NodeLabel", "args": {"presentLabels": ["zone"]}},
            {
                "name": "NodeAffinity",
                "args": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            },
        ],
    }
    args = profile_args("v1beta1", "NodeAffinity", profiles=[profile])
    assert isinstance(args, NodeAffinityArgs)
    assert args.added_affinity is not None
    selector = args.added_affinity.required_during_scheduling_ignored_during_execution
    assert selector is not None
    assert [[e.key for e in term.match_expressions] for term in selector.node_selector_terms] == [["pool", "zone"]] * 2


def test_a_profiles_own_args_come_before_settings_outside_of_it() -> None:
    own = [{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 5}}]}]
    args = profile_args("v1alpha2", "VolumeBinding", bindTimeoutSeconds=7, profiles=own)
    assert args == VolumeBindingArgs(bind_timeout_seconds=5)
    assert profile_args("v1alpha2", "VolumeBinding", bindTimeoutSeconds=7) == VolumeBindingArgs(bind_timeout_seconds=7)
