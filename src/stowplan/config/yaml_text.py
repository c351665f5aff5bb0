"""YAML as Kubernetes parses it: JSON's types, plain scalars resolved as by Go's YAML library.

Upstream: sigs.k8s.io/yaml
"""

import json
import math
import re
from collections.abc import Callable
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


def _construct_array(loader: SafeLoader, node: yaml.SequenceNode) -> list[Any]:
    # Elements are constructed at once, so that an alias to an enclosing node is found.
    return [loader.construct_object(element, deep=True) for element in node.value]


def _construct_int(loader: SafeLoader, node: yaml.ScalarNode) -> int:
    if len(node.value) > _MAX_INT_LENGTH:
        raise _problem(node, f"a number of {len(node.value)} characters; {_MAX_INT_LENGTH} are allowed")
    try:
        return loader.construct_yaml_int(node)
    except ValueError:
        raise _problem(node, f"not an integer: {node.value[:80]}") from None


def _construct_float(loader: SafeLoader, node: yaml.ScalarNode) -> float | str:
    """A number; as in Go's library, a text if it is out of range, such as the commit 5e1234."""
    try:
        number = float(node.value)
    except ValueError:
        raise _problem(node, f"not a number: {node.value[:80]}") from None
    return number if math.isfinite(number) else node.value


def _problem(node: yaml.Node, text: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)


def _construct_key(loader: SafeLoader, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _problem(node, "a key must be a plain value")
    key = loader.construct_object(node)
    return key if isinstance(key, str) else json.dumps(key)


_MAX_DEPTH = 200
_MAX_NODES = 1_000_000
_MAX_INT_LENGTH = 100
_NOT_JSON = ("set", "omap", "pairs")
_MERGE = "tag:yaml.org,2002:merge"
for _name, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_first))
_CONSTRUCTORS: dict[str, Callable[[Any, Any], Any]] = {
    "map": _construct_object,
    "seq": _construct_array,
    "int": _construct_int,
    "float": _construct_float,
    **dict.fromkeys(_NOT_JSON, SafeLoader.construct_undefined),
}
for _name, _constructor in _CONSTRUCTORS.items():
    _Loader.add_constructor(f"tag:yaml.org,2002:{_name}", _constructor)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


class MalformedYamlError(ValueError):
    """A text that is not YAML, or not YAML that Kubernetes takes; one line with the position."""

    def __init__(self, problem: str, mark: Any = None) -> None:
        self.line = 0 if mark is None else mark.line + 1
        """The line of the problem, from 1; 0 if it is unknown."""
        place = "" if mark is None else f"line {self.line}, column {mark.column + 1}: "
        super().__init__(f"malformed YAML: {place}{problem}")


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
        raise MalformedYamlError(error.problem or "", error.problem_mark or error.context_mark) from error
    except yaml.YAMLError as error:
        raise MalformedYamlError(" ".join(str(error).split())) from error


def _check_extent(text: str) -> None:
    """Reject nesting that would overflow the C library's stack, and aliases that expand exponentially."""
    sizes: dict[str, int] = {}
    open_collections: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(text, Loader=SafeLoader):
        size = 1
        if isinstance(event, yaml.CollectionStartEvent):
            open_collections.append((event.anchor, 1))
            if len(open_collections) > _MAX_DEPTH:
                raise MalformedYamlError(f"nested too deeply, {_MAX_DEPTH} levels are allowed", event.start_mark)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_collections.pop()
            if anchor is not None:
                sizes[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_collections):
                raise MalformedYamlError(f"alias *{event.anchor} contains itself", event.start_mark)
            size = sizes.get(event.anchor or "", 1)
        outer, before = open_collections[-1]
        open_collections[-1] = outer, before + size
        if before + size > _MAX_NODES + len(text):
            raise MalformedYamlError("too large by its aliases", event.start_mark)


def dump(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
