from typing import Any

import pytest

from stowplan.config.args import NodeResourcesFitArgs
from stowplan.config.defaults import IN_TREE_PLUGINS, default_configuration
from stowplan.config.errors import InvalidConfigurationError
from stowplan.config.load import from_builtins, load

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
HEAD_YAML = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def faults(value: object, known: frozenset[str] | None = None) -> list[str]:
    with pytest.raises(InvalidConfigurationError) as caught:
        from_builtins(value, known_plugins=known)
    return [line.removeprefix("config: ") for line in str(caught.value).splitlines()]


def with_args(plugin: str, args: Any) -> dict[str, Any]:
    return {**HEAD, "profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}


def test_the_head_alone_is_the_default_configuration() -> None:
    assert from_builtins(HEAD) == load(HEAD_YAML) == default_configuration()
    assert load(b'{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}').profiles


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([], "expected an object, got a list"),
        ({}, "$.kind: Required value: must be KubeSchedulerConfiguration"),
        ({"kind": HEAD["kind"]}, "$.apiVersion: Required value: must be kubescheduler.config.k8s.io/v1"),
        (
            {"apiVersion": "v1", "kind": "Pod", "spec": {}},
            '$.kind: Invalid value: "Pod": must be KubeSchedulerConfiguration',
        ),
        (
            {**HEAD, "apiVersion": "kubescheduler.config.k8s.io/v0", "foo": 1},
            '$.apiVersion: Invalid value: "kubescheduler.config.k8s.io/v0": must be kubescheduler.config.k8s.io/v1',
        ),
        ({**HEAD, "apiVersion": ["v1"]}, '$.apiVersion: Invalid value: ["v1"]: must be kubescheduler.config.k8s.io/v1'),
    ],
)
def test_anything_but_a_configuration_is_refused_in_one_line(value: object, line: str) -> None:
    assert faults(value) == [line]


def test_an_error_names_the_source() -> None:
    text = f"{HEAD_YAML}profiles:\n- plugins:\n    score:\n      enabled:\n      - name: NodeName\n      - name: Foo\n"
    with pytest.raises(InvalidConfigurationError) as caught:
        load(text, "dir/scheduler.yaml", IN_TREE_PLUGINS)
    assert str(caught.value) == (
        'dir/scheduler.yaml: $.profiles[0].plugins.score.enabled[1].name: unknown plugin "Foo"'
    )


def test_faults_of_all_sorts_are_reported_together() -> None:
    text = (
        f"{HEAD_YAML}parallelism: 0\nparallelisms: 1\nprofiles:\n- schedulerName: a\n  schedulerName: a\n"
        "  pluginConfig:\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 101, foo: 1}\n"
        "  plugins: {filter: {enabled: [{name: Foo}]}}\n"
    )
    with pytest.raises(InvalidConfigurationError) as caught:
        load(text, known_plugins=IN_TREE_PLUGINS)
    assert [error.path for error in caught.value.errors] == [
        "$.profiles[0].schedulerName",
        "$.parallelisms",
        "$.profiles[0].pluginConfig[0].args.foo",
        "$.profiles[0].plugins.filter.enabled[0].name",
        "$.parallelism",
        "$.profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
    ]


def test_a_field_that_did_not_decode_is_not_reported_again() -> None:
    value = with_args("NodeResourcesFit", {"scoringStrategy": {"type": 5}})
    assert faults(value) == [
        "$.profiles[0].pluginConfig[0].args.scoringStrategy.type: expected a string, got an integer"
    ]


def test_args_of_our_plugins_become_structs() -> None:
    profile = from_builtins(with_args("NodeResourcesFit", {"ignoredResources": ["x"]})).profiles[0]
    assert profile.args("NodeResourcesFit") == NodeResourcesFitArgs(ignored_resources=("x",))


@pytest.mark.parametrize("args", [None, {}, {"kind": "NodeResourcesFitArgs", "apiVersion": HEAD["apiVersion"]}])
def test_args_may_be_absent_or_tell_their_kind(args: Any) -> None:
    assert from_builtins(with_args("NodeResourcesFit", args)).profiles[0].args("NodeResourcesFit") == (
        NodeResourcesFitArgs()
    )


@pytest.mark.parametrize("args", [{"any": [None, {"x": None}]}, 5, None, {"kind": "WhateverArgs"}])
def test_args_of_other_plugins_stay_as_they_are(args: Any) -> None:
    assert from_builtins(with_args("Mine", args)).profiles[0].args("Mine") == args


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ([], ": expected an object, got a list"),
        ({"kind": "Foo"}, '.kind: Invalid value: "Foo": must be NodeResourcesFitArgs'),
        (
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
            '.apiVersion: Invalid value: "kubescheduler.config.k8s.io/v1beta3": must be kubescheduler.config.k8s.io/v1',
        ),
        ({"ignoredResource": []}, '.ignoredResource: unknown field (did you mean "ignoredResources"?)'),
        (
            {"scoringStrategy": {}},
            '.scoringStrategy.type: Unsupported value: "": '
            'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        ),
    ],
)
def test_faulty_args(args: Any, line: str) -> None:
    assert faults(with_args("NodeResourcesFit", args)) == [f"$.profiles[0].pluginConfig[0].args{line}"]


def test_index_of_a_name_is_that_of_the_file() -> None:
    value = {**HEAD, "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Foo"}]}}}]}
    assert faults(value, IN_TREE_PLUGINS) == ['$.profiles[0].plugins.multiPoint.enabled[0].name: unknown plugin "Foo"']
