import time

import pytest
from tests.unit.cel.asking import ask, chained

from stowplan.cel.cost import CPU_LIMIT_SECONDS


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ('1 + "a" == 2', "1:3: found no matching overload for '_+_' applied to '(int, string)'"),
        ('"a".foo()', "1:8: undeclared reference to 'foo' (in container '')"),
        ("foo(1)", "1:4: undeclared reference to 'foo' (in container '')"),
        ("size(1) == 1", "1:5: found no matching overload for 'size' applied to '(int)'"),
        ('"a".size(1) == 1', "1:9: found no matching overload for 'size' applied to 'string.(int)'"),
        ('1 && "a".size() == 1', "1:1: expected type 'bool' but found 'int'"),
        ("[1].all(x, x)", "1:12: expected type 'bool' but found 'int'"),
        ("device.driver.foo", "1:14: type 'string' does not support field selection"),
        ("device.driver.all(x, true)", "1:7: expression of type 'string' cannot be range of a comprehension"),
        ("GPU.model.exists(x, true)", "expression of type 'any' cannot be range of a comprehension"),
        ('true ? 1 : "a"', "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        ('"a" in {1: 2}', "1:5: found no matching overload for '@in' applied to '(string, map(int, int))'"),
        ("a.b{c: 1} == null", "undeclared reference to 'a.b' (in container '')"),
        ("optional.of(1) == 1", "found no matching overload for '_==_' applied to '(optional_type(int), int)'"),
        ('device.capacity["x"].y >= quantity("1")', "applied to '(kubernetes.Quantity, kubernetes.Quantity)'"),
        ("[1].transformMap(k, v, v) == {}", None),
        ("[] == [1]", None),
        ("{}.size() == 0", None),
        ("[1].filter(x, x > 1) == []", None),
        ("GPU.numa + 1 == 2", None),
        ("GPU.model.startsWith(GPU.model)", None),
        ("[[1], []].size() == 2", None),
        ("type(1) == int && type(int) == type", None),
        ("type(ip('::1')) == net.IP", None),
        ("[1, 2].map(string, string + 1).sum() == 5", None),
    ],
)
def test_types(expression: str, error: str | None) -> None:
    answer = ask(expression)
    if error is None:
        assert isinstance(answer, bool)
    else:
        assert isinstance(answer, str)
        assert error in answer


def test_all_errors_are_told_in_order() -> None:
    answer = ask("foo && bar")
    assert isinstance(answer, str)
    assert answer.index("'foo'") < answer.index("'bar'")


CHAIN = " && ".join(f"a{i} == [{{a{i + 1}: a{i + 1}}}]" for i in range(40))


@pytest.mark.parametrize(
    "expression",
    [
        chained("1", "{x: x}", 40, "true"),
        chained("1", "{x: x}", 40, "x == 'a'"),
        chained("[]", "{x: x}", 40, "x == x"),
        f"{''.join(f'cel.bind(a{i}, [], ' for i in range(41))}{CHAIN} && a0.size() == 0{')' * 41}",
    ],
)
def test_types_that_are_too_large_are_an_error(expression: str) -> None:
    began = time.thread_time()
    answer = str(ask(expression))
    assert time.thread_time() - began < CPU_LIMIT_SECONDS
    assert "types of the expression are too large to check" in answer


def test_nested_maps_are_checked() -> None:
    assert ask(chained("1", "{'a': x}", 40, "x.size() == 1")) is True
    assert ask(chained("1", "{'a': x, 'b': x}", 10, "x == x")) is True
    assert ask(chained("1", "[x, x]", 40, "x.size() == 2")) is True
