import msgspec
import pytest

from stowplan.config.args import IN_TREE_ARGS, OPTIONAL_ARGS, NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from stowplan.config.defaults import (
    IN_TREE_PLUGINS,
    complete,
    default_configuration,
    default_plugins,
    ignore_managed_resources,
    merge_plugin_set,
    merge_plugins,
)
from stowplan.config.duration import Duration
from stowplan.config.types import (
    ClientConnection,
    Extender,
    ExtenderManagedResource,
    KubeSchedulerConfiguration,
    LeaderElection,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
    Profile,
)

MULTI_POINT = (
    "SchedulingGates PrioritySort NodeUnschedulable NodeName TaintToleration:3 NodeAffinity:2 NodePorts "
    "NodeResourcesFit:1 VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread:2 "
    "InterPodAffinity:2 DynamicResources:2 DefaultPreemption NodeResourcesBalancedAllocation:1 ImageLocality:1 "
    "DefaultBinder NodeDeclaredFeatures"
)


def listed(text: str) -> tuple[Plugin, ...]:
    """`A B:3` as plugins, B with weight 3."""
    pairs = [item.partition(":") for item in text.split()]
    return tuple(Plugin(name=name, weight=int(weight or 0)) for name, _, weight in pairs)


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    return PluginSet(enabled=listed(enabled), disabled=listed(disabled))


def test_default_plugins_stand_in_multi_point_in_order() -> None:
    assert Plugins(multi_point=plugin_set(MULTI_POINT)) == default_plugins()
    assert {plugin.name for plugin in listed(MULTI_POINT)} == IN_TREE_PLUGINS.difference(OPTIONAL_ARGS)


@pytest.mark.parametrize(
    ("enabled", "disabled", "expected"),
    [
        ("", "", "A B:2 C"),
        ("D", "", "A B:2 C D"),
        ("B:7", "", "A B:7 C"),
        ("D B C", "", "A B C D"),
        ("", "B", "A C"),
        ("B:5", "B", "A C B:5"),
        ("", "*", ""),
        ("B D", "*", "B D"),
        ("C A", "* B", "C A"),
        ("D", "unknown", "A B:2 C D"),
        ("A:1 A:2", "", "A:2 B:2 C A:1"),
        ("D D", "", "A B:2 C D D"),
    ],
)
def test_merging_a_set_with_defaults(enabled: str, disabled: str, expected: str) -> None:
    default, custom = plugin_set("A B:2 C"), plugin_set(enabled, disabled)
    assert merge_plugin_set(default, custom) == plugin_set(expected, disabled)


def test_plugins_disabled_by_default_stay_so() -> None:
    default = PluginSet(enabled=listed("A B"), disabled=listed("B X"))
    assert merge_plugin_set(default, plugin_set("", "A:3")) == plugin_set("", "A B X")


@pytest.mark.parametrize(
    "custom",
    [
        Plugins(),
        Plugins(multi_point=plugin_set("Mine NodeName:4", "ImageLocality")),
        Plugins(multi_point=plugin_set("Mine", "*"), score=plugin_set("Mine:3", "NodeAffinity")),
    ],
)
def test_merging_twice_changes_nothing(custom: Plugins) -> None:
    merged = merge_plugins(custom)
    assert merge_plugins(merged) == merged


def test_an_empty_configuration_becomes_the_default_one() -> None:
    config = default_configuration()
    assert config == KubeSchedulerConfiguration(
        parallelism=16,
        leader_election=LeaderElection(
            leader_elect=True,
            lease_duration=Duration.of_seconds(15),
            renew_deadline=Duration.of_seconds(10),
            retry_period=Duration.of_seconds(2),
            resource_lock="leases",
            resource_name="kube-scheduler",
            resource_namespace="kube-system",
        ),
        client_connection=ClientConnection(
            kubeconfig="", content_type="application/vnd.kubernetes.protobuf", qps=50.0, burst=100
        ),
        enable_profiling=True,
        enable_contention_profiling=True,
        percentage_of_nodes_to_score=0,
        pod_initial_backoff_seconds=1,
        pod_max_backoff_seconds=10,
        profiles=(
            Profile(
                scheduler_name="default-scheduler",
                plugins=default_plugins(),
                plugin_config=tuple(PluginConfig(name=name, args=kind()) for name, kind in IN_TREE_ARGS.items()),
            ),
        ),
        extenders=(),
        delay_cache_until_active=False,
    )
    assert complete(config) == config
    assert default_configuration() is config


