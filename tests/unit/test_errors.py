import builtins
import errno
import re
import socket
import ssl
import tomllib
from pathlib import Path

import pytest

from stowplan import errors
from stowplan.errors import EXTRAS, MissingExtraError, os_error_text

PROJECT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("extra", EXTRAS)
def test_hints_name_the_packages_of_the_extras(extra: str) -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert list(EXTRAS[extra]) == extras.get(extra) or (extra == "ray" and set(EXTRAS[extra]) < set(extras["test"]))


def test_a_missing_extra() -> None:
    expected = "Arrow needs the extra `data`: pip install 'arro3-core>=0.6' 'arro3-io>=0.6'"
    assert str(MissingExtraError("Arrow needs the extra `data`", "data")) == expected
    for page, extra in (("scenarios", "data"), ("library", "mcp")):
        hint = str(MissingExtraError("", extra)).removeprefix(": ")
        assert f"`{hint}`" in (PROJECT / "docs" / "guides" / f"{page}.md").read_text()


def test_no_hint_installs_a_project_of_the_name_stowplan() -> None:
    """An index may have another project of this name."""
    files = [each for folder in ("src", "docs/guides", "examples") for each in (PROJECT / folder).rglob("*.*")]
    texts = {file: file.read_bytes() for file in files if file.suffix in (".py", ".md", ".ipynb", ".tmpl")}
    found = re.compile(rb"pip\s+install\s[^`\n]*\bstowplan\b")
    assert [str(file) for file, text in texts.items() if found.search(text)] == []
