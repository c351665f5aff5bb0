"""Speed of sweeps: the same small runs in one process, in two, and on Dask's local cluster with two workers, by turns.

Each turn is a process of its own, because processes are forked only where no other thread runs. It measures the time
from the start of the executor to the last result. Ratios are medians over the rounds; the results have to be equal.

    python benchmarks/sweep_speed.py
    python benchmarks/sweep_speed.py --runs 20 --rounds 1 --json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import msgspec
import yaml

from stowplan.study.sweep import dask_executor, load_study, process_executor, sweep

JOBS = 2
MIN_SPEEDUP = 1.7
"""Required: the time of one process divided by that of two."""
MAX_DASK_RATIO = 1.15
"""Required: the time of Dask divided by that of two processes."""
ONE, TWO, DASK = "one", "two", "dask"

SCENARIO = """
apiVersion: simulation.stowplan/v1alpha1
kind: Scenario
seed: 1
until: {time: 6h}
nodes:
  pools:
  - name: general
    count: 20
    price: 1.0
    template: {status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}}
workloads:
- name: batch
  template:
    apiVersion: v1
    kind: Pod
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: "2", memory: 4Gi}}}]}
  arrivals: {poisson: {rate: 120/h}}
  duration: {lognormal: {median: 30m, sigma: 0.8}, max: 6h}
"""


class Turn(NamedTuple):
    """The time of one sweep, and a digest of its results."""

    seconds: float
    digest: str


class Figures(NamedTuple):
    """Medians over the rounds."""

    seconds: dict[str, float]
    """By kind."""
    speedup: float
    """The time of one process divided by that of two."""
    dask_ratio: float | None
    """The time of Dask divided by that of two processes; None without Dask."""


def study_file(folder: Path, runs: int) -> Path:
    (folder / "scenario.yaml").write_text(SCENARIO)
    document = {
        "apiVersion": "simulation.stowplan/v1alpha1",
        "kind": "Study",
        "scenario": "scenario.yaml",
        "seeds": runs,
        "minimise": ["wait.p95", "cost"],
    }
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


@contextmanager
def executor_of(kind: str) -> Iterator[Executor | None]:
    if kind == ONE:
        yield None
        return
    with process_executor(JOBS) if kind == TWO else dask_executor(jobs=JOBS) as executor:
        yield executor


def measure(kind: str, study: Path) -> Turn:
    """Run the sweep in this process, with an executor of the kind."""
    given = load_study(str(study))
    with TemporaryDirectory() as folder:
        began = perf_counter()
        with executor_of(kind) as executor:
            results = sweep(given, folder, executor)
            seconds = perf_counter() - began
    if results.failed:
        raise SystemExit(f"a run failed: {results.failed[0].error}")
    encoded = msgspec.json.encode(results.document(), order="sorted")
    return Turn(seconds, hashlib.sha256(encoded).hexdigest()[:16])


def take_turn(kind: str, study: Path) -> Turn:
    """Run the sweep in a process of its own."""
    command = [sys.executable, __file__, "--turn", kind, str(study)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Turn(*json.loads(done.stdout))


def rounds_of(kinds: tuple[str, ...], study: Path, rounds: int) -> Iterator[dict[str, Turn]]:
    """Turns by kind, in the opposite order in every second round."""
    for number in range(rounds):
        yield {kind: take_turn(kind, study) for kind in (kinds if number % 2 == 0 else kinds[::-1])}


def figures(kinds: tuple[str, ...], taken: list[dict[str, Turn]]) -> Figures:
    def ratio(kind: str, other: str) -> float:
        return round(median(each[kind].seconds / each[other].seconds for each in taken), 3)

    seconds = {kind: round(median(each[kind].seconds for each in taken), 3) for kind in kinds}
    return Figures(seconds, ratio(ONE, TWO), ratio(DASK, TWO) if DASK in kinds else None)


def lines(found: Figures, runs: int) -> Iterator[str]:
    for kind, seconds in found.seconds.items():
        yield f"{kind:5} {seconds:8.2f} s {runs / seconds:8.1f} runs/s"
    text = f"two processes: {found.speedup:.2f} times as fast as one, at least {MIN_SPEEDUP}"
    yield f"{text}: {verdict(found.speedup >= MIN_SPEEDUP)}"
    if found.dask_ratio is None:
        yield "Dask is not installed: pip install 'stowplan[dask]'"
        return
    text = f"Dask: {found.dask_ratio:.2f} times the time of two processes, at most {MAX_DASK_RATIO}"
    yield f"{text}: {verdict(found.dask_ratio <= MAX_DASK_RATIO)}"


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="runs of the sweep; default %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each kind; default %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--turn", nargs=2, metavar=("KIND", "STUDY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        kind, study = options.turn
        sys.stdout.write(json.dumps(measure(kind, Path(study))))
        return
    if options.runs < 1 or options.rounds < 1:
        parser.error("at least one run and one round are needed")
    kinds = (ONE, TWO, DASK) if find_spec("distributed") else (ONE, TWO)
    with TemporaryDirectory() as folder:
        taken = list(rounds_of(kinds, study_file(Path(folder), options.runs), options.rounds))
    found = figures(kinds, taken)
    text = (
        json.dumps({"runs": options.runs, **found._asdict()}) if options.json else "\n".join(lines(found, options.runs))
    )
    sys.stdout.write(f"{text}\n")
    if len({turn.digest for each in taken for turn in each.values()}) > 1:
        raise SystemExit("the results differ")


if __name__ == "__main__":
    main()
