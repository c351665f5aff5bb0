"""The lexer.

Upstream: github.com/google/cel-go/parser/gen/CEL.g4
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stowplan.cel.syntax import CompileError


class Token(NamedTuple):
    """A token. `kind`: int, uint, double, string, bytes, name, escaped, end, or the symbol or keyword itself."""

    kind: str
    text: str
    at: int


KEYWORDS = frozenset(("in", "true", "false", "null"))
RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("package", "namespace", "null", "return", "true", "var", "void", "while"),
    )
)

_STRINGS = r'(?:"""(?:\\.|[^\\])*?"""' r"|'''(?:\\.|[^\\])*?'''" r'|"(?:\\.|[^\\"\n\r])*"' r"|'(?:\\.|[^\\'\n\r])*')"
_RAW = r"""(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')"""
_TOKEN = re.compile(
    r"(?P<skip>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<rawbytes>(?:[bB][rR]|[rR][bB]){_RAW})|(?P<raw>[rR]{_RAW})|(?P<bytes>[bB]{_STRINGS})|(?P<string>{_STRINGS})"
    r"|(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<uint>0x[0-9a-fA-F]+[uU]|\d+[uU])|(?P<int>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<symbol>&&|\|\||[<>=!]=|[\[\]{}().,\-!?:+*/%<>])",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\"'\\?`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def tokenize(source: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise CompileError(f"Syntax error: token recognition error at: '{source[at]}'", at)
        kind, text = str(match.lastgroup), match.group()
        if kind == "symbol" or (kind == "name" and text in KEYWORDS):
            kind = text
        if kind != "skip":
            tokens.append(Token(kind, text, at))
        at = match.end()
    tokens.append(Token("end", "<EOF>", at))
    return tokens


def string_value(token: Token) -> str:
    """The value of a string literal."""
    if token.kind == "raw":
        return _unquote(token.text[1:])
    return _ESCAPE.sub(lambda match: _escaped(match, token.at), _unquote(token.text))


def bytes_value(token: Token) -> bytes:
    """The value of a bytes literal. Numeric escapes are bytes."""
    if token.kind == "rawbytes":
        return _unquote(token.text[2:]).encode()
    text, at = _unquote(token.text[1:]), 0
    out = bytearray()
    for match in _ESCAPE.finditer(text):
        out += text[at : match.start()].encode()
        _, hexadecimal, _, _, octal, _ = match.groups()
        if hexadecimal or octal:
            out.append(int(hexadecimal, 16) if hexadecimal else int(octal, 8))
        else:
            out += _escaped(match, token.at).encode()
        at = match.end()
    return bytes(out + text[at:].encode())


def _unquote(text: str) -> str:
    width = 3 if text.startswith(('"""', "'''")) and len(text) >= 6 else 1
    return text[width:-width]


def _escaped(match: re.Match[str], at: int) -> str:
    simple, hexadecimal, short, long, octal, wrong = match.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    if wrong is not None:
        raise CompileError("Syntax error: token recognition error at an escape sequence", at)
    code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise CompileError("invalid unicode code point", at)
    return chr(code)
