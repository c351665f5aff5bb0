"""Splits the input of an evaluation into cases: JSON lines, indented JSON, lists of cases, and YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from stowplan.config.text import decode, find_repeated
from stowplan.errors import InputError
from stowplan.evaluation.fields import is_cut_off

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_begins_yaml = re.compile(rb"""\s*(#|%YAML|---|-\s|["']?[A-Za-z_]\w*["']?:\s)""").match
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_values = json.JSONDecoder()


def cases_of(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The cases in the lines of a file, each as JSON.

    The first line decides. If it has a whole object, every line is a case, and is returned as soon as it is read.
    Raises InputError for a file that is not valid YAML; malformed JSON is returned as a case, which has an error.
    """
    filled = (line.removeprefix(_BYTE_ORDER_MARK) for line in lines if not line.isspace())
    first = next(filled, None)
    if first is None:
        return
    if _begins_yaml(first):
        # Blank lines count here, in texts and in the positions of errors.
        yield from _cases_in_yaml(first + b"".join(lines))
    elif first.lstrip().startswith(b"[") or is_cut_off(first):
        yield from _cases_in_json([first, *filled])
    else:
        yield from chain([first], filled)


def _cases_in_json(lines: list[bytes]) -> Iterator[bytes]:
    """The cases of objects and arrays that may span several lines."""
    whole, rest = _split(b"".join(lines))
    if rest and any(line.startswith(b"{") and not is_cut_off(line) for line in lines[1:]):
        # Cases on a line each, of which the first is malformed.
        yield from lines
        return
    for value in whole:
        if value.startswith(b"["):
            yield from map(bytes, _elements(value))
        else:
            yield value
    if rest:
        yield rest


def _split(text: bytes) -> tuple[list[bytes], bytes]:
    """The JSON values that follow each other in the text, and the rest from the first malformed one on."""
    found: list[bytes] = []
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return found, text
    at = 0
    while (start := _skip_space(decoded, at)) < len(decoded):
        try:
            _, at = _values.raw_decode(decoded, start)
        except (ValueError, RecursionError):
            return found, decoded[start:].encode()
        found.append(decoded[start:at].encode())
    return found, b""


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _cases_in_yaml(text: bytes) -> Iterator[bytes]:
    """The cases of all YAML documents; a document is a case or a list of cases."""
    from stowplan.config import yaml_text

    try:
        documents = [document for document in yaml_text.parse_all(decode(text)) if document is not None]
    except ValueError as error:
        raise InputError(str(error)) from error
    cases: list[Any] = []
    for document in documents:
        cases += document if isinstance(document, list) else [document]
    for case in cases:
        for problem in find_repeated(case, "$"):
            raise InputError(f"{problem.path}: {problem.message}")
    for case in cases:
        yield json.dumps(case).encode()
