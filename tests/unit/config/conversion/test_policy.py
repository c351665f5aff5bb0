"""Predicates, priorities and extenders of policies."""

from typing import Any

import pytest

from stowplan.config import Duration, InvalidConfigurationError, from_builtins
from stowplan.config.args import NodeResourcesFitArgs
from stowplan.config.conversion import convert
from stowplan.config.conversion.plugin_tables import POINTS_OF, SUCCESSORS
from stowplan.config.conversion.policy_tables import CHANGED_PREDICATES, MANDATORY, PREDICATES, PRIORITIES


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def strategy(*priorities: tuple[str, int]) -> str:
    given = [{"name": name, "weight": weight} for name, weight in priorities]
    args = from_builtins(policy(priorities=given)).profiles[0].args("NodeResourcesFit")
    assert isinstance(args, NodeResourcesFitArgs)
    return args.scoring_strategy.type


def test_the_tables_name_plugins() -> None:
    known = {*POINTS_OF, *SUCCESSORS, ""}
    assert {plugin for plugins in PREDICATES.values() for plugin in plugins} <= known
    assert set(PRIORITIES.values()) <= known
    assert {*CHANGED_PREDICATES, *MANDATORY} <= set(PREDICATES)


def scored(given: Any) -> list[dict[str, Any]]:
    """The entries that a policy's conversion enables at Score."""
    plugins = convert(given, "p").value["profiles"][0]["plugins"]
    return [entry for point in ("score", "multiPoint") for entry in plugins.get(point, {}).get("enabled", ())]


@pytest.mark.parametrize("name", PREDICATES)
def test_every_predicate_makes_a_valid_configuration(name: str) -> None:
    plugins = convert(policy(predicates=[{"name": name}], priorities=[]), "p").value["profiles"][0]["plugins"]
    gone = {plugin["name"] for plugin in plugins["multiPoint"]["disabled"]}
    assert not gone.intersection(PREDICATES[name])
    from_builtins(policy(predicates=[{"name": name}]))


@pytest.mark.parametrize("name", sorted(set(PRIORITIES) - {"RequestedToCapacityRatioPriority"}))
def test_every_priority_makes_a_valid_configuration(name: str) -> None:
    given = policy(priorities=[{"name": name, "weight": 7}])
    assert from_builtins(given).profiles
    weights = [entry.get("weight") for entry in scored(given)]
    assert (7 in weights) is (PRIORITIES[name] not in ("", "NodePreferAvoidPods", "NodeResourceLimits"))


@pytest.mark.parametrize(
    ("priorities", "type_"),
    [
        ((("LeastRequestedPriority", 1),), "LeastAllocated"),
        ((("MostRequestedPriority", 1),), "MostAllocated"),
        ((("MostRequestedPriority", 1), ("LeastRequestedPriority", 5)), "LeastAllocated"),
        ((("MostRequestedPriority", 5), ("LeastRequestedPriority", 1)), "MostAllocated"),
    ],
)
def test_one_way_to_score_by_resources_stays(priorities: tuple[tuple[str, int], ...], type_: str) -> None:
    assert strategy(*priorities) == type_


def test_two_names_of_one_plugin_keep_the_weight_of_the_first_in_the_alphabet() -> None:
    given = [{"name": "ServiceSpreadingPriority", "weight": 9}, {"name": "SelectorSpreadPriority", "weight": 4}]
    converted = convert(policy(priorities=given), "p")
    score = converted.value["profiles"][0]["plugins"]["score"]
    assert {"name": "PodTopologySpread", "weight": 4} in score["enabled"]
    assert "p: $.priorities[0]: SelectorSpread is listed more than once: the weight 4 of $.priorities[1] stays" in [
        str(notice) for notice in converted.notices
    ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"predicates": [{"name": "X"}]}, '$.predicates[0].name: unknown predicate "X"'),
        (
            {"priorities": [{"name": "LeastRequestedPriorty", "weight": 1}]},
            '$.priorities[0].name: unknown priority "LeastRequestedPriorty" (did you mean "LeastRequestedPriority"?)',
        ),
        (
            {"priorities": [{"name": "LeastRequestedPriority"}]},
            "$.priorities[0].weight: Invalid value: 0: must be a positive weight",
        ),
        (
            {"predicates": [{"name": "X", "argument": {"labelsPresence": {}, "serviceAffinity": {}}}]},
            '$.predicates[0].argument: Invalid value: {"labelsPresence":{},"serviceAffinity":{}}: '
            "must have exactly one field",
        ),
        ({"predicats": []}, '$.predicats: unknown field (did you mean "predicates"?)'),
        (
            {"priorities": [{"name": "r", "weight": 1, "argument": {"requestedToCapacityRatioArguments": {}}}]},
            "$.priorities[0]: Required value: args of RequestedToCapacityRatio must have a shape",
        ),
    ],
)
def test_faults(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(policy(**fields), "p")
    assert f"p: {error}" in str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("value", "is_policy"),
    [
        ({"extenders": []}, True),
        ({"ExtenderConfigs": []}, True),
        ({"predicates": None}, True),
        ({}, False),
        ({"extenders": [], "profiles": []}, False),
        ({"apiVersion": "v1", "extenders": []}, False),
    ],
)
def test_a_policy_without_a_kind(value: dict[str, Any], is_policy: bool) -> None:
    assert (convert(value, "p").version == "policy-v1") is is_policy


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [(30_000_000_000, "30s"), (0, "5s"), (5, "5ns"), (1e9, "1s"), ("2s", "2s"), (None, "5s")],
)
def test_timeouts_are_in_nanoseconds(timeout: object, expected: str) -> None:
    entry = {"urlPrefix": "http://a", "filterVerb": "f", "httpTimeout": timeout}
    (extender,) = from_builtins(policy(extenders=[entry])).extenders
    assert extender.http_timeout == Duration.parse(expected)


def test_keys_of_an_extender_in_any_case_and_unknown_ones() -> None:
    entry = {"URLPREFIX": "https://a", "bindverb": "b", "EnableHttps": True, "tlsconfig": {"CAFile": "c", "Nope": 1}}
    converted = convert(policy(extenders=[entry]), "p")
    assert converted.value["extenders"] == [
        {"urlPrefix": "https://a", "bindVerb": "b", "enableHTTPS": True, "tlsConfig": {"caFile": "c"}}
    ]
    assert "p: $.extenders[0].tlsConfig.Nope: unknown field, which has no effect" in map(str, converted.notices)


def test_ignored_resources_have_somewhere_to_go() -> None:
    entry = {
        "urlPrefix": "http://a",
        "filterVerb": "f",
        "managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}],
    }
    config = from_builtins(policy(predicates=[], priorities=[], extenders=[entry]))
    args = config.profiles[0].args("NodeResourcesFit")
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.ignored_resources == ("example.com/a",)
