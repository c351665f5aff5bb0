"""The args of plugins from plain data: `pluginConfig` of out-of-tree plugins, and args of the extender's plugins.

Upstream: pkg/scheduler/framework/runtime/registry.go (DecodeInto)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from stowplan.api import codec
from stowplan.config.args import ARGS
from stowplan.config.errors import Problems
from stowplan.config.strict_decoding import decode_walking, suggestion
from stowplan.errors import ConfigError


def decode_args(kind: type | None, name: str, args: Any) -> Any:
    """The args as an instance of `kind`, a msgspec.Struct or a dataclass; as a dict if there is none. Unknown fields
    and wrong types are errors that name the path."""
    if kind is None:
        return {} if args is None else args
    if isinstance(args, kind):
        return args
    given = {} if args is None else dict(args)
    unknown = list(_unknown_fields(inspect.type_info(kind), given, "$"))
    if unknown:
        raise ConfigError(f'pluginConfig of "{name}": {problem}' for problem in unknown)
    try:
        return codec.convert(kind, given)
    except codec.DecodeError as problem:
        raise ConfigError(f'pluginConfig of "{name}": {problem}') from problem


def in_tree_args(name: str, args: Any) -> Any:
    """The args of an in-tree or optional plugin; plain data is decoded and validated as in a configuration."""
    kind = ARGS.get(name)
    if kind is None or isinstance(args, kind):
        return args
    problems = Problems()
    decoded = decode_walking({} if args is None else args, kind, "$", problems).completed()
    decoded.check("$", problems)
    if problems.errors:
        raise ConfigError(f'pluginConfig of "{name}": {path}: {message}' for path, message in problems.errors)
    return decoded


def _unknown_fields(info: inspect.Type, value: Any, path: str) -> Iterator[str]:
    match info, value:
        case inspect.StructType() | inspect.DataclassType(), dict():
            fields = {field.encode_name: field.type for field in info.fields}
            for key, item in value.items():
                if key in fields:
                    yield from _unknown_fields(fields[key], item, f"{path}.{key}")
                else:
                    yield f"{path}.{key}: unknown field{suggestion(str(key), fields)}"
        case inspect.CollectionType(), list() | tuple():
            for index, item in enumerate(value):
                yield from _unknown_fields(info.item_type, item, f"{path}[{index}]")
        case inspect.DictType(), dict():
            for key, item in value.items():
                yield from _unknown_fields(info.value_type, item, f"{path}.{key}")
        case inspect.UnionType(), _:
            kinds = [kind for kind in info.types if not isinstance(kind, inspect.NoneType)]
            if len(kinds) == 1:
                yield from _unknown_fields(kinds[0], value, path)