def test_only_a_lone_profile_gets_a_name() -> None:
    assert complete(KubeSchedulerConfiguration(profiles=(Profile(),))).profiles[0].scheduler_name == "default-scheduler"
    several = complete(KubeSchedulerConfiguration(profiles=(Profile(), Profile(scheduler_name="a"))))
    assert [profile.scheduler_name for profile in several.profiles] == ["", "a"]


def test_zero_and_empty_settings_mean_the_default() -> None:
    config = KubeSchedulerConfiguration(
        leader_election=LeaderElection(
            lease_duration=Duration(), renew_deadline=Duration(), retry_period=Duration.of_seconds(1), resource_name=""
        ),
        client_connection=ClientConnection(content_type="", qps=0, burst=0),
        extenders=(Extender(http_timeout=Duration()), Extender(http_timeout=Duration.of_seconds(1))),
    )
    completed = complete(config)
    assert completed.leader_election == LeaderElection(retry_period=Duration.of_seconds(1))
    assert completed.client_connection == ClientConnection()
    assert [extender.http_timeout.seconds for extender in completed.extenders] == [5, 1]


@pytest.mark.parametrize(
    ("profiling", "contention", "expected"),
    [(True, None, True), (False, None, False), (True, False, False), (False, True, True)],
)
def test_contention_profiling_follows_profiling(profiling: bool, contention: bool | None, expected: bool) -> None:
    config = KubeSchedulerConfiguration(enable_profiling=profiling, enable_contention_profiling=contention)
    assert complete(config).enable_contention_profiling is expected


def test_given_args_come_first_and_are_completed() -> None:
    given = (
        PluginConfig(name="Mine", args={"weight": None}),
        PluginConfig(name="NodeResourcesFit", args=NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="x"))),
    )
    profile = complete(KubeSchedulerConfiguration(profiles=(Profile(plugin_config=given),))).profiles[0]
    assert [config.name for config in profile.plugin_config] == [
        "Mine",
        "NodeResourcesFit",
        *(name for name in IN_TREE_ARGS if name != "NodeResourcesFit"),
    ]
    assert profile.args("Mine") == {"weight": None}
    resources = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
    assert profile.args("NodeResourcesFit").scoring_strategy == ScoringStrategy(type="x", resources=resources)


def test_args_are_filled_in_for_enabled_plugins_only() -> None:
    plugins = Plugins(multi_point=plugin_set("NodeAffinity NodeName", "*"), score=plugin_set("InterPodAffinity"))
    profile = complete(KubeSchedulerConfiguration(profiles=(Profile(plugins=plugins),))).profiles[0]
    assert [config.name for config in profile.plugin_config] == ["InterPodAffinity", "NodeAffinity"]


def test_completing_leaves_its_input_alone() -> None:
    config = KubeSchedulerConfiguration(profiles=(Profile(),))
    before = msgspec.to_builtins(config, enc_hook=str)
    complete(config)
    assert msgspec.to_builtins(config, enc_hook=str) == before


def managing(*resources: ExtenderManagedResource) -> KubeSchedulerConfiguration:
    extender = Extender(url_prefix="http://a", managed_resources=resources)
    args = NodeResourcesFitArgs(ignored_resources=("example.com/own",))
    profiles = (
        Profile(scheduler_name="a", plugin_config=(PluginConfig(name="NodeResourcesFit", args=args),)),
        Profile(scheduler_name="b"),
        Profile(scheduler_name="c", plugins=Plugins(multi_point=plugin_set(disabled="NodeResourcesFit"))),
    )
    return complete(KubeSchedulerConfiguration(profiles=profiles, extenders=(extender,)))


def test_resources_that_extenders_have_ignored_replace_those_of_every_profile() -> None:
    ignored = ExtenderManagedResource(name="example.com/a", ignored_by_scheduler=True)
    config = ignore_managed_resources(managing(ignored, ExtenderManagedResource(name="example.com/b")))
    a, b, c = (profile.args("NodeResourcesFit") for profile in config.profiles)
    assert a == b == NodeResourcesFitArgs(ignored_resources=("example.com/a",))
    assert c is None


def test_without_such_resources_profiles_stay_as_they_are() -> None:
    config = managing(ExtenderManagedResource(name="example.com/b"))
    assert ignore_managed_resources(config) is config
