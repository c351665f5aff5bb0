"""YAML as Kubernetes parses it: JSON's types, plain scalars resolved as by Go's YAML library.

Upstream: sigs.k8s.io/yaml
"""

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from stowplan.config.text import make_object

if TYPE_CHECKING:
    from yaml import SafeDumper, SafeLoader
else:
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")
_SCALARS = (
    ("bool", r"(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$", "yYnNtTfFoO"),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$", "-+0123456789"),
    ("float", _FLOAT.pattern, "-+.0123456789"),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("merge", r"<<$", "<"),
)


class _Loader(SafeLoader):
    """Without PyYAML's resolvers of plain scalars: a date and 1:30 are text, 1e3 is a number."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


class _Dumper(SafeDumper):
    """Quotes text that `_Loader` would parse as a number."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _construct_object(loader: SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
    # Merged keys may be repeated, so the keys are checked before the merge.
    own = make_object([(_construct_key(loader, key), None) for key, _ in node.value if key.tag != _MERGE])
    loader.flatten_mapping(node)
    pairs = [(_construct_key(loader, key), loader.construct_object(value, deep=True)) for key, value in node.value]
    return dict(pairs) if type(own) is dict else make_object(pairs)


def _construct_key(loader: SafeLoader, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(None, None, "a key must be a plain value", node.start_mark)
    key = loader.construct_object(node)
    return key if isinstance(key, str) else json.dumps(key)


_MAX_DEPTH = 200
_MAX_NODES = 1_000_000
_MERGE = "tag:yaml.org,2002:merge"
for _name, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_object)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


def parse(text: str) -> Any:
    """The only document of the text; None if empty. Raises ValueError with one line."""
    documents = [document for document in parse_all(text) if document is not None]
    if len(documents) > 1:
        raise ValueError(f"{len(documents)} YAML documents, expected one")
    return documents[0] if documents else None


def parse_all(text: str) -> list[Any]:
    """All documents of the text, None for empty ones. Raises ValueError with one line."""
    try:
        _check_extent(text)
        return list(yaml.load_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"malformed YAML: {place}{error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"malformed YAML: {' '.join(str(error).split())}") from error


def _check_extent(text: str) -> None:
    """Reject nesting that would overflow the C library's stack, and aliases that expand exponentially."""
    sizes: dict[str, int] = {}
    open_collections: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(text, Loader=SafeLoader):
        size = 1
        if isinstance(event, yaml.CollectionStartEvent):
            open_collections.append((event.anchor, 1))
            if len(open_collections) > _MAX_DEPTH:
                raise ValueError("nested too deeply")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_collections.pop()
            if anchor is not None:
                sizes[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor or "", 1)
        outer, before = open_collections[-1]
        open_collections[-1] = outer, before + size
        if before + size > _MAX_NODES + len(text):
            raise ValueError("too large by its aliases")


def dump(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
