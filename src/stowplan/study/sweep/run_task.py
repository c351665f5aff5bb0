"""One run of a sweep: its name, its execution in any process, and the file of its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from inspect import signature
from math import isfinite
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from stowplan._version import __version__
from stowplan.errors import InputError, PluginBugError, StowplanError, os_error_text

LoadPlugins = Callable[[tuple[str, ...]], Mapping[str, Any]]
"""Plugins by name from their specifications; must be importable in other processes."""


class RunTask(msgspec.Struct, frozen=True, kw_only=True):
    """A run as plain data, which any process can execute."""

    name: str
    """A hash of everything that determines the run, and the name of its file."""
    runner: str
    parameters: dict[str, Any]
    variation: dict[str, Any]
    seed: int


class SweepRow(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. All but the time depends on the task alone."""

    name: str
    variation: dict[str, Any]
    seed: int
    metrics: dict[str, float] = {}
    """Those with a value; infinite ones have none."""
    error: str = ""
    plugin_bug: bool = False
    """Whether the error is a bug of a plugin."""
    cpu_seconds: float = 0.0


def make_task(
    runner: str, parameters: dict[str, Any], variation: Mapping[str, Any], seed: int, inputs: bytes = b""
) -> RunTask:
    """A task with its name; `inputs` are the contents of files that the parameters name."""
    text = msgspec.json.encode([__version__, runner, parameters, seed], order="sorted")
    name = blake2b(text + inputs, digest_size=12).hexdigest()
    return RunTask(name=name, runner=runner, parameters=parameters, variation=dict(variation), seed=seed)


def execute(task: RunTask, folder: str, load_plugins: LoadPlugins | None = None) -> SweepRow:
    """Run a task and write its result. The file appears at once, by renaming: a run that is killed leaves none."""
    begun_at = process_time()
    metrics, error, is_plugin_bug = {}, "", False
    try:
        found = find_runner(task.runner)({**task.parameters, "seed": task.seed}, load_plugins)
        numbers = {str(name): float(value) for name, value in found.items()}
        metrics = {name: value for name, value in numbers.items() if isfinite(value)}
    except StowplanError as problem:
        error, is_plugin_bug = str(problem), isinstance(problem, PluginBugError)
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    seconds = round(process_time() - begun_at, 3)
    row = SweepRow(
        name=task.name,
        variation=task.variation,
        seed=task.seed,
        metrics=metrics,
        error=error,
        plugin_bug=is_plugin_bug,
        cpu_seconds=seconds,
    )
    write_row(row, Path(folder))
    return row


def execute_batch(tasks: list[RunTask], folder: str, load_plugins: LoadPlugins | None = None) -> list[SweepRow]:
    """Run tasks one after another. Tasks that are finished are not repeated: Dask repeats a batch whose worker died."""
    rows = []
    for task in tasks:
        row = read_row(Path(folder) / f"{task.name}.json")
        rows.append(execute(task, folder, load_plugins) if row is None or row.error else row)
    return rows


def find_runner(runner: str) -> Callable[[dict[str, Any], LoadPlugins | None], Mapping[str, float]]:
    """The function of a runner. It takes the parameters, and, with a second parameter, the loader of plugins."""
    module, separator, function = runner.partition(":")
    try:
        found = getattr(import_module(module), function) if separator else None
    except (ImportError, AttributeError) as problem:
        raise InputError(f'runner "{runner}": {problem}') from None
    if not callable(found):
        raise InputError(f'runner "{runner}": expected package.module:function')
    takes_plugins = len(signature(found).parameters) > 1
    return lambda parameters, load_plugins: found(parameters, load_plugins) if takes_plugins else found(parameters)


def write_row(row: SweepRow, folder: Path) -> None:
    path = folder / f"{row.name}.json"
    draft = folder / f".{row.name}.{os.getpid()}"
    try:
        draft.write_bytes(msgspec.json.encode(row))
        draft.replace(path)
    except OSError as problem:
        with suppress(OSError):
            draft.unlink()
        text = f"{path}: {os_error_text(problem)}; finished runs are kept: run the sweep again"
        raise InputError(text) from problem


def read_row(path: Path) -> SweepRow | None:
    """A result that is there and complete; None otherwise."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=SweepRow)
    except (OSError, msgspec.DecodeError):
        return None
