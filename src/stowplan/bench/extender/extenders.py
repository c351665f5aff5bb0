"""The measured extenders as processes: Stowplan's, and a plain one in Go."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from stowplan.bench.extender.client import BenchClient
from stowplan.errors import StowplanError
from stowplan.testing import Process, free_port
from stowplan.testing.toolchain import find_go

SOURCE = Path(__file__).parents[4] / "benchmarks" / "rivals" / "extender"


class GoExtenderError(StowplanError):
    """The extender in Go cannot be built."""


class BenchExtender(NamedTuple):
    """A running extender and a connection to it."""

    process: Process
    client: BenchClient


def build_go_extender(folder: Path) -> Path:
    """Compile the extender in Go."""
    if not SOURCE.is_dir():
        raise GoExtenderError(f"{SOURCE} is missing: the extender in Go is built from a checkout of the repository")
    output = folder / "extender"
    go = find_go(SOURCE)
    command = [go.path, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", str(output), "."]
    surroundings = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    built = subprocess.run(command, cwd=SOURCE, env=surroundings, capture_output=True, text=True)
    if built.returncode:
        raise GoExtenderError(f"the extender in Go cannot be built: {' '.join(built.stderr.split())[-500:]}")
    return output


@contextmanager
def go_extender(program: Path, *, remember: bool) -> Iterator[BenchExtender]:
    port = free_port()
    command = [str(program), "-address", f"127.0.0.1:{port}", *(["-remember"] if remember else [])]
    with _running("go", command, port) as extender:
        yield extender


@contextmanager
def ours() -> Iterator[BenchExtender]:
    port = free_port()
    command = [sys.executable, "-m", "stowplan.bench.extender.serve", str(port)]
    with _running("stowplan", command, port) as extender:
        yield extender


@contextmanager
def _running(name: str, command: list[str], port: int) -> Iterator[BenchExtender]:
    with tempfile.TemporaryDirectory() as folder, Process(name, command, Path(folder) / "log") as process:
        process.wait_ready(lambda: BenchClient.answers(port))
        client = BenchClient(port)
        try:
            yield BenchExtender(process, client)
        finally:
            client.close()
