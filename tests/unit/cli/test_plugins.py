"""Plugins given on the command line."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import plugins
from stowplan.cli.main import cli
from stowplan.cli.plugins import load_plugins
from stowplan.errors import PluginError

SOURCE = """
from stowplan import Plugin, reject

class Never(Plugin):
    name = "never-ever"
    def filter(self, state, pod, node):
        return reject("node(s) will never do")

class Again(Never): pass
class Taken(Never): name = "NodeName"
class Nameless(Never): name = ""
class Numbered(Never): name = 5
class Stranger: pass
class Unwilling(Never):
    def __init__(self, args, handle):
        raise RuntimeError("not\\ntoday")
class Careless(Never):
    def filter(self, state, pod, node):
        return node.no_such_thing
class Unspeakable(Never):
    def filter(self, state, pod, node):
        return reject("\\ud800")

def factory(args, handle):
    return Never(args, handle)

def liar(args, handle):
    return "a plugin"

number = 5
"""
CASE = {
    "id": "x",
    "pod": {"metadata": {"name": "p"}},
    "nodes": [{"metadata": {"name": "a"}, "status": {"allocatable": {"pods": "1"}}}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def evaluate(*specifications: str) -> Result:
    options = [option for specification in specifications for option in ("--plugin", specification)]
    return CliRunner().invoke(cli, ["evaluate", *options], input=json.dumps(CASE))


@pytest.mark.parametrize(("name", "plugin"), [("Never", "never-ever"), ("Nameless", "Nameless")])
def test_a_class_from_a_file_takes_part(file: Path, name: str, plugin: str) -> None:
    verdict = json.loads(evaluate(f"{file}:{name}").stdout)
    refusal = {"code": "Unschedulable", "plugin": plugin, "reasons": ["node(s) will never do"]}
    assert verdict["filter"] == {"a": refusal}


ONE = """
from stowplan import Plugin, reject
from stowplan.framework import Plugin as Imported

class Base(Plugin):
    def filter(self, state, pod, node):
        return reject("node(s) will never do")

class Only(Base):
    name = "only-one"
"""


def test_a_file_with_one_plugin_needs_no_class(tmp_path: Path) -> None:
    """Imported classes and base classes do not count."""
    path = tmp_path / "one.py"
    path.write_text(ONE)
    assert list(load_plugins((str(path),))) == ["only-one"]
    assert json.loads(evaluate(str(path)).stdout)["filter"]["a"]["plugin"] == "only-one"


def test_a_file_with_several_plugins_or_none_needs_a_class(file: Path, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"mine\.py: the file defines several plugins \(Again, .*append :Again or"):
        load_plugins((str(file),))
    (tmp_path / "none.py").write_text("from stowplan import Plugin")
    with pytest.raises(PluginError, match=r"none\.py: the file defines no class derived from stowplan\.Plugin"):
        load_plugins((str(tmp_path / "none.py"),))


def test_so_does_a_factory(file: Path) -> None:
    assert json.loads(evaluate(f"{file}:factory").stdout)["message"].endswith("1 node(s) will never do.")


def test_so_does_a_class_from_a_module(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(file.parent))
    assert list(load_plugins(("mine:Never",))) == ["never-ever"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Nobody", 'has no "Nobody"'),
        ("Nevr", 'has no "Nevr" (did you mean "Never"?)'),
        ("Taken", 'a plugin named "NodeName" already exists'),
        ("Numbered", "its name must be a string, not 5"),
        ("Stranger", "class Stranger is not derived from stowplan.Plugin"),
        ("number", "neither a class nor a factory function"),
    ],
)
def test_what_a_file_cannot_be_asked_for(file: Path, name: str, error: str) -> None:
    result = evaluate(f"{file}:{name}")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"stowplan: --plugin {file}:{name}: ")
    assert line.endswith(error)


def test_one_name_twice(file: Path) -> None:
    result = evaluate(f"{file}:Never", f"{file}:Again")
    assert result.exit_code == 2
    assert result.stderr == f'stowplan: --plugin {file}:Again: a plugin named "never-ever" already exists\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"class Mine(:\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
        (b"raise RuntimeError('at\\nimport')\n", "RuntimeError: at import"),
        (b"import sys\nsys.exit('enough')\n", "SystemExit: enough"),
        (b"import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        (b"\xff\xfe\n", "SyntaxError: (unicode error)"),
    ],
)
def test_a_file_that_cannot_be_loaded(text: bytes, error: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_bytes(text)
    result = evaluate(f"{file}:Mine")
    assert (result.exit_code, result.stdout) == (4, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"stowplan: --plugin {file}:Mine: {error}")


EXPECTED = (
    "expected ./file.py, ./file.py:Class if the file defines several, package.module:Class, "
    "or the name of an optional plugin"
)


@pytest.mark.parametrize(
    ("specification", "error"),
    [
        ("missing.py:Mine", "no such file: missing.py"),
        ("no_such_module:Mine", "ModuleNotFoundError: No module named 'no_such_module'"),
        (
            "json",
            EXPECTED,
        ),
        (
            "json:",
            EXPECTED,
        ),
        (
            ":Mine",
            EXPECTED,
        ),
    ],
)
def test_a_specification_that_leads_nowhere(specification: str, error: str) -> None:
    with pytest.raises(PluginError) as raised:
        load_plugins((specification,))
    assert str(raised.value) == f"--plugin {specification}: {error}"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Unwilling", 'initializing plugin "never-ever": RuntimeError: not today ('),
        ("liar", "initializing plugin \"liar\": the factory returned 'a plugin', which is not a Plugin"),
    ],
)
def test_a_plugin_that_cannot_be_made_ends_the_run(file: Path, name: str, error: str) -> None:
    result = evaluate(f"{file}:{name}")
    assert (result.exit_code, result.stdout) == (4, "")
    assert " ".join(result.stderr.split()).startswith(f"stowplan: {error}")


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        (
            "Careless",
            4,
            'running "never-ever" filter plugin: '
            "filter raised AttributeError: 'NodeInfo' object has no attribute 'no_such_thing' (",
        ),
        ("Unspeakable", 2, "internal error: UnicodeEncodeError: "),
    ],
)
def test_a_plugin_that_fails_spoils_the_case_and_not_the_run(file: Path, name: str, status: int, error: str) -> None:
    result = evaluate(f"{file}:{name}")
    assert result.exit_code == status
    verdict = json.loads(result.stdout)
    assert verdict["id"] == "x"
    assert verdict["error"].startswith(error)


def test_installed_plugins(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(file.parent))
    entries = [EntryPoint("installed", "mine:Never", plugins.GROUP)]
    monkeypatch.setattr(plugins, "_installed", lambda: entries)
    assert list(load_plugins(())) == ["installed"]
    entries.append(EntryPoint("broken", "mine:Nobody", plugins.GROUP))
    with pytest.raises(PluginError, match=r'installed plugin "broken" \(mine:Nobody\): AttributeError'):
        load_plugins(())
