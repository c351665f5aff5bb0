"""Parses JSON or YAML: one document, without repeated keys."""

import json
from collections.abc import Iterable
from typing import Any

from stowplan.config.errors import FieldError, InvalidConfigurationError
from stowplan.config.strict_decoding import type_name


class RepeatedKeys(dict[str, Any]):
    """An object with repeated keys; the parsers make a plain dict of any other."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        super().__init__()
        self.repeated: dict[str, None] = {}
        for key, value in pairs:
            if key in self:
                self.repeated[key] = None
            self[key] = value


def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else RepeatedKeys(pairs)


def parse(text: str | bytes, source: str, noun: str = "configuration") -> tuple[dict[str, Any], list[FieldError]]:
    """The object in the text, and its repeated keys. Raises InvalidConfigurationError for any other text; `noun` is
    what the text should be."""
    try:
        value = _parse(text, noun)
        repeated = list(find_repeated(value, "$"))
    except RecursionError as error:
        raise InvalidConfigurationError(source, [FieldError("", "nested too deeply")]) from error
    except ValueError as error:
        raise InvalidConfigurationError(source, [FieldError("", str(error))]) from error
    return value, repeated


def decode(text: str | bytes) -> str:
    """The text without byte order mark. Raises ValueError with the position of invalid UTF-8."""
    try:
        return text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: {error.reason} at byte {error.start}") from error


def find_repeated(value: Any, path: str) -> Iterable[FieldError]:
    """The repeated keys in parsed data."""
    if isinstance(value, dict):
        if isinstance(value, RepeatedKeys):
            yield from (FieldError(f"{path}.{key}", "given more than once") for key in value.repeated)
        for key, item in value.items():
            yield from find_repeated(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_repeated(item, f"{path}[{index}]")


def _parse(text: str | bytes, noun: str) -> dict[str, Any]:
    decoded = decode(text)
    value = _parse_json(decoded) if decoded.lstrip().startswith("{") else _parse_yaml(decoded)
    if value is None:
        raise ValueError(f"empty, there is no {noun} in it")
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {type_name(value)}")
    return value


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=make_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        try:
            return _parse_yaml(text)  # YAML has objects in braces too.
        except ValueError as yaml_error:
            raise ValueError(json_or_yaml_problem(text, error, yaml_error)) from error


def json_or_yaml_problem(text: str, json_error: json.JSONDecodeError, yaml_error: ValueError) -> str:
    """The problem of a text in braces that is neither JSON nor YAML, from the parser whose language it is in.

    It is YAML if JSON's parser rejects an unquoted key, finds a second document, or stops on an earlier line.
    """
    is_yaml = json_error.msg.startswith(("Expecting property name", "Extra data"))
    is_yaml = is_yaml or getattr(yaml_error, "line", 0) > json_error.lineno
    if is_yaml and json_error.pos < len(text.rstrip()):
        return str(yaml_error)
    return f"malformed JSON: line {json_error.lineno}, column {json_error.colno}: {json_error.msg}"


def _parse_yaml(text: str) -> Any:
    # Importing the YAML library takes longer than parsing most configurations, and JSON does not need it.
    from stowplan.config import yaml_text

    return yaml_text.parse(text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"malformed JSON: {name} is not a JSON value")
