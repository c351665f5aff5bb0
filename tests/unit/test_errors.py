import builtins
import errno
import re
import socket
import ssl
from pathlib import Path

import pytest

from stowplan import errors
from stowplan.errors import os_error_text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"), "No such file or directory"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (ssl.SSLError(1, "certificate required"), "certificate required"),
        (OSError("no errno"), "no errno"),
    ],
)
def test_the_words_of_the_system(error: OSError, text: str) -> None:
    assert os_error_text(error) == text


def _exception_classes() -> dict[str, str]:
    """The base of each exception class in the source, by name."""
    sources = (path.read_text() for path in Path(errors.__file__).parent.rglob("*.py"))
    bases = dict(pair for source in sources for pair in re.findall(r"^ *class (\w+)\((?:\w+\.)*(\w+)", source, re.M))
    built_in = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    exceptions, before = built_in | {"ClickException"}, 0
    while before < len(exceptions):
        before = len(exceptions)
        exceptions |= {name for name, base in bases.items() if base in exceptions}
    return {name: base for name, base in bases.items() if base in exceptions}


EXCEPTIONS = _exception_classes()


def test_exceptions_end_in_error() -> None:
    assert len(EXCEPTIONS) > 50
    assert [name for name in EXCEPTIONS if not name.endswith("Error")] == []


def test_exceptions_outside_of_the_tree_are_listed() -> None:
    outside = {name for name, base in EXCEPTIONS.items() if base not in EXCEPTIONS} - {"StowplanError"}
    listed = set(re.findall(r"\b_?[A-Z][A-Za-z]+Error\b", (errors.__doc__ or "").partition("Not in this tree")[2]))
    assert listed - {"OSError", "ValueError"} == outside
