import pytest

from stowplan.api.names import label_key_errors, label_value_errors


@pytest.mark.parametrize("key", ["a", "app.kubernetes.io/name", "A-b_c.9", "1", "k" * 63, f"{'p' * 63}.io/x"])
def test_good_keys(key: str) -> None:
    assert label_key_errors(key) == ()


@pytest.mark.parametrize(
    ("key", "beginnings"),
    [
        ("", ["name part must be non-empty", "name part must consist of"]),
        ("-a", ["name part must consist of"]),
        ("a b", ["name part must consist of"]),
        ("a\n", ["name part must consist of"]),
        ("é", ["name part must consist of"]),
        ("k" * 64, ["name part must be no more than 63 bytes"]),
        ("/a", ["prefix part must be non-empty"]),
        ("UP.io/a", ["prefix part a lowercase RFC 1123 subdomain must consist of"]),
        (f"{'p' * 254}/a", ["prefix part must be no more than 253 bytes"]),
        ("a/b/c", ["a valid label key must consist of"]),
        ("x.io/", ["name part must be non-empty", "name part must consist of"]),
    ],
)
def test_bad_keys(key: str, beginnings: list[str]) -> None:
    errors = label_key_errors(key)
    assert len(errors) == len(beginnings)
    assert all(error.startswith(beginning) for error, beginning in zip(errors, beginnings, strict=True))


@pytest.mark.parametrize("value", ["", "a", "A_b-c.9", "v" * 63])
def test_good_values(value: str) -> None:
    assert label_value_errors(value) == ()


@pytest.mark.parametrize(
    ("value", "beginnings"),
    [
        ("a b", ["a valid label must be"]),
        ("-", ["a valid label must be"]),
        ("a\n", ["a valid label must be"]),
        ("v" * 64, ["must be no more than 63 bytes"]),
        ("é" * 32, ["must be no more than 63 bytes", "a valid label must be"]),
    ],
)
def test_bad_values(value: str, beginnings: list[str]) -> None:
    errors = label_value_errors(value)
    assert len(errors) == len(beginnings)
    assert all(error.startswith(beginning) for error, beginning in zip(errors, beginnings, strict=True))


def test_the_wording_is_that_of_kubernetes() -> None:
    assert label_value_errors("a b") == (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
        "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    )
