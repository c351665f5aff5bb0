"""Search of parameters by Optuna, an extra: the values of `vary` are the choices."""

from __future__ import annotations

import importlib
import json
from concurrent.futures import Executor
from pathlib import Path
from statistics import fmean
from typing import Any

from stowplan.errors import MissingExtraError
from stowplan.study.files import results_folder
from stowplan.study.sweep.document import Study, Variation
from stowplan.study.sweep.results import SweepResults
from stowplan.study.sweep.run_task import LoadPlugins, SweepRow, read_row
from stowplan.study.sweep.sweep import Progress, TaskMaker, run_tasks


def search(
    study: Study,
    folder: str | Path,
    executor: Executor | None = None,
    *,
    progress: Progress = lambda done, total: None,
    load_plugins: LoadPlugins | None = None,
) -> SweepResults:
    """Run the variations that Optuna chooses, one after another, each with all seeds. Runs with a result are not
    repeated, and the choices depend on the results alone, so a search that was interrupted goes on."""
    try:
        optuna = importlib.import_module("optuna")
    except ImportError:
        raise MissingExtraError("optuna is not installed", "optuna") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    maker, rows = TaskMaker(study), dict[str, SweepRow]()
    place = results_folder(folder)
    trials = study.spec.search["optuna"] if isinstance(study.spec.search, dict) else 1
    directions = ["minimize" if sign > 0 else "maximize" for _, sign in study.objectives]
    made = optuna.create_study(directions=directions, sampler=optuna.samplers.TPESampler(seed=0))
    for number in range(trials):
        trial = made.ask()
        variation = Variation({path: _choice(trial, path, values) for path, values in study.spec.vary.items()})
        tasks = [maker.task(variation, seed) for seed in study.seeds(maker.first_seed)]
        known = {task.name: read_row(place / f"{task.name}.json") for task in tasks}
        rows |= {name: row for name, row in known.items() if row is not None and not row.error}
        rows |= {
            row.name: row for row in run_tasks([t for t in tasks if t.name not in rows], place, executor, load_plugins)
        }
        results = [rows[task.name] for task in tasks]
        objectives = SweepResults(study, list(rows.values())).objectives()
        if any(name not in row.metrics for row in results for name, _ in objectives):
            made.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            made.tell(trial, [fmean(row.metrics[name] for row in results) for name, _ in objectives])
        progress(number + 1, trials)
    return SweepResults(study, list(rows.values()))


def _choice(trial: Any, path: str, values: list[Any]) -> Any:
    return json.loads(trial.suggest_categorical(path, [json.dumps(value) for value in values]))
