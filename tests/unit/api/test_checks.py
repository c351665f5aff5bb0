import pytest

from stowplan.api import LabelSelector, NodeSelectorRequirement, NodeSelectorTerm, checks


@pytest.mark.parametrize(
    ("amount", "problem"),
    [
        ("1", None),
        ("0", None),
        (0.5, None),
        ("-0", None),
        (-1, 'must not be negative: "-1"'),
        ("-1m", 'must not be negative: "-1m"'),
        ("1Kib", 'cannot parse quantity "1Kib": quantities must match the regular expression '),
    ],
)
def test_quantity_problem(amount: str | int | float, problem: str | None) -> None:
    found = checks.quantity_problem(amount)
    assert found is None if problem is None else str(found).startswith(problem)


@pytest.mark.parametrize(
    ("amount", "problem"),
    [
        (None, None),
        (0, None),
        (3, None),
        (-1, "must be greater than or equal to 0: -1"),
        ("0%", None),
        ("100%", None),
        ("0050%", None),
        ("101%", 'must not be greater than 100%: "101%"'),
        ("1000%", 'must not be greater than 100%: "1000%"'),
        *(
            (text, f"a valid percent string must be a numeric string followed by an ending '%': \"{text}\"")
            for text in ("", "%", "5", "-5%", "5.5%", "5 %", "5%%")
        ),
    ],
)
def test_int_or_percent(amount: int | str | None, problem: str | None) -> None:
    assert list(checks.int_or_percent(".spec.x", amount)) == ([] if problem is None else [(".spec.x", problem)])


def test_resources_whose_names_are_no_words_are_quoted_in_paths() -> None:
    found = checks.quantities(".requests", {"cpu": "-1", "hugepages-2Mi": "-1", "memory": "1"})
    assert [path for path, _ in found] == [".requests.cpu", '.requests["hugepages-2Mi"]']


def test_absent_parts_have_no_problems() -> None:
    assert list(checks.quantity(".capacity", None)) == []
    assert list(checks.label_selector(".selector", None)) == []
    assert list(checks.label_selector(".selector", LabelSelector())) == []
    assert list(checks.node_selector(".nodeSelector", None)) == []


def test_values_of_node_selectors_are_not_judged() -> None:
    odd = NodeSelectorRequirement(key="cpus", operator="Gt", values=("not a number",))
    assert list(checks.node_selector_term("", NodeSelectorTerm(match_expressions=(odd,)))) == []


def test_keys_of_node_selectors_are() -> None:
    odd = NodeSelectorRequirement(key="-cpus", operator="Exists")
    (path, problem), *others = checks.node_selector_term(".t", NodeSelectorTerm(match_expressions=(odd,)))
    assert path == ".t.matchExpressions[0].key"
    assert problem.endswith(': "-cpus"')
    assert others == []


def test_below_shows_problems_from_further_up() -> None:
    assert list(checks.below(".spec", [(".a", "wrong")])) == [(".spec.a", "wrong")]
