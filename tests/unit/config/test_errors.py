import pytest

from stowplan.config.errors import FieldError, InvalidConfigurationError, Problems
from stowplan.errors import ConfigError


def test_every_fault_is_a_line_with_source_and_path() -> None:
    error = InvalidConfigurationError("a.yaml", [FieldError("$.x", "wrong"), FieldError("", "no text")])
    assert str(error) == "a.yaml: $.x: wrong\na.yaml: no text"
    assert error.errors == (("$.x", "wrong"), ("", "no text"))
    assert isinstance(error, ConfigError)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("$.a", "$.a", True),
        ("$.a", "$.a.b", True),
        ("$.a[0].b", "$.a", True),
        ("$.a", "$.ab", False),
        ("$.a[0]", "$.a[1]", False),
    ],
)
def test_touches_is_about_nesting(one: str, other: str, expected: bool) -> None:
    assert FieldError(one, "").touches(FieldError(other, "")) is expected


def test_problems_speak_as_kubernetes_does() -> None:
    problems = Problems()
    problems.invalid("$.a", 0, "too small")
    problems.required("$.b")
    problems.required("$.c", "can not be empty")
    problems.unsupported("$.d", "x", ["y", "z"])
    problems.duplicate("$.e", "n")
    problems.forbidden("$.f", "must be nil")
    assert [error.message for error in problems.errors] == [
        "Invalid value: 0: too small",
        "Required value",
        "Required value: can not be empty",
        'Unsupported value: "x": supported values: "y", "z"',
        'Duplicate value: "n"',
        "Forbidden: must be nil",
    ]
