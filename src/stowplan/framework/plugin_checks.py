"""Checks of an out-of-tree plugin when it is loaded: mistakes that would otherwise go unnoticed.

Each fault is a PluginBugError of one line that names the class, its file and the line, and says what to do.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from types import FunctionType
from typing import Any, Final, NoReturn, get_args
from weakref import WeakSet

import msgspec

from stowplan.api.kinds import KINDS
from stowplan.errors import PluginBugError
from stowplan.framework.plugin import Normalizer, Plugin, Scope, implements, is_set_beside
from stowplan.framework.points import POINTS, STEPS, implements_point
from stowplan.framework.safe_text import place, shown

HOOKS: Final = tuple(name for name, value in vars(Plugin).items() if inspect.isfunction(value) and name[0] != "_")
DECLARATIONS: Final = tuple(name for name in Plugin.__annotations__ if name != "name")

_MAY_BE_ASYNC = tuple(step.methods[0] for step in STEPS if step.forwarding == "outside")
_MAY_YIELD = tuple(
    hook for hook in HOOKS if re.search(r"(^|\| )Itera(ble|tor)\[", getattr(Plugin, hook).__annotations__["return"])
)
_GO_METHODS = {"prefilterextensions": "add_pod and remove_pod", "scoreextensions": "normalize_score"}
"""Methods of Go plugins, without case, whose counterparts have other names."""
_checked: WeakSet[type[Plugin]] = WeakSet()
"""Classes without faults: plugins are made anew for each evaluated case."""
_SIMILAR_METHOD, _SIMILAR_ATTRIBUTE = 0.8, 0.75
"""difflib's ratios above which a name is taken for a misspelt one: `scoer` has 0.8."""


def check_plugin_class(cls: type[Plugin]) -> None:
    """Raises PluginBugError for a class with misspelt, missing or unusable members."""
    if cls in _checked:
        return
    for klass in _own_classes(cls):
        for name, value in vars(klass).items():
            if name.startswith("_") or name in vars(Plugin):
                continue
            if inspect.isfunction(value):
                _check_own_method(cls, name, value)
            elif not callable(value):
                _check_own_attribute(cls, name, value)
    for hook in HOOKS:
        if implements(cls, hook):
            _check_hook(cls, hook)
    check_declarations(cls, cls)
    if not any(implements_point(cls, point) for point in POINTS) and not implements(cls, "select_victims"):
        _fail(cls, "it implements no extension point; override at least one method, for example filter or score")
    _checked.add(cls)


def check_constructor(cls: type[Plugin]) -> None:
    """Raises PluginBugError for a class that cannot be instantiated with args and handle."""
    constructor = inspect.getattr_static(cls, "__init__")
    if isinstance(constructor, FunctionType) and not _accepts(constructor, 2):
        _fail(cls, "__init__ must take (self, args, handle) and call super().__init__(args, handle)", constructor)


def check_forms(cls: type[Plugin], base: type[Plugin], forms: Mapping[str, tuple[str, ...]]) -> None:
    """Raises PluginBugError for a class that overrides a method and inherits others that are called instead of it.

    `forms` has these others by method; those of `base` call the method."""
    if cls in _checked:
        return
    for method, others in forms.items():
        old = [each for each in others if getattr(cls, each) is not getattr(base, each)]
        old = [each for each in old if not is_set_beside(cls, each, method)]
        if old:
            advice = "override them, too, or derive the class from stowplan.Plugin"
            _fail(cls, f"it overrides {method} and inherits {', '.join(old)}, called instead of it: {advice}")
    _checked.add(cls)


def check_plugin(plugin: Plugin) -> None:
    """Raises PluginBugError for an instance whose base class was not initialised, or with faulty declarations."""
    cls = type(plugin)
    if not hasattr(plugin, "args") or not hasattr(plugin, "handle"):
        constructor = inspect.getattr_static(cls, "__init__")
        where = constructor if isinstance(constructor, FunctionType) else None
        _fail(cls, "__init__ does not initialise Plugin: call super().__init__(args, handle) in it", where)
    check_declarations(cls, plugin)


def check_declarations(cls: type[Plugin], declared: Any) -> None:
    """Raises PluginBugError for an attribute whose value means nothing, such as `scope = "nodes"`."""
    for name, (is_valid, expected, known) in _VALUES.items():
        value = getattr(declared, name)
        if not is_valid(value):
            _fail(cls, f"{name} is {shown(value)}{_suggestion(value, known)}; expected {expected}")


def _suggestion(value: Any, known: tuple[str, ...]) -> str:
    wrong = (
        [value]
        if isinstance(value, str)
        else [each for each in value if each not in known]
        if _are_texts(value)
        else []
    )
    close = next((match for each in wrong if (match := _close(each, known, 0.6))), None)
    return f' (did you mean "{close}"?)' if close else ""


