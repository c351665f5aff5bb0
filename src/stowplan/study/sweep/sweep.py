"""Runs a study: tasks that have no result yet go to an executor, results are collected as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from itertools import chain
from pathlib import Path

from msgspec.json import encode

from stowplan.config.strict_decoding import suggestion
from stowplan.errors import StowplanError
from stowplan.study.files import results_folder
from stowplan.study.sweep.document import Study, Variation, altered, pairs
from stowplan.study.sweep.executors import BatchExecutor
from stowplan.study.sweep.input_files import InputFiles
from stowplan.study.sweep.paths import set_path
from stowplan.study.sweep.results import SweepResults
from stowplan.study.sweep.run_task import LoadPlugins, RunTask, SweepRow, execute, execute_batch, make_task, read_row
from stowplan.study.sweep.scenario_runner import ScenarioTasks

Progress = Callable[[int, int], None]
"""Called with the number of finished runs and of all runs."""

MAX_QUEUED_CALLS = 64
"""Calls that are submitted and not finished, at most, or twice the number of workers: tasks hold documents."""


class TaskMaker:
    """Makes the tasks of a study."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._scenario = ScenarioTasks(study) if study.spec.scenario else None
        self._code = encode(InputFiles().of_class(study.spec.runner)) if study.spec.runner else b""
        self.first_seed = self._scenario.first_seed if self._scenario is not None else 0

    def tasks(self) -> list[RunTask]:
        return [self.task(variation, seed) for variation, seed in pairs(self._study, self.first_seed)]

    def task(self, variation: Variation, seed: int) -> RunTask:
        if self._scenario is not None:
            return self._scenario.task(variation, seed)
        parameters = altered(self._study.spec.parameters)
        for path, value in variation.values.items():
            set_path(parameters, path, value, origin=self._study.origin)
        return make_task(self._study.spec.runner, parameters, variation.values, seed, self._code)


def sweep(
    study: Study,
    folder: str | Path,
    executor: Executor | None = None,
    *,
    progress: Progress = lambda done, total: None,
    load_plugins: LoadPlugins | None = None,
) -> SweepResults:
    """Run all tasks of a study without a result in the folder; without an executor, in this process.

    Results do not depend on the executor. A sweep that was interrupted goes on where it was: runs with a result are not
    repeated. A run that fails is a row with its error, and is tried again by the next sweep.
    """
    made = TaskMaker(study).tasks()
    tasks = {task.name: task for task in made}
    place = results_folder(folder)
    rows: dict[str, SweepRow] = {}
    for name in tasks:
        row = read_row(place / f"{name}.json")
        if row is not None and not row.error:
            rows[name] = row
    progress(len(rows), len(tasks))
    missing = [task for name, task in tasks.items() if name not in rows]
    finished = list(rows.values())
    for row in _first_checked(study, chain(finished, run_tasks(missing, place, executor, load_plugins))):
        rows[row.name] = row
        progress(len(rows), len(tasks))
    return SweepResults(study, [rows[name] for name in tasks])


def _first_checked(study: Study, rows: Iterable[SweepRow]) -> Iterator[SweepRow]:
    """The rows. Raises ConfigError if the first one without an error shows that a metric is misspelt: which metrics a
    function returns is not known before. A metric without a value may be left out, so only a similar name shows it."""

    def problem(metric: str) -> str:
        similar = "" if metric in row.metrics else suggestion(metric, row.metrics)
        return f"the first run has no metric {metric}{similar}" if similar else ""

    unchecked = bool(study.spec.runner)
    for row in rows:
        if unchecked and not row.error:
            study.check_objectives(problem)
            unchecked = False
        yield row


def run_tasks(
    tasks: Sequence[RunTask], folder: Path, executor: Executor | None, load_plugins: LoadPlugins | None
) -> Iterator[SweepRow]:
    """Execute tasks; yields rows as they are finished."""
    if executor is None:
        for task in tasks:
            yield execute(task, str(folder), load_plugins)
        return
    waiting = deque(tasks)
    submitted: set[Future[list[SweepRow]]] = set()
    workers = executor.workers if isinstance(executor, BatchExecutor) else 0
    while waiting or submitted:
        while waiting and len(submitted) < max(MAX_QUEUED_CALLS, 2 * workers):
            size = executor.batch_size(len(waiting)) if isinstance(executor, BatchExecutor) else 1
            batch = [waiting.popleft() for _ in range(size)]
            submitted.add(executor.submit(execute_batch, batch, str(folder), load_plugins))
        for future in wait(submitted, return_when=FIRST_COMPLETED).done:
            submitted.remove(future)
            yield from _rows(future)


def _rows(future: Future[list[SweepRow]]) -> list[SweepRow]:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError):
        raise StowplanError(
            "a worker process was killed, perhaps for lack of memory; finished runs are kept: run the sweep again"
        ) from None
