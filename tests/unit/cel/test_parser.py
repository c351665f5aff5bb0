import pytest

from stowplan.cel.parser import parse
from stowplan.cel.syntax import (
    BindNode,
    CallNode,
    CompileError,
    Comprehension,
    CreateList,
    CreateMap,
    Ident,
    Literal,
    Select,
    SyntaxNode,
)


def shown(node: SyntaxNode) -> str:
    """The tree with all its parentheses."""
    match node:
        case Literal():
            return repr(node.value)
        case Ident():
            return node.name
        case Select():
            return f"{'has ' if node.test else ''}{shown(node.operand)}.{'?' if node.optional else ''}{node.name}"
        case CallNode():
            target = "" if node.target is None else f"{shown(node.target)}."
            return f"{target}{node.function}({', '.join(map(shown, node.args))})"
        case CreateList():
            return f"[{', '.join('?' * optional + shown(item) for item, optional in node.items)}]"
        case CreateMap():
            return "{" + ", ".join("?" * opt + f"{shown(k)}: {shown(v)}" for k, v, opt in node.entries) + "}"
        case Comprehension():
            return f"{node.kind}<{shown(node.range)}; {', '.join(node.names)}; {', '.join(map(shown, node.steps))}>"
        case BindNode():
            return f"{node.kind}<{node.name} = {shown(node.value)}; {shown(node.result)}>"
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("1 + 2 * 3", "_+_(1, _*_(2, 3))"),
        ("1 - 2 - 3", "_-_(_-_(1, 2), 3)"),
        ("a || b && c || d", "_||_(a, _&&_(b, c), d)"),
        ("a == b < c", "_<_(_==_(a, b), c)"),
        ("!!a", "a"),
        ("!a.b", "!_(a.b)"),
        ("-1 - -x", "_-_(-1, -_(x))"),
        ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
        ("a[1][?'x'].?y", "_[?_](_[_](a, 1), 'x').?y"),
        ("x in [1, ?y,]", "@in(x, [1, ?y])"),
        ("{'a': 1, ?b: c}", "{'a': 1, ?b: c}"),
        ("f(a, b).g()", "f(a, b).g()"),
        ("has(a.b)", "has a.b"),
        ("a.all(x, x)", "all<a; x; x>"),
        ("a.exists(i, x, x)", "exists<a; i, x; x>"),
        ("a.map(x, p, y)", "map<a; x; p, y>"),
        ("cel.bind(x, 1, x)", "bind<x = 1; x>"),
        ("a.?b.optMap(x, x)", "optMap<x = a.?b; x>"),
        ("-9223372036854775808", "-9223372036854775808"),
    ],
)
def test_trees(source: str, tree: str) -> None:
    assert shown(parse(source)) == tree


@pytest.mark.parametrize(
    ("source", "text", "at"),
    [
        ("1 +", "Syntax error: mismatched input '<EOF>' expecting {", 3),
        ("(1", "Syntax error: mismatched input '<EOF>' expecting ')'", 2),
        ("1 2", "Syntax error: mismatched input '2' expecting <EOF>", 2),
        ("a.1", "Syntax error: mismatched input '.1'", 1),
        ("if == 1", "reserved identifier: if", 0),
        ("9223372036854775808", "invalid int literal", 0),
        ("18446744073709551616u", "invalid uint literal", 0),
        ("has(a)", "invalid argument to has() macro", 4),
        ("[].all(x.y, true)", "argument must be a simple name", 8),
        ("[].map(1, true)", "argument is not an identifier", 7),
        ("[].all(x, x, true)", "duplicate variable name: x", 10),
        ("[].all(__result__, true)", "iteration variable overwrites accumulator variable", 7),
        ("cel.bind(1, 2, 3)", "cel.bind() variable names must be simple identifiers", 9),
        ("a.`b`", "unsupported syntax: '`'", 2),
    ],
)
def test_what_is_no_expression(source: str, text: str, at: int) -> None:
    with pytest.raises(CompileError) as caught:
        parse(source)
    assert caught.value.text.startswith(text)
    assert caught.value.at == at
