import json
import re
from collections.abc import Callable

import pytest

from stowplan.logs.format import LogEntry, ObjectRef, as_json, as_text, quote

POD = ObjectRef("default", "p1")


def entry(message: str = "Hello", error: object = None, level: int | None = 2, **values: object) -> LogEntry:
    return LogEntry("I", 1_700_000_000.123456, "/src/scheduler/scheduling_loop.py", 12, level, message, error, values)


def values_of(line: str) -> str:
    return line.partition("] ")[2]


def test_the_head_of_a_line() -> None:
    assert re.fullmatch(r"I\d{4} \d\d:\d\d:\d\d\.123456 +\d+ scheduling_loop\.py:12\] \"Hello\"", as_text(entry()))


def test_process_numbers_are_padded() -> None:
    assert re.search(r"\.123456 [ \d]{7} scheduling_loop", as_text(entry()))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (POD, '"default/p1"'),
        (ObjectRef("", "n1"), '"n1"'),
        ("a b", '"a b"'),
        ('say "x"', '"say \\"x\\""'),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        (["a", 1], '["a",1]'),
        ({"a": 1}, '{"a":1}'),
        (ValueError("no"), '"no"'),
        ("one\ntwo", "<\n\tone\n\ttwo\n >"),
        ("one\ntwo\n", "<\n\tone\n\ttwo\n >"),
    ],
)
def test_values_in_text(value: object, text: str) -> None:
    assert values_of(as_text(entry(key=value))) == f'"Hello" key={text}'


def test_an_error_comes_before_the_values() -> None:
    assert values_of(as_text(entry(error=OSError("gone"), pod=POD))) == '"Hello" err="gone" pod="default/p1"'


def test_lines_of_others_are_not_quoted() -> None:
    assert values_of(as_text(entry('it said "x"')._replace(structured=False))) == 'it said "x"'


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("plain", '"plain"'), ("tab\t", '"tab\\t"'), ("\x01", '"\\x01"'), ("é", '"é"'), ("\u200b", '"\\u200b"')],
)
def test_quoting_is_gos(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_json() -> None:
    assert json.loads(as_json(entry(pod=POD, node="n1", count=3))) == {
        "ts": 1_700_000_000_123.456,
        "caller": "scheduler/scheduling_loop.py:12",
        "msg": "Hello",
        "v": 2,
        "pod": {"name": "p1", "namespace": "default"},
        "node": "n1",
        "count": 3,
    }


def test_an_error_in_json_has_no_level() -> None:
    told = json.loads(as_json(entry(error=OSError("gone"), level=None)))
    assert told["err"] == "gone"
    assert "v" not in told


def test_what_is_no_character_is_escaped() -> None:
    given = entry(error="file\udce9", files=["\udcff"])
    assert json.loads(as_json(given))["err"] == "file\udce9"
    assert values_of(as_text(given)) == '"Hello" err="file\\udce9" files=["\\udcff"]'


@pytest.mark.parametrize("write", [as_text, as_json])
@pytest.mark.parametrize("secret", ["Bearer eyJhbGciOi.abc_def", "basic dXNlcjpwYXNz"])
def test_credentials_are_left_out(write: object, secret: str) -> None:
    assert callable(write)
    line = write(entry(header=f"Authorization: {secret}"))
    assert secret.partition(" ")[2] not in line
    assert "[redacted]" in line


@pytest.mark.parametrize("write", [as_text, as_json])
def test_passwords_in_urls_are_left_out(write: Callable[[LogEntry], str]) -> None:
    line = write(entry(error="407 from http://me:secret@proxy:3128, and not from https://proxy/a:b@c"))
    assert "407 from http://me:[redacted]@proxy:3128, and not from https://proxy/a:b@c" in line
