from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from stowplan.serving.open_files import open_files_limit, raise_open_files_limit

RAISED = """
import resource
from stowplan.serving.open_files import raise_open_files_limit, open_files_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 500))
raise_open_files_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE), open_files_limit())
"""


def test_the_soft_limit_becomes_the_hard_limit() -> None:
    done = subprocess.run([sys.executable, "-c", RAISED], capture_output=True, text=True, check=True)
    assert done.stdout == "(500, 500) 500\n"


def test_a_system_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 500))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    raise_open_files_limit()
    assert open_files_limit() == 100


def test_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[tuple[int, int]] = []
    none = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, none))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: wanted.append(limits))
    raise_open_files_limit()
    assert wanted == [(1 << 20, none)]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (none, none))
    raise_open_files_limit()
    assert len(wanted) == 1
    assert open_files_limit() == 1 << 20
