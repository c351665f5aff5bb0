"""Reads files, folders and standard input as JSON documents with their origin."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from stowplan.config.text import decode, find_repeated, json_or_yaml_problem
from stowplan.errors import InputError

Read = Callable[[str], bytes]
"""Returns the content of a file, `-` being standard input, or raises an InputError with its name."""

_STDIN = "-"
_ENDINGS = (".json", ".yaml", ".yml")
_MAX_DEPTH = 200
_json_tokens = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}\n]').findall
_is_json = msgspec.json.Decoder(msgspec.Raw).decode


class Origin(NamedTuple):
    """The origin of an object: the file, with the index of the document if it has several, and the path inside."""

    source: str
    path: str = "$"

    def __str__(self) -> str:
        return self.source if self.path == "$" else f"{self.source}: {self.path}"

    def locate(self, problem: str) -> str:
        """A problem with a path relative to the object, as one with the file and a path relative to the document."""
        return f"{self.source}: {self.path}{problem.removeprefix('$')}"


def find_files(name: str) -> list[str]:
    """The file itself, or the manifests of a folder, without its subfolders."""
    if name == _STDIN or not os.path.isdir(name):
        return [name]
    try:
        entries = sorted(os.scandir(name), key=lambda entry: entry.name)
    except OSError as problem:
        raise InputError(f"{name}: {problem.strerror or problem}") from problem
    found = [entry.path for entry in entries if entry.name.endswith(_ENDINGS) and entry.is_file()]
    if not found:
        raise InputError(f"{name}: no manifests in this folder (files that end in {', '.join(_ENDINGS)})")
    return found


def read_documents(name: str, read: Read) -> Iterator[tuple[Origin, bytes]]:
    """The documents of a file. Raises InputError if it cannot be parsed or repeats keys."""
    source = "<stdin>" if name == _STDIN else name
    text = ""
    try:
        text = decode(read(name))
        documents = _split(text)
    except RecursionError as error:
        place = f"line {_deep_line(text)}: nested too deeply, {_MAX_DEPTH} levels are allowed"
        raise InputError(f"{source}: malformed JSON: {place}") from error
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error
    several = len(documents) > 1
    filled = False
    for index, document in enumerate(documents):
        origin = Origin(f"{source}[{index}]" if several else source)
        if document is not None:
            filled = True
            yield origin, document if isinstance(document, bytes) else _as_json(document, origin)
    if not filled:
        raise InputError(f"{source}: empty: it contains no object")


def _split(text: str) -> list[Any]:
    """The documents of a text: JSON as bytes, YAML as plain data, None for empty ones."""
    from stowplan.config import yaml_text

    if not text.lstrip().startswith("{"):
        return yaml_text.parse_all(text)
    try:
        return [bytes(_is_json(text))]
    except msgspec.DecodeError:
        pass
    try:
        return yaml_text.parse_all(text)  # YAML has objects in braces, too.
    except ValueError as yaml_error:
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(json_or_yaml_problem(text, error, yaml_error)) from None
        raise


def _deep_line(text: str) -> int:
    """The line on which JSON exceeds the allowed depth."""
    line = 1
    depth = 0
    for token in _json_tokens(text):
        line += token[0] == "\n"
        depth += token[0] in "[{"
        depth -= token[0] in "]}"
        if depth > _MAX_DEPTH:
            break
    return line


def _as_json(document: Any, origin: Origin) -> bytes:
    for repeated in find_repeated(document, "$"):
        raise InputError(origin.locate(f"{repeated.path}: {repeated.message}"))
    return msgspec.json.encode(document)
