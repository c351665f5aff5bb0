import pytest
from tests.builders.default_plugins import DEFAULT_LISTS

from stowplan.config.args import NodeAffinityArgs
from stowplan.config.defaults import IN_TREE_PLUGINS, complete, default_configuration
from stowplan.config.errors import InvalidConfigurationError
from stowplan.config.expansion import EnabledPlugin, expand, expand_profiles
from stowplan.config.types import KubeSchedulerConfiguration, Plugin, PluginConfig, Plugins, PluginSet, Profile
from stowplan.framework.points import POINTS_IN_VALIDATION_ORDER

IMPLEMENTED = {(item.partition(":")[0], point) for point, text in DEFAULT_LISTS.items() for item in text.split()}
IMPLEMENTED |= {("Mine", "filter"), ("Mine", "score"), ("Other", "filter"), ("OtherSort", "queueSort")}
IMPLEMENTED |= {("Generator", "placementGenerate"), ("OtherGenerator", "placementGenerate")}
KNOWN = IN_TREE_PLUGINS | {name for name, _ in IMPLEMENTED}


def implements(name: str, point: str) -> bool:
    return (name, point) in IMPLEMENTED


def listed(text: str) -> tuple[Plugin, ...]:
    """`A B:3` as plugins, B with weight 3."""
    pairs = [item.partition(":") for item in text.split()]
    return tuple(Plugin(name=name, weight=int(weight or 0)) for name, _, weight in pairs)


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    return PluginSet(enabled=listed(enabled), disabled=listed(disabled))


def profile(plugins: Plugins) -> Profile:
    return complete(KubeSchedulerConfiguration(profiles=(Profile(plugins=plugins),))).profiles[0]


def names(plugins: Plugins, point: str) -> str:
    return " ".join(plugin.name for plugin in expand(profile(plugins), implements, KNOWN)[point])


def faults(plugins: Plugins) -> list[str]:
    with pytest.raises(InvalidConfigurationError) as caught:
        expand(profile(plugins), implements, KNOWN)
    return [error.message for error in caught.value.errors]


def test_expanded_defaults() -> None:
    expanded = expand(default_configuration().profiles[0], implements, IN_TREE_PLUGINS)
    assert tuple(expanded) == tuple(point.name for point in POINTS_IN_VALIDATION_ORDER)
    for point, text in DEFAULT_LISTS.items():
        assert expanded[point] == tuple(EnabledPlugin(plugin.name, plugin.weight) for plugin in listed(text)), point


DEFAULT_FILTERS = DEFAULT_LISTS["filter"]


@pytest.mark.parametrize(
    ("multi_point", "filter_set", "expected"),
    [
        (plugin_set("Mine"), plugin_set(), f"{DEFAULT_FILTERS} Mine"),
        (plugin_set(), plugin_set("Mine"), f"{DEFAULT_FILTERS} Mine"),
        (plugin_set(), plugin_set("Mine NodeName"), f"NodeName {DEFAULT_FILTERS.replace('NodeName ', '')} Mine"),
        (plugin_set("Mine"), plugin_set("Other"), f"{DEFAULT_FILTERS} Mine Other"),
        (plugin_set("Mine"), plugin_set("Other Mine"), f"Mine {DEFAULT_FILTERS} Other"),
        (plugin_set("Mine"), plugin_set("", "Mine"), DEFAULT_FILTERS),
        (plugin_set("Mine"), plugin_set("Mine", "Mine"), f"{DEFAULT_FILTERS} Mine"),
        (plugin_set(), plugin_set("", "*"), ""),
        (plugin_set(), plugin_set("NodePorts NodeName", "*"), "NodePorts NodeName"),
        (plugin_set("PrioritySort DefaultBinder Mine Other", "*"), plugin_set("Other"), "Other Mine"),
    ],
)
def test_order_of_a_point(multi_point: PluginSet, filter_set: PluginSet, expected: str) -> None:
    assert names(Plugins(multi_point=multi_point, filter=filter_set), "filter") == expected


@pytest.mark.parametrize(
    ("plugins", "weight"),
    [
        (Plugins(multi_point=plugin_set("Mine")), 1),
        (Plugins(multi_point=plugin_set("Mine:4")), 4),
        (Plugins(multi_point=plugin_set("Mine:4"), score=plugin_set("Mine:6")), 6),
        (Plugins(multi_point=plugin_set("Mine:4"), score=plugin_set("Mine")), 1),
        (Plugins(multi_point=plugin_set("Mine:4"), filter=plugin_set("Mine:9")), 4),
        (Plugins(score=plugin_set("Mine:2147483647")), 2147483647),
    ],
)
def test_score_weights(plugins: Plugins, weight: int) -> None:
    expanded = expand(profile(plugins), implements, KNOWN)
    assert EnabledPlugin("Mine", weight) in expanded["score"]
    assert all(plugin.weight == 0 for point in expanded if "core" not in point for plugin in expanded[point])