def _check_own_method(cls: type[Plugin], name: str, function: FunctionType) -> None:
    """Methods of the plugin's own are fine. A fault is one that is spelt as in Go, or one whose name is close to that
    of a hook which the class does not implement, with as many parameters as the hook."""
    plain = name.replace("_", "").lower()
    meant = _GO_METHODS.get(plain) or next((hook for hook in HOOKS if plain == hook.replace("_", "")), None)
    if meant is None:
        meant = _close(name, HOOKS, _SIMILAR_METHOD)
        if meant is None or not _accepts(function, _parameter_count(meant)):
            return
    if meant not in HOOKS or not implements(cls, meant):
        _fail(cls, f'the scheduler never calls method "{name}" (did you mean {meant}?)', function)


def _check_own_attribute(cls: type[Plugin], name: str, value: object) -> None:
    meant = _close(name, DECLARATIONS, _SIMILAR_ATTRIBUTE)
    if meant is None or getattr(cls, meant) is not getattr(Plugin, meant):
        return
    valid = _VALUES[meant][0](value) and value not in (None, ())
    if valid:
        _fail(cls, f'the scheduler does not read "{name} = {shown(value)}" (did you mean {meant}?)')


def _check_hook(cls: type[Plugin], hook: str) -> None:
    function = inspect.getattr_static(cls, hook)
    if not isinstance(function, FunctionType):
        return
    if (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)) and hook not in _MAY_BE_ASYNC:
        allowed = ", ".join(_MAY_BE_ASYNC)
        _fail(cls, f"{hook} is async and would never run: use def; only {allowed} may be async def", function)
    if inspect.isgeneratorfunction(function) and hook not in _MAY_YIELD:
        _fail(cls, f"{hook} yields and would never run: return a value instead", function)
    if not _accepts(function, _parameter_count(hook)):
        names = ", ".join(inspect.signature(getattr(Plugin, hook)).parameters)
        _fail(cls, f"{hook} must take ({names})", function)


def _own_classes(cls: type) -> Iterator[type]:
    """The author's classes: those that override members of Plugin."""
    for klass in cls.__mro__:
        if klass is Plugin:
            return
        yield klass


def _parameter_count(hook: str) -> int:
    return int(getattr(Plugin, hook).__code__.co_argcount) - 1


def _accepts(function: Callable[..., Any], count: int) -> bool:
    """Whether a method can be called with so many positional arguments."""
    try:
        inspect.signature(function).bind(None, *[None] * count)
    except TypeError:
        return False
    except ValueError:  # No signature is known.
        return True
    return True


def _close(name: str, known: Iterable[str], cutoff: float) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def _fail(cls: type, problem: str, at: FunctionType | None = None) -> NoReturn:
    raise PluginBugError(f"{_where(cls, at)}class {cls.__qualname__}: {problem}")


def _where(cls: type, function: FunctionType | None) -> str:
    """`file:line: ` of a method or class; empty if it has no source."""
    try:
        if function is None:
            file, line = inspect.getsourcefile(cls) or "", inspect.getsourcelines(cls)[1]
        else:
            code = inspect.unwrap(function).__code__
            file, line = code.co_filename, code.co_firstlineno
    except (OSError, TypeError):
        return ""
    return f"{place(file, line)}: "


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple | list | set | frozenset) and all(isinstance(each, str) for each in value)


def _is_range(value: Any) -> bool:
    if value is None:
        return True
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return is_pair and all(isinstance(v, int | float) and isfinite(v) for v in value) and value[0] < value[1]


def _is_args(value: object) -> bool:
    is_struct = isinstance(value, type) and issubclass(value, msgspec.Struct)
    return value is None or is_struct or (isinstance(value, type) and dataclasses.is_dataclass(value))


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _quoted(names: Iterable[str]) -> str:
    *rest, last = (f'"{name}"' for name in names)
    return f"{', '.join(rest)} or {last}"


_VALUES: dict[str, tuple[Callable[[Any], bool], str, tuple[str, ...]]] = {
    "scope": (lambda value: value in get_args(Scope), _quoted(get_args(Scope)), get_args(Scope)),
    "normalize": (
        lambda value: value is None or value in get_args(Normalizer),
        f"None, {_quoted(get_args(Normalizer))}",
        get_args(Normalizer),
    ),
    "score_range": (_is_range, "a pair of numbers, the lower one first", ()),
    "needs_objects": (_is_bool, "True or False", ()),
    "parallel_pre_bind": (_is_bool, "True or False", ()),
    "reads_annotations": (lambda value: value is True or _are_texts(value), "a tuple of annotation keys, or True", ()),
    "reads": (
        lambda value: _are_texts(value) and all(kind in KINDS for kind in value),
        "a tuple of kinds that the scheduler knows",
        tuple(KINDS),
    ),
    "Args": (_is_args, "a msgspec.Struct or a dataclass", ()),
}
"""By attribute: whether a value is valid, the values that are, and names to suggest."""
