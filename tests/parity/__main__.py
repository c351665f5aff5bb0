"""Starts two control planes with a scheduler each, and plays workloads on them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import click
import yaml
from tests.parity.comparison import Comparison
from tests.parity.run import Run
from tests.parity.side import Side
from tests.parity.totals import Totals
from tests.parity.workload import PROFILES, Workload, standing_objects

from stowplan.testing import SCHEDULER, ControlPlane, KubeScheduler, Process, SurroundingsError
from stowplan.testing.kube_scheduler import complete_config

ATTEMPTS = 3
NAMES = ("kube-scheduler", "stowplan")


@contextmanager
def two_sides(folder: Path | None = None) -> Iterator[tuple[Side, Side]]:
    """kube-scheduler and ours, each on a control plane of its own. Into a folder, if given, they log at length."""
    talk = ["-v=5"] if folder else []
    with ExitStack() as stack:
        planes = [stack.enter_context(ControlPlane(folder=_within(folder, name))) for name in NAMES]
        stack.enter_context(KubeScheduler(planes[0], config={"profiles": PROFILES}, flags=talk))
        stack.enter_context(_stowplan(planes[1], talk))
        sides = []
        for name, plane in zip(NAMES, planes, strict=True):
            side = stack.enter_context(Side(name, stack.enter_context(plane.client())))
            side.prepare(standing_objects())
            sides.append(side)
        yield sides[0], sides[1]


def _within(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / name


def _stowplan(control_plane: ControlPlane, flags: list[str]) -> Process:
    folder = Path(tempfile.mkdtemp(dir=control_plane.folder, prefix="stowplan-"))
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(complete_config({"profiles": PROFILES}, control_plane.kubeconfig(SCHEDULER))))
    command = [sys.executable, "-m", "stowplan", "scheduler", f"--config={file}", "--secure-port=0", *flags]
    return Process("stowplan", command, folder / "stowplan.log")


def play(comparison: Comparison, seed: int, index: int, nodes: int, pods: int) -> None:
    """Play a workload; where an API server does not answer in time, as on a machine that was halted, once more."""
    for _ in range(ATTEMPTS):
        try:
            return comparison.play(Workload(seed, index, nodes=nodes, pods=pods))
        except SurroundingsError as problem:
            _tell(f"interrupted: {problem}")
            comparison.totals.counts["interrupted"] += 1
            comparison.clear()
    sys.exit(f"the API servers do not answer: {ATTEMPTS} times in a row")


@click.command()
@click.option("--workloads", default=200, show_default=True, help="How many random clusters.")
@click.option("--first", default=0, show_default=True, help="The number of the first of them.")
@click.option("--pods", default=50, show_default=True, help="How many pods come to each.")
@click.option("--nodes", default=20, show_default=True, help="How many nodes each has.")
@click.option("--seed", default=1, show_default=True, help="Others are drawn from another seed.")
@click.option(
    "--json", "result", type=click.Path(path_type=Path), help="Write the result there, and what there is so far."
)
@click.option("--resume", is_flag=True, help="Go on with the run whose result is in the file of --json.")
@click.option(
    "--cases",
    type=click.Path(path_type=Path),
    help="Write disagreements there, as cases for `stowplan evaluate`; otherwise to a new temporary folder.",
)
@click.option("--logs", type=click.Path(path_type=Path), help="Keep there what the schedulers log, at length.")
def main(
    workloads: int,
    first: int,
    pods: int,
    nodes: int,
    seed: int,
    result: Path | None,
    resume: bool,
    cases: Path | None,
    logs: Path | None,
) -> None:
    """Compare the outcomes of our scheduler with those of kube-scheduler."""
    run = Run(Totals(tell=_tell), {"seed": seed, "nodes_each": nodes, "pods_each": pods}, result, cases or _new_file())
    if resume:
        run.resume()
    with two_sides(logs) as sides, Comparison(*sides, run.totals) as comparison:
        for index in range(first + run.totals.counts["workloads"], first + workloads):
            play(comparison, seed, index, nodes, pods)
            run.save()
            click.echo(run.progress(workloads), err=True)
    click.echo(run.text(), nl=False)
    sys.exit(1 if run.totals.counts["disagreements"] else 0)


def _new_file() -> Path:
    return Path(tempfile.mkdtemp(prefix="stowplan-parity-"), "disagreements.jsonl")


def _tell(problem: str) -> None:
    click.echo(f"{datetime.now():%H:%M:%S} {problem}", err=True)


if __name__ == "__main__":
    main()
