import pytest

from stowplan.config.errors import InvalidConfigurationError
from stowplan.config.text import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ("{a: 1}", {"a": 1}),
        ("a: 1\n", {"a": 1}),
        ("---\na: 1\n---\n", {"a": 1}),
    ],
)
def test_json_and_yaml_are_read(text: str | bytes, value: object) -> None:
    assert parse(text, "f") == (value, [])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "f: empty, there is no configuration in it"),
        ("# nothing\n", "f: empty, there is no configuration in it"),
        ("- a\n", "f: expected an object, got a list"),
        ("text", "f: expected an object, got a string"),
        ("a: b\n---\nc: d\n", "f: 2 YAML documents, expected one"),
        ("a: [b\n", "f: malformed YAML: line 2, column 1: did not find expected ',' or ']'"),
        ("a: \x01", "f: malformed YAML: "),
        ('{"a": ', "f: malformed JSON: line 1, column 7: Expecting value"),
        ('{"a": NaN}', "f: malformed JSON: NaN is not a JSON value"),
        ("{a: 1,\nb: [}", "f: malformed YAML: line 2, column 5: did not find expected node content"),
        (b"\xff\xfe", "f: not UTF-8 text: invalid start byte at byte 0"),
        ("[" * 100_000, "f: malformed YAML: line 1, column 200: nested too deeply, 200 levels are allowed"),
        ('{"a":' * 100_000, "f: nested too deeply"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_other_text_is_refused_in_one_line(text: str | bytes, line: str) -> None:
    with pytest.raises(InvalidConfigurationError) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "b": [{"c": 1, "c": 2, "c": 3}], "a": 2}', "a: 1\nb:\n- c: 1\n  c: 2\n  c: 3\na: 2\n"],
    ids=["json", "yaml"],
)
def test_repeated_keys_are_found_with_their_paths(text: str) -> None:
    _, repeated = parse(text, "f")
    assert [error.path for error in repeated] == ["$.a", "$.b[0].c"]
