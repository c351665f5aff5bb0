import pytest

from stowplan.api import (
    CompiledNodeSelector,
    CompiledTerm,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    SelectorRequirement,
    compile_node_selector,
    compile_preferred_terms,
)


def want(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def term(*labels: NodeSelectorRequirement, fields: tuple[NodeSelectorRequirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=labels, match_fields=fields)


def compiled(*terms: NodeSelectorTerm) -> CompiledNodeSelector:
    return compile_node_selector(NodeSelector(node_selector_terms=terms))


ZONE_A = want("zone", "In", "a")
NAMED = want("metadata.name", "In", "n1")
BROKEN = want("zone", "Near", "a")


def test_terms_are_alternatives_of_requirements() -> None:
    selector = compiled(term(ZONE_A, want("cpus", "Gt", "4")), term(want("gpu", "Exists")))
    assert selector.matches({"zone": "a", "cpus": "8"}, "n")
    assert selector.matches({"gpu": ""}, "n")
    assert not selector.matches({"zone": "a", "cpus": "4"}, "n")
    assert not selector.matches({}, "n")
    assert selector.keys == {"zone", "cpus", "gpu"}
    assert selector.error is None


@pytest.mark.parametrize(
    ("field", "name", "matches"),
    [
        (want("metadata.name", "In", "n1"), "n1", True),
        (want("metadata.name", "In", "n1"), "n2", False),
        (want("metadata.name", "NotIn", "n1"), "n1", False),
        (want("metadata.name", "NotIn", "n1"), "n2", True),
        (want("metadata.name", "In", "n1"), "", True),
        (want("metadata.uid", "In", "n1"), "n1", False),
        (want("metadata.uid", "NotIn", "n1"), "n1", True),
    ],
)
def test_fields(field: NodeSelectorRequirement, name: str, matches: bool) -> None:
    assert compiled(term(fields=(field,))).matches({}, name) is matches


def test_labels_and_fields_of_a_term_must_both_hold() -> None:
    selector = compiled(term(ZONE_A, fields=(NAMED,)))
    assert selector.matches({"zone": "a"}, "n1")
    assert not selector.matches({"zone": "a"}, "n2")
    assert not selector.matches({"zone": "b"}, "n1")


@pytest.mark.parametrize("terms", [(), (term(),), (term(), term())])
def test_without_a_usable_term_no_node_matches(terms: tuple[NodeSelectorTerm, ...]) -> None:
    selector = compiled(*terms)
    assert not selector.matches({"zone": "a"}, "n1")
    assert selector.error is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            term(BROKEN),
            'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        (
            term(want("zone", "In")),
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: "
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            term(want("cpus", "Gt", "many")),
            'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "many": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            term(want("cpus", "Lt", "1", "2")),
            'nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: ["1","2"]: '
            "for 'Gt', 'Lt' operators, exactly one value is required",
        ),
        (
            term(fields=(want("metadata.name", "In", "n1", "n2"),)),
            'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["n1","n2"]: must have one element',
        ),
        (
            term(fields=(want("metadata.name", "Exists"),)),
            'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": '
            'supported values: "In", "NotIn"',
        ),
    ],
)
def test_a_term_that_cannot_be_parsed_never_matches(broken: NodeSelectorTerm, message: str) -> None:
    alone = compiled(broken)
    assert alone.error == message
    assert alone.terms == ()
    assert not alone.matches({"zone": "a", "cpus": "8"}, "n1")
    assert compiled(broken, term(ZONE_A)).matches({"zone": "a"}, "n1")


def test_errors_of_several_terms_are_listed_in_brackets() -> None:
    error = compiled(term(BROKEN), term(ZONE_A), term(BROKEN)).error
    assert error is not None
    assert error.startswith("[nodeSelectorTerms[0].")
    assert ", nodeSelectorTerms[2]." in error
    assert error.endswith("]")


def test_equal_meaning_is_equal_value() -> None:
    gpu, unnamed = want("gpu", "Exists"), want("name", "NotIn", "y", "x")
    one = compiled(term(ZONE_A, unnamed), term(gpu), term())
    other = compiled(term(gpu), term(want("name", "NotIn", "x", "y"), ZONE_A), term(ZONE_A, unnamed))
    assert one == other
    assert hash(one) == hash(other)
    assert one.terms == (
        CompiledTerm((SelectorRequirement("gpu", "Exists"),)),
        CompiledTerm((SelectorRequirement("name", "NotIn", ("x", "y")), SelectorRequirement("zone", "In", ("a",)))),
    )


def test_preferred_terms_add_up_their_weights() -> None:
    preferred = compile_preferred_terms(
        (
            PreferredSchedulingTerm(weight=3, preference=term(ZONE_A)),
            PreferredSchedulingTerm(weight=4, preference=term(fields=(NAMED,))),
            PreferredSchedulingTerm(weight=4, preference=term(fields=(NAMED,))),
            PreferredSchedulingTerm(weight=0, preference=term(BROKEN)),
            PreferredSchedulingTerm(weight=9, preference=term()),
        )
    )
    assert preferred.error is None
    assert len(preferred.terms) == 3
    assert preferred.keys == {"zone"}
    assert preferred.score({"zone": "a"}, "n1") == 11
    assert preferred.score({"zone": "a"}, "n2") == 3
    assert preferred.score({}, "n1") == 8


def test_the_order_of_preferred_terms_does_not_matter() -> None:
    first = PreferredSchedulingTerm(weight=3, preference=term(ZONE_A))
    second = PreferredSchedulingTerm(weight=4, preference=term(fields=(NAMED,)))
    assert compile_preferred_terms((first, second)) == compile_preferred_terms((second, first))
    assert compile_preferred_terms((first, first)) != compile_preferred_terms((first,))


def test_one_broken_preferred_term_spoils_all() -> None:
    preferred = compile_preferred_terms(
        (
            PreferredSchedulingTerm(weight=1, preference=term(ZONE_A)),
            PreferredSchedulingTerm(weight=1, preference=term(want("cpus", "Gt", "many"))),
        )
    )
    assert preferred.terms == ()
    assert preferred.error == (
        '[1].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )
