import pytest

from stowplan.cel.lexer import bytes_value, string_value, tokenize
from stowplan.cel.syntax import CompileError


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("a.b[1u] && !c", ["name", ".", "name", "[", "uint", "]", "&&", "!", "name"]),
        ("x in [1.5, 2e3, .5, 0x1F]", ["name", "in", "[", "double", ",", "double", ",", "double", ",", "int", "]"]),
        ("true?null:false // done", ["true", "?", "null", ":", "false"]),
        ("inner", ["name"]),
    ],
)
def test_tokens(source: str, kinds: list[str]) -> None:
    assert [token.kind for token in tokenize(source)] == [*kinds, "end"]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (r'"a\"b"', 'a"b'),
        (r"'\n\t\\\x41\101\u00e9\U0001F600'", "\n\t\\AA\u00e9\U0001f600"),
        (r"r'\n'", r"\n"),
        ("'''a\n'b'''", "a\n'b"),
        ('""', ""),
    ],
)
def test_strings(source: str, value: str) -> None:
    assert string_value(tokenize(source)[0]) == value


@pytest.mark.parametrize(
    ("source", "value"), [(r"b'\xff\377a'", b"\xff\xffa"), (r"rb'\x'", rb"\x"), ("b'é'", "é".encode())]
)
def test_bytes(source: str, value: bytes) -> None:
    assert bytes_value(tokenize(source)[0]) == value


@pytest.mark.parametrize("source", ["a & b", "'open", r"'\q'", r"'\ud800'"])
def test_what_is_no_token(source: str) -> None:
    with pytest.raises(CompileError):
        string_value(tokenize(source)[0])
