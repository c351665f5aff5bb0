"""The public classes and functions of a module, from signatures and docstrings."""

import inspect
import re
from importlib import import_module
from typing import Any

from tests.docs.reference.docstrings import text_of
from tests.docs.reference.plugin_api import describe, signature
from tests.docs.reference.tables import code, table

from stowplan.testing import plugin


def python_names(module: str, *names: str) -> str:
    """Classes of a module, each with a heading, and a list of functions."""
    found = {name: getattr(import_module(module), name) for name in names}
    classes = [_class(name, value) for name, value in found.items() if inspect.isclass(value)]
    functions = [
        f"- {code(f'{name}{signature(value)}')}: {text_of(value.__doc__)}"
        for name, value in found.items()
        if inspect.isfunction(value)
    ]
    return "\n\n".join([*classes, *(["\n".join(functions)] if functions else [])])


def _class(name: str, cls: type) -> str:
    """A class with its constructor, unless parameters or types of the constructor are private."""
    text = signature(cls).removesuffix(" -> None") if "__init__" in vars(cls) else "_"
    if re.search(r"\b_", text):
        return f"### {name}\n\n{describe(cls)}"
    return f"### {name}\n\n{code(name + text)}\n\n{describe(cls, arguments=inspect.signature(cls).parameters)}"


def errors(module: str, *names: str) -> str:
    """A table of exceptions."""
    found: list[Any] = [getattr(import_module(module), name) for name in names]
    return table(("exception", "meaning"), [(code(each.__name__), text_of(each.__doc__)) for each in found])


def fixtures() -> str:
    """A table of the pytest fixtures."""
    rows = []
    for name, value in vars(plugin).items():
        if type(value).__name__ == "FixtureFunctionDefinition" and name[0] != "_":
            rows.append(
                (code(name), value._fixture_function_marker.scope.replace("function", "test"), text_of(value.__doc__))
            )
    return table(("fixture", "scope", "meaning"), rows)
