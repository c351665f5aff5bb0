"""What authors of plugins import, from signatures and docstrings."""

import inspect
import re
from collections.abc import Collection
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from tests.docs.reference.docstrings import members, text_of
from tests.docs.reference.tables import code, table

import stowplan
from stowplan import api
from stowplan.framework.points import POINTS, Point

_IMPLIED = ("self", "cls")
_QUALIFIED = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_COLUMNS = re.compile(r"(?:^[a-z_]+ {2,}\S.*(?:\n|\Z))+", re.MULTILINE)
_LITERALS = (str, int, float, tuple, type(None))
_MAX_DEFAULT_CHARACTERS = 40
_WORDS = ("accept", "reject", "reject_forever", "pending", "error", "wait", "skip")


def functions(*names: str) -> str:
    """A table of functions: how they are called and what they are for."""
    rows = []
    for name in names or _WORDS:
        function = getattr(stowplan, name)
        rows.append((code(f"{name}{signature(function)}"), text_of(function.__doc__)))
    return table(("call", "meaning"), rows)


def describe_class(name: str, *wanted: str) -> str:
    """A class of `stowplan`: its docstring, attributes and methods; or only the members that are named."""
    return describe(getattr(stowplan, name), wanted)


def describe(cls: type, wanted: tuple[str, ...] = (), arguments: Collection[str] = ()) -> str:
    """A class: its docstring, attributes and methods; or only the wanted members.

    Attributes that are arguments of the constructor are left out, unless they have a docstring.
    """
    known = wanted or tuple(n for n, text in members(cls).items() if n[0] != "_" and not text.startswith("Internal: "))
    rows, methods = [], []
    for member in known:
        value = inspect.getattr_static(cls, member, None)
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        text = members(cls).get(member, "")
        if inspect.isfunction(value):
            methods.append(f"- {code(f'{member}{signature(value)}')}{_dash(text_of(value.__doc__))}")
        else:
            text = text_of(value.fget.__doc__) if isinstance(value, property) else text
            rows.append((code(member), text))
    parts = [] if wanted else [_paragraphs(cls.__doc__)]
    with_text = [row for row in rows if row[1]]
    plain = [name for name, text in rows if not text and name.strip("`") not in arguments]
    parts += [table(("attribute", "meaning"), with_text)] if with_text else []
    parts += [f"{'Also' if with_text else 'Attributes'}: {', '.join(plain)}."] if plain else []
    parts += ["\n".join(methods)] if methods else []
    return "\n\n".join(parts)


def struct_fields(*names: str) -> str:
    """The fields of API structs, with their types."""
    parts = []
    for name in names:
        struct: type[msgspec.Struct] = getattr(api, name)
        fields = [f"`{field.name}: {_type(field.type)}`" for field in msgspec.structs.fields(struct)]
        parts.append(f"- `{name}`: {', '.join(fields)}")
    return "\n".join(parts)


def _type(hint: Any) -> str:
    """A type as authors write it."""
    if get_origin(hint) is Annotated:
        return _type(get_args(hint)[0])
    parts = [_type(part) for part in get_args(hint) if part is not Ellipsis]
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(parts)
    if parts:
        return f"{get_origin(hint).__name__}[{', '.join(parts)}{', ...' if ... in get_args(hint) else ''}]"
    return "None" if hint is type(None) else str(hint.__name__)


_SECTIONS = {"queue": "Queue", "filtering": "Filtering", "scoring": "Scoring", "binding": "Binding"}
_LAST_SECTIONS = {"select_victims": "Extender", "concerns": "Less work"}
"""Sections after the extension points, by the first method in them."""


def plugin_class() -> str:
    """The base class of plugins: its attributes, and its methods by the phase in which they are called."""
    cls = stowplan.Plugin
    texts, methods = members(cls), [n for n, v in vars(cls).items() if inspect.isfunction(v) and n[0] != "_"]
    attributes = [(code(n), text) for n, text in texts.items() if n not in methods and n[0] != "_"]
    parts = [_paragraphs(cls.__doc__), table(("attribute", "meaning"), attributes)]
    section = ""
    for name in methods:
        point = next((p for p in POINTS for step in p.steps if name in step.methods), None)
        found = _LAST_SECTIONS.get(name) or (_SECTIONS.get(point.phase, "") if point else "")
        if found and found != section:
            section = found
            parts.append(f"### {section}")
        function = vars(cls)[name]
        text = f"{text_of(function.__doc__)}{_origin(name, point)}"
        parts.append(f"#### {name}\n\n{code(name + signature(function))}\n\n{text}")
    return "\n\n".join(parts)


def _origin(method: str, point: Point | None) -> str:
    if point is None:
        return ""
    verb = f"; extender verb: {point.verb}" if point.verb and method in point.methods else ""
    return f" (Extension point: `{point.name}`{verb}.)"


def signature(function: Any) -> str:
    """The parameters and the result of a function, as authors write them."""
    found = inspect.signature(function)
    parameters = [
        p.replace(annotation=_hint(p.annotation), default=_default(p.default))
        for name, p in found.parameters.items()
        if name not in _IMPLIED
    ]
    text = str(found.replace(parameters=parameters, return_annotation=_hint(found.return_annotation)))
    return _QUALIFIED.sub("", text)


class _Text(str):
    """An annotation or a default value that is shown without quotes."""

    __repr__ = str.__str__


def _hint(annotation: Any) -> Any:
    return _Text(annotation.replace('"', "").replace("'", "")) if isinstance(annotation, str) else annotation


def _default(value: Any) -> Any:
    """A default value: literals as they are, anything else as `...`."""
    literal = value is inspect.Parameter.empty or isinstance(value, _LITERALS)
    return value if literal and len(repr(value)) < _MAX_DEFAULT_CHARACTERS else _Text("...")


def _paragraphs(docstring: str | None) -> str:
    """A docstring, with its columns of names and meanings as tables."""
    text = inspect.cleandoc(docstring or "")
    return _COLUMNS.sub(lambda found: table(("argument", "meaning"), map(_columns, found[0].splitlines())), text)


def _columns(line: str) -> tuple[str, str]:
    name, meaning = line.split(maxsplit=1)
    return code(name), meaning


def _dash(text: str) -> str:
    return f": {text}" if text else ""
