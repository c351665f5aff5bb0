from pathlib import Path
from typing import Any

import pytest

from stowplan.api import codec
from stowplan.errors import InputError
from stowplan.simulator.input.documents import Origin, find_files, read_documents

TOO_LONG = "f.yaml: malformed YAML: line 1, column 4: a number of 100000 characters; 100 are allowed"
TOO_DEEP = "nested too deeply, 200 levels are allowed"


def documents(text: str | bytes, name: str = "f.yaml") -> list[tuple[str, Any]]:
    data = text.encode() if isinstance(text, str) else text
    return [(str(origin), codec.whole(document)) for origin, document in read_documents(name, lambda _: data)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1", [("f.yaml", {"a": 1})]),
        ('{"a": 1}', [("f.yaml", {"a": 1})]),
        ('\ufeff  {"a": 1}', [("f.yaml", {"a": 1})]),
        ("{a: 1}", [("f.yaml", {"a": 1})]),
        ("{a: 1}\n---\n{a: 2}", [("f.yaml[0]", {"a": 1}), ("f.yaml[1]", {"a": 2})]),
        ("---\na: 1\n---\n# nothing\n---\na: 2", [("f.yaml[0]", {"a": 1}), ("f.yaml[2]", {"a": 2})]),
    ],
)
def test_documents_and_where_they_stand(text: str, found: list[tuple[str, Any]]) -> None:
    assert documents(text) == found


def test_standard_input_has_a_name() -> None:
    assert documents("a: 1", "-") == [("<stdin>", {"a": 1})]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "f.yaml: empty: it contains no object"),
        ("# nothing\n---\n", "f.yaml: empty: it contains no object"),
        (b"\x89PNG\r\n", "f.yaml: not UTF-8 text: invalid start byte at byte 0"),
        ("a: [1", "f.yaml: malformed YAML: line 2, column 1: did not find expected ',' or ']'"),
        ('{"a": 1', "f.yaml: malformed JSON: line 1, column 8: Expecting ',' delimiter"),
        ("a: 1\na: 2", "f.yaml: $.a: given more than once"),
        ("b: 1\n---\na: {c: 1, c: 2}", "f.yaml[1]: $.a.c: given more than once"),
        ('\n{"a": "\\"[",\n"a":' * 100_000, f"f.yaml: malformed JSON: line 402: {TOO_DEEP}"),
        ("[" * 1000, f"f.yaml: malformed YAML: line 1, column 200: {TOO_DEEP}"),
        ("a: &a [*a]", "f.yaml: malformed YAML: line 1, column 8: alias *a contains itself"),
        ("b: 1\n---\n&a\n- 1\n- *a", "f.yaml: malformed YAML: line 5, column 3: alias *a contains itself"),
        ("&a {x: {<<: *a}}", "f.yaml: malformed YAML: line 1, column 13: alias *a contains itself"),
        (
            "a: " + "9" * 100_000,
            TOO_LONG,
        ),
        (
            "a: 0x" + "f" * 99_998,
            TOO_LONG,
        ),
        (
            "{a: 1}\n---\nb: [1,\n---\n",
            "f.yaml: malformed YAML: line 4, column 1: did not find expected node content",
        ),
        (
            '{"a": 1}\n---\nb: {x: 1\nc: d',
            "f.yaml: malformed YAML: line 4, column 2: did not find expected ',' or '}'",
        ),
        ("{a: 1, b: [}", "f.yaml: malformed YAML: line 1, column 12: did not find expected node content"),
        ('{"a": 1,\n"b": [1, 2}}', "f.yaml: malformed JSON: line 2, column 11: Expecting ',' delimiter"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line(text: str | bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        documents(text)
    assert str(caught.value) == problem


def test_control_characters_are_told_of() -> None:
    with pytest.raises(InputError, match=r"^f\.yaml: malformed YAML: [^\n]+$"):
        documents("a: \x00")


def test_a_problem_is_told_from_the_top_of_the_document() -> None:
    assert Origin("f.json", "$.items[3]").locate("$.spec: bad") == "f.json: $.items[3].spec: bad"
    assert Origin("f.yaml[1]").locate("$: bad") == "f.yaml[1]: $: bad"
    assert str(Origin("f.json", "$.items[3]")) == "f.json: $.items[3]"


def test_the_manifests_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "c.yml", "d.txt"):
        (tmp_path / name).touch()
    (tmp_path / "e.yaml").mkdir()
    assert [Path(file).name for file in find_files(str(tmp_path))] == ["a.json", "b.yaml", "c.yml"]


def test_files_and_standard_input_are_taken_as_they_are(tmp_path: Path) -> None:
    assert find_files("-") == ["-"]
    assert find_files(str(tmp_path / "gone.txt")) == [str(tmp_path / "gone.txt")]


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{tmp_path}: no manifests in this folder "):
        find_files(str(tmp_path))
