from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from stowplan.serving.open_files import open_files_limit, raise_open_files_limit

SCHEDULER = ("scheduler", "--master=http://127.0.0.1:1", "--leader-elect=false", "--secure-port=0")
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


@pytest.mark.parametrize(
    "arguments",
    [("extender", "--plugin=tests.unit.extender.server.examples:Tidy", "--port=0"), SCHEDULER],
    ids=["extender", "scheduler"],
)
def test_servers_raise_their_limit_at_start(arguments: tuple[str, ...]) -> None:
    command = ["sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh", sys.executable, "-m", "stowplan", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "Serving" in line or "Starting Kubernetes" in line)
            limits = Path(f"/proc/{process.pid}/limits").read_text()
        finally:
            process.kill()
    soft, hard = next(line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files"))
    assert soft == hard, line
