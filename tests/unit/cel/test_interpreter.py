import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        # What decides absorbs errors on either side.
        ("GPU.no && false", False),
        ("false && GPU.no", False),
        ("GPU.no || true", True),
        ("GPU.no || false", "no such key: no"),
        ("GPU.no || GPU.nor", "no such key: no"),
        ("GPU.model || true", True),
        ("GPU.model && true", "no such overload"),
        ("GPU.fast ? true : GPU.no", True),
        ("GPU.model ? true : false", "no such overload"),
        ("!GPU.model", "no such overload"),
        # Names for values are looked at when they are used, once.
        ("cel.bind(x, 1/0, true)", True),
        ("cel.bind(x, 1/0, x == 1)", "division by zero"),
        ("cel.bind(x, 1, cel.bind(x, x + 1, x == 2))", True),
        ("cel.bind(d, GPU, d.fast && d.numa == 1)", True),
        # Optionals.
        ('GPU.?model.orValue("x") == "a100"', True),
        ('GPU.?no.orValue("x") == "x"', True),
        ('GPU[?"no"].hasValue()', False),
        ('GPU.?model.optMap(m, m + "!").orValue("") == "a100!"', True),
        ("optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2", True),
        ("optional.none().or(optional.of(2)).value() == 2", True),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("[1, ?optional.none(), ?optional.of(2)] == [1, 2]", True),
        ('{"a": 1, ?"b": optional.none()} == {"a": 1}', True),
        ("GPU.numa.optMap(x, x).hasValue()", "no such overload: hasValue(int)"),
        # Values whose kind is known only at run time.
        ("GPU.numa + 1 == 2", True),
        ('GPU.numa + "x" == "x"', "no such overload"),
        ('GPU.numa.startsWith("a")', "no such overload"),
        ("size(GPU.numa) == 1", "no such overload: size"),
        (
            'GPU.version.compareTo(quantity("1")) == 0',
            "no such overload: compareTo(kubernetes.Semver, kubernetes.Quantity)",
        ),
        ('GPU.version.isLessThan(semver("1.2.3"))', True),
    ],
)
def test_evaluation(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
