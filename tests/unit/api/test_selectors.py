from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    Selector,
    SelectorError,
    SelectorRequirement,
    codec,
    compile_label_selector,
    selector_from_map,
)
from stowplan.api.selectors import GT, LT, parse_int64, requirements_match


def expression(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def selector(*expressions: LabelSelectorRequirement, **labels: str) -> Selector:
    return compile_label_selector(LabelSelector(match_labels=labels, match_expressions=expressions))


@pytest.mark.parametrize(
    ("operator", "values", "labels", "matches"),
    [
        ("In", ("x", "y"), {"k": "y"}, True),
        ("In", ("x", "y"), {"k": "z"}, False),
        ("In", ("x", "y"), {}, False),
        ("In", ("",), {}, False),
        ("In", ("",), {"k": ""}, True),
        ("NotIn", ("x", "y"), {"k": "y"}, False),
        ("NotIn", ("x", "y"), {"k": "z"}, True),
        ("NotIn", ("x", "y"), {}, True),
        ("Exists", (), {"k": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {"k": ""}, False),
        ("DoesNotExist", (), {}, True),
    ],
)
def test_operators(operator: str, values: tuple[str, ...], labels: dict[str, str], matches: bool) -> None:
    assert selector(expression("k", operator, *values)).matches({**labels, "other": "x"}) is matches


@pytest.mark.parametrize(
    ("operator", "bound", "label", "matches"),
    [
        (GT, "5", "6", True),
        (GT, "5", "5", False),
        (LT, "5", "4", True),
        (LT, "5", "5", False),
        (GT, "5", "+6", True),
        (LT, "5", "-6", True),
        (GT, "5", "six", False),
        (GT, "5", "6.0", False),
        (GT, "5", " 6", False),
        (GT, "5", "1_0", False),
        (GT, "5", None, False),
        (GT, "5", str(2**63), False),
        (GT, "5", str(2**63 - 1), True),
        (LT, "5", str(-(2**63)), True),
    ],
)
def test_comparisons(operator: str, bound: str, label: str | None, matches: bool) -> None:
    labels = {} if label is None else {"k": label}
    assert requirements_match((SelectorRequirement("k", operator, (bound,)),), labels) is matches


def test_all_requirements_must_hold() -> None:
    both = selector(expression("tier", "NotIn", "db"), app="web")
    assert both.matches({"app": "web"})
    assert not both.matches({"app": "web", "tier": "db"})
    assert not both.matches({"tier": "cache"})
    assert both.keys == {"app", "tier"}


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert compile_label_selector(None) == NOTHING
    assert compile_label_selector(LabelSelector()) == EVERYTHING
    assert (NOTHING.nothing, NOTHING.empty, NOTHING.matches({})) == (True, False, False)
    assert (EVERYTHING.nothing, EVERYTHING.empty, EVERYTHING.matches({"a": "b"})) == (False, True, True)


def test_equal_meaning_is_equal_value() -> None:
    one = selector(expression("b", "In", "y", "x", "y"), expression("b", "In", "x", "y"), a="1")
    other = selector(expression("a", "In", "1"), expression("b", "In", "x", "y"))
    assert one == other
    assert hash(one) == hash(other)
    assert one.requirements == (SelectorRequirement("a", "In", ("1",)), SelectorRequirement("b", "In", ("x", "y")))
    assert one != selector(expression("b", "NotIn", "x", "y"), a="1")
    assert EVERYTHING != NOTHING


def test_conjoin_selects_what_both_select() -> None:
    web, front = selector(app="web"), selector(expression("tier", "Exists"))
    assert web.conjoin(front) == front.conjoin(web) == selector(expression("tier", "Exists"), app="web")
    assert web.conjoin(EVERYTHING) == web.conjoin(web) == web
    assert web.conjoin(NOTHING) == NOTHING.conjoin(web) == NOTHING


def test_selectors_from_maps_check_no_syntax() -> None:
    assert selector_from_map({"a": "b"}) == selector(a="b")
    assert selector_from_map({}) == EVERYTHING
    assert selector_from_map({"not a key": "not a value"}).matches({"not a key": "not a value"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (expression("k", "Equals", "v"), '"Equals" is not a valid label selector operator'),
        (expression("k", "Gt", "1"), '"Gt" is not a valid label selector operator'),
        (expression("k", ""), '"" is not a valid label selector operator'),
        (expression("k", "In"), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (
            expression("k", "Exists", "v"),
            'values: Invalid value: ["v"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_errors_are_worded_as_upstream(given: LabelSelectorRequirement, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selector(given)
    assert str(caught.value) == message


def test_syntax_errors_are_collected_for_one_requirement() -> None:
    with pytest.raises(SelectorError) as caught:
        selector(expression("-k", "In", "a b", "ok"))
    assert str(caught.value).startswith('[key: Invalid value: "-k": name part must consist of')
    assert ', values[0][-k]: Invalid value: "a b": a valid label must be' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7), ("-0", 0), ("+7", 7), ("007", 7), ("-" + "0" * 61 + "7", -7), ("0" * 5000, 0), ("0" * 5000 + "7", 7),
        (str(2**63 - 1), 2**63 - 1), (str(2**63), None), (str(-(2**63)), -(2**63)), (str(-(2**63) - 1), None),
        ("9" * 5000, None), ("", None), ("+", None), ("+-7", None), ("1e3", None), ("1_0", None), (" 7", None),
        ("7\n", None), ("0x7", None), ("٣", None), ("²", None),
    ],
)  # fmt: skip
def test_parse_int64(text: str, number: int | None) -> None:
    """As strconv.ParseInt(text, 10, 64)."""
    assert parse_int64(text) == number


keys = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["", "x", "y", "1"])
expressions = st.one_of(
    st.builds(
        lambda key, operator, chosen: expression(key, operator, *chosen),
        keys,
        st.sampled_from(["In", "NotIn"]),
        st.lists(values, min_size=1, max_size=3),
    ),
    st.builds(expression, keys, st.sampled_from(["Exists", "DoesNotExist"])),
)
label_sets = st.dictionaries(keys, values)


@given(st.lists(expressions, max_size=4), st.lists(expressions, max_size=4), label_sets)
def test_conjoin_is_and(
    first: list[LabelSelectorRequirement], second: list[LabelSelectorRequirement], labels: dict[str, str]
) -> None:
    one, other = selector(*first), selector(*second)
    assert one.conjoin(other).matches(labels) == (one.matches(labels) and other.matches(labels))


@given(st.lists(expressions, max_size=5), st.randoms(use_true_random=False))
def test_order_does_not_matter(given: list[LabelSelectorRequirement], random: Random) -> None:
    shuffled = list(given)
    random.shuffle(shuffled)
    assert selector(*given) == selector(*shuffled)


def test_selectors_compile_from_decoded_json() -> None:
    decoded = codec.decode(LabelSelector, b'{"matchExpressions":[{"key":"a","operator":"Exists","values":null}]}')
    assert compile_label_selector(decoded).matches({"a": ""})
