import pytest

from stowplan.cel.types import Bindings, assignable, most_general, parse_type, substitute


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("int", "int", True),
        ("int", "uint", False),
        ("any", "string", True),
        ("list(any)", "list(int)", True),
        ("list(int)", "list(string)", False),
        ("map(string, int)", "map(string, dyn)", True),
        ("null", "string", False),
        ("null", "timestamp", True),
        ("null", "quantity", True),
        ("optional(int)", "int", False),
        ("type(int)", "type(string)", True),
    ],
)
def test_which_types_agree(one: str, other: str, agree: bool) -> None:
    assert assignable(Bindings(), parse_type(one), parse_type(other)) is agree
    assert assignable(Bindings(), parse_type(other), parse_type(one)) is agree


def test_parameters_are_found_out() -> None:
    bound = Bindings()
    assert assignable(bound, parse_type("map(string, list(int))"), parse_type("map(K, list(V))"))
    assert substitute(bound, parse_type("map(V, K)")) == parse_type("map(int, string)")
    assert not assignable(bound, parse_type("bool"), parse_type("K"))
    assert not assignable(bound, parse_type("list(A)"), parse_type("A"))
    assert substitute(Bindings(), parse_type("list(A)"), free_as_dyn=True) == parse_type("list(dyn)")


def test_the_more_general_type_is_kept() -> None:
    assert most_general(parse_type("list(int)"), parse_type("list(dyn)")) == parse_type("list(dyn)")
    assert str(parse_type("map(string, timestamp)")) == "map(string, timestamp)"
    assert parse_type("map(string, any)").declared() == "map(string, google.protobuf.Any)"