def test_placement_scores_have_weights_of_their_own() -> None:
    plugins = Plugins(placement_score=plugin_set("NodeResourcesFit:5"), score=plugin_set("NodeResourcesFit:7"))
    expanded = expand(profile(plugins), implements, KNOWN)
    assert expanded["placementScore"] == (EnabledPlugin("NodeResourcesFit", 5),)
    assert EnabledPlugin("NodeResourcesFit", 7) in expanded["score"]


ONE_QUEUE_SORT = 'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got'
ONE_BIND = 'at least one bind plugin is needed for profile with scheduler name "default-scheduler"'
OVERFLOW = "score plugins: total score of Score plugins could overflow"


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        (Plugins(filter=plugin_set("Foo")), ['FilterPlugin "Foo" does not exist']),
        (Plugins(multi_point=plugin_set("Foo Foo")), ['PreFilterPlugin "Foo" does not exist']),
        (
            Plugins(filter=plugin_set("ImageLocality")),
            ['plugin "ImageLocality" does not extend FilterPlugin plugin'],
        ),
        (Plugins(filter=plugin_set("Mine Mine")), ['plugin "Mine" already registered as "FilterPlugin"']),
        (
            Plugins(multi_point=plugin_set("Mine Mine")),
            ['plugin "Mine" already registered as "FilterPlugin"', 'plugin "Mine" already registered as "ScorePlugin"'],
        ),
        (Plugins(queue_sort=plugin_set("", "*")), [f"{ONE_QUEUE_SORT} 0"]),
        (Plugins(queue_sort=plugin_set("OtherSort")), [f"{ONE_QUEUE_SORT} 2"]),
        (Plugins(bind=plugin_set("", "DefaultBinder")), [ONE_BIND]),
        (Plugins(multi_point=plugin_set("", "*")), [f"{ONE_QUEUE_SORT} 0", ONE_BIND]),
        (
            Plugins(placement_generate=plugin_set("Generator OtherGenerator")),
            ['at most one placement generate plugin is allowed for profile with scheduler name "default-scheduler"'],
        ),
        (Plugins(score=plugin_set("Mine:-5")), [OVERFLOW]),
        (Plugins(score=plugin_set("Mine:-5", "*")), [OVERFLOW]),
        (
            Plugins(placement_score=plugin_set("NodeName")),
            ['plugin "NodeName" does not extend PlacementScorePlugin plugin'],
        ),
    ],
)
def test_profiles_that_do_not_start(plugins: Plugins, expected: list[str]) -> None:
    assert faults(plugins) == expected


def test_a_negative_weight_that_nothing_follows_passes() -> None:
    plugins = Plugins(multi_point=plugin_set("ImageLocality:-5 NodeDeclaredFeatures"))
    assert EnabledPlugin("ImageLocality", -5) in expand(profile(plugins), implements, KNOWN)["score"]


def test_errors_name_the_profile_and_the_list() -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        expand(profile(Plugins(filter=plugin_set("ImageLocality"))), implements)
    assert str(caught.value) == (
        'profile "default-scheduler": $.plugins.filter: plugin "ImageLocality" does not extend FilterPlugin plugin'
    )


def test_repeated_plugin_config() -> None:
    twice = Profile(scheduler_name="a", plugin_config=(PluginConfig(name="X"), PluginConfig(name="X")))
    with pytest.raises(InvalidConfigurationError, match="repeated config for plugin X"):
        expand(twice, implements)


def two_profiles(first: Profile, second: Profile) -> KubeSchedulerConfiguration:
    return complete(KubeSchedulerConfiguration(profiles=(first, second)))


def test_profiles_by_scheduler_name() -> None:
    config = two_profiles(
        Profile(scheduler_name="a"),
        Profile(scheduler_name="b", plugins=Plugins(score=plugin_set("", "*"))),
    )
    expanded = expand_profiles(config, implements, KNOWN)
    assert [len(expanded[name]["score"]) for name in ("a", "b")] == [9, 0]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            Profile(scheduler_name="b", plugins=Plugins(multi_point=plugin_set("OtherSort", "PrioritySort"))),
            'different queue sort plugins for profile "b": "OtherSort", first: "PrioritySort"',
        ),
        (
            Profile(scheduler_name="b", plugin_config=(PluginConfig(name="PrioritySort", args=NodeAffinityArgs()),)),
            'different queue sort plugin args for profile "b"',
        ),
    ],
)
def test_profiles_must_sort_the_queue_alike(second: Profile, message: str) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        expand_profiles(two_profiles(Profile(scheduler_name="a"), second), implements, KNOWN)
    assert str(caught.value) == f"$.profiles[1]: {message}"
