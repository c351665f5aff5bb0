"""The configuration reference, from the structs, with meanings from meanings.yaml."""

import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml
from tests.docs.reference.docstrings import members
from tests.docs.reference.tables import code, table

from stowplan.config.args import ARGS
from stowplan.config.duration import Duration
from stowplan.config.types import KubeSchedulerConfiguration, LeaderElection
from stowplan.extender.server.configuration import ExtenderServerConfiguration

_SCHEDULER = "KubeSchedulerConfiguration"
_KINDS: dict[str, type[msgspec.Struct]] = {
    _SCHEDULER: KubeSchedulerConfiguration,
    "ExtenderServerConfiguration": ExtenderServerConfiguration,
}
_PACKAGES = ("stowplan.config", "stowplan.extender")
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", bytes: "base64", Duration: "duration"}


def fields(kind: str) -> str:
    """A table per struct, the outermost first; structs that several kinds share appear once."""
    structs = [struct for struct in _structs(_KINDS[kind], []) if kind == _SCHEDULER or struct is not LeaderElection]
    return "\n".join(f"### {struct.__name__}\n\n{_lead(struct)}\n\n{_table(struct)}\n" for struct in structs)


def args(plugin: str) -> str:
    """The args of one plugin, with nested structs."""
    structs = enumerate(_structs(ARGS[plugin], []))
    return "\n\n".join((f"`{struct.__name__}`:\n\n" if index else "") + _table(struct) for index, struct in structs)


def _table(struct: type[msgspec.Struct]) -> str:
    hints = get_type_hints(struct)
    rows = [
        (code(item.encode_name), _type(hints[item.name]), _default(item), _meaning(struct, item))
        for item in msgspec.structs.fields(struct)
    ]
    return table(("field", "type", "default", "meaning"), rows)


def _meaning(struct: type[msgspec.Struct], item: msgspec.structs.FieldInfo) -> str:
    """From meanings.yaml, otherwise the docstring below the field."""
    written = meanings().get(struct.__name__, {}).get(item.encode_name) or members(struct).get(item.name)
    assert written, f"meanings.yaml has no text for {struct.__name__}.{item.encode_name}"
    return written


@cache
def meanings() -> dict[str, dict[str, str]]:
    """Texts of meanings.yaml by struct and field."""
    text = Path(__file__).with_name("meanings.yaml").read_text()
    known: dict[str, dict[str, str]] = yaml.safe_load(text)
    return known


def _lead(struct: type) -> str:
    return " ".join((struct.__doc__ or "").split())


def _structs(struct: type[msgspec.Struct], seen: list[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    if struct not in seen:
        seen.append(struct)
        for hint in get_type_hints(struct).values():
            for inner in _inner(hint):
                _structs(inner, seen)
    return seen


def _inner(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint is not Duration:
        if hint.__module__.startswith(_PACKAGES):
            yield hint
    else:
        for argument in get_args(hint):
            yield from _inner(argument)


def _type(hint: Any) -> str:
    origin = get_origin(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is tuple:
        return f"list of {_type(get_args(hint)[0])}"
    if origin in (Union, types.UnionType):
        return " or ".join(_type(part) for part in get_args(hint) if part is not type(None))
    if isinstance(hint, type):
        return hint.__name__ if hint.__module__.startswith(_PACKAGES) else f"Kubernetes' {hint.__name__}"
    return "any"


def _default(item: msgspec.structs.FieldInfo) -> str:
    value = item.default if item.default is not msgspec.NODEFAULT else ""
    if isinstance(value, Duration):
        return code(value)
    if isinstance(value, msgspec.Struct) or value is None or value in ("", (), b""):
        return ""
    if isinstance(value, tuple):
        return ", ".join(code(getattr(part, "name", part)) for part in value)
    return code(msgspec.json.encode(value).decode().strip('"'))
