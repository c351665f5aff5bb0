from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.config.args import ARGS, NodeAffinityArgs, NodeResourcesFitArgs
from stowplan.config.duration import Duration
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import decode, decode_walking, suggestion
from stowplan.config.types import KubeSchedulerConfiguration


def faults(value: object, kind: type = KubeSchedulerConfiguration) -> list[tuple[str, str]]:
    problems = Problems()
    decode(value, kind, "$", problems)
    return [(path, message) for path, message in problems.errors]


def test_all_faults_are_found_at_once() -> None:
    value = {
        "foo": 1,
        "parallelism": "x",
        "profiles": [{"schedulerName": 1}, 5, {"plugins": {"score": {"enabled": [{"weights": 1}]}}}],
        "leaderElection": {"leaseDuration": "1d"},
    }
    assert faults(value) == [
        ("$.foo", "unknown field"),
        ("$.parallelism", "expected an integer, got a string"),
        ("$.profiles[0].schedulerName", "expected a string, got an integer"),
        ("$.profiles[1]", "expected an object, got an integer"),
        ("$.profiles[2].plugins.score.enabled[0].weights", 'unknown field (did you mean "weight"?)'),
        ("$.leaderElection.leaseDuration", 'time: unknown unit "d" in duration "1d"'),
    ]


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ({"parallelism": True}, "$.parallelism", "expected an integer, got a boolean"),
        ({"parallelism": 1.5}, "$.parallelism", "expected an integer, got a number"),
        ({"parallelism": 2**31}, "$.parallelism", "2147483648 is not between -2147483648 and 2147483647"),
        ({"enableProfiling": "true"}, "$.enableProfiling", "expected a boolean, got a string"),
        ({"profiles": {}}, "$.profiles", "expected a list, got an object"),
        ({"profiles": [{"plugins": []}]}, "$.profiles[0].plugins", "expected an object, got a list"),
        ({"profiles": [{"schedulerName": ""}]}, "$.profiles[0].schedulerName", "Required value"),
        ({"clientConnection": {"qps": "1"}}, "$.clientConnection.qps", "expected a number, got a string"),
        (
            {"leaderElection": {"leaseDuration": 15}},
            "$.leaderElection.leaseDuration",
            "expected a duration such as 15s, got an integer",
        ),
        (
            {"extenders": [{"tlsConfig": {"caData": 1}}]},
            "$.extenders[0].tlsConfig.caData",
            "expected a base64 string, got an integer",
        ),
    ],
)
def test_a_fault_names_path_and_types(value: object, path: str, message: str) -> None:
    assert faults(value) == [(path, message)]


def test_numbers_must_fit_and_base64_must_be_sound() -> None:
    value = {"clientConnection": {"qps": float("nan")}, "extenders": [{"tlsConfig": {"caData": "!!"}}]}
    (qps, data) = faults(value)
    assert qps[0] == "$.clientConnection.qps"
    assert data[0] == "$.extenders[0].tlsConfig.caData"
    assert data[1].startswith("illegal base64 data")


def test_what_is_sound_is_kept() -> None:
    problems = Problems()
    config = decode(
        {"foo": 1, "podMaxBackoffSeconds": 7, "parallelism": "x"}, KubeSchedulerConfiguration, "$", problems
    )
    assert (config.pod_max_backoff_seconds, config.parallelism) == (7, 16)


def test_faulty_items_keep_the_place_of_those_after_them() -> None:
    problems = Problems()
    args = decode_walking({"ignoredResources": [1, "a"]}, NodeResourcesFitArgs, "$", problems)
    assert args.ignored_resources == ("", "a")
    assert [error.path for error in problems.errors] == ["$.ignoredResources[0]"]


@pytest.mark.parametrize(
    "value",
    [
        {"parallelism": None},
        {"profiles": [None]},
        {"profiles": [{"plugins": {"score": None}, "percentageOfNodesToScore": None}]},
        {"parallelism": 16.0},
        {"extenders": [{"tlsConfig": {"caData": "YWJj\nZGVm\r\n"}}]},
    ],
)
def test_null_and_other_spellings_are_fine(value: object) -> None:
    assert faults(value) == []


def test_base64_may_be_broken_over_lines() -> None:
    config = decode(
        {"extenders": [{"tlsConfig": {"caData": "YWJj\nZGVm"}}]}, KubeSchedulerConfiguration, "$", Problems()
    )
    assert config.extenders[0].tls_config is not None
    assert config.extenders[0].tls_config.ca_data == b"abcdef"


def test_api_structs_are_strict_too() -> None:
    problems = Problems()
    value: dict[str, Any] = {
        "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerm": []}}
    }
    decode_walking(value, NodeAffinityArgs, "$", problems)
    assert [error.path for error in problems.errors] == [
        "$.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerm"
    ]


def test_args_that_are_no_object_decode_to_defaults() -> None:
    problems = Problems()
    assert decode_walking([], NodeAffinityArgs, "$.args", problems) == NodeAffinityArgs()
    assert [tuple(error) for error in problems.errors] == [("$.args", "expected an object, got a list")]


def test_suggestion_only_where_a_name_is_near() -> None:
    assert suggestion("parallelisms", ["parallelism", "profiles"]) == ' (did you mean "parallelism"?)'
    assert suggestion("foo", ["parallelism", "profiles"]) == ""


scalars = st.one_of(st.booleans(), st.integers(), st.floats(), st.sampled_from(["", "a", "5s", "1d", "YWJj", "!"]))
KINDS: list[type[msgspec.Struct]] = [KubeSchedulerConfiguration, *ARGS.values()]
field_names = {field.encode_name for kind in KINDS for field in msgspec.structs.fields(kind)}
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(sorted(field_names)), inner, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(value=values)
def test_the_walk_agrees_with_msgspec(kind: Any, value: Any) -> None:
    """Whatever msgspec takes has no faults and decodes alike; whatever is left after the faults decodes at all."""

    def parse(_: type, text: object) -> Duration:
        if not isinstance(text, str):
            raise ValueError("no text")
        return Duration.parse(text)

    problems = Problems()
    walked = decode_walking(value, kind, "$", problems)
    try:
        plain = msgspec.convert(value, kind, dec_hook=parse)
    except msgspec.ValidationError:
        return
    # Unknown fields in API structs are the one thing that msgspec lets pass.
    assert all(error.message.startswith("unknown field") for error in problems.errors)
    assert walked == plain


class Annotations(msgspec.Struct, forbid_unknown_fields=True):
    """Fields whose types have a JSON Schema of their own."""

    count: Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0})] = 0
    times: tuple[Annotated[Any, msgspec.Meta(description="A time.")], ...] = ()


def test_annotated_types_are_checked_as_the_types_that_they_annotate() -> None:
    assert faults({"count": "1", "times": [1, None], "tims": 1}, Annotations) == [
        ("$.count", "expected an integer, got a string"),
        ("$.tims", 'unknown field (did you mean "times"?)'),
    ]
    assert decode({"times": [1, None], "tims": 1}, Annotations, "$", Problems()).times == (1, None)
