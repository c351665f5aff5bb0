"""What authors of plugins import: `from stowplan import ...`."""

import subprocess
import sys

import pytest

import stowplan
from stowplan import framework, library
from stowplan.cli import scheduler

COMMAND = {"scheduler_command", "with_plugin"}
LIBRARY = {"Cluster", "Records", "Run", "RunDiff"}


@pytest.mark.parametrize("name", sorted(set(stowplan.__all__) - {"__version__"} - COMMAND - LIBRARY))
def test_names_are_those_of_the_framework(name: str) -> None:
    assert getattr(stowplan, name) is getattr(framework, name)
    assert name in dir(stowplan)


@pytest.mark.parametrize("name", sorted(COMMAND))
def test_a_scheduler_of_ones_own_is_built_with_these(name: str) -> None:
    assert getattr(stowplan, name) is getattr(scheduler, name)
    assert name in dir(stowplan)


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_the_library_is_exported(name: str) -> None:
    assert getattr(stowplan, name) is getattr(library, name)
    assert name in dir(stowplan)


def test_other_names_are_refused_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match=r"^module 'stowplan' has no attribute 'Plugn'$"):
        stowplan.Plugn  # noqa: B018


def test_everything_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from stowplan import *", names)
    assert set(stowplan.__all__) <= set(names)


@pytest.mark.parametrize("statement", ["import stowplan", "import stowplan; dir(stowplan); stowplan.__version__"])
def test_importing_is_cheap(statement: str) -> None:
    heavy = "'numpy', 'msgspec', 'click', 'stowplan.framework'"
    script = f"import sys; {statement}; sys.exit(not {{{heavy}}}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_rooms_can_be_imported_from_it_first() -> None:
    script = "from stowplan import api; from stowplan import Plugin; assert api.Pod and Plugin.name == ''"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
