"""Fuzz the scheduler with random objects."""

from __future__ import annotations

import random
import sys
import time

import click
import msgspec
from tests.fuzz.batches import Batches
from tests.fuzz.mutations import Mutations
from tests.fuzz.trial import MAX_RATIO, Trial

from stowplan.testing import ControlPlane

PROGRESS_SECONDS = 10.0
MAX_PROBLEMS = 10


@click.command()
@click.option("--objects", default=100_000, show_default=True, help="Number of objects that the API server accepts.")
@click.option("--seed", default=None, type=int, help="The same seed makes the same objects.")
def main(objects: int, seed: int | None) -> None:
    """Feed random objects that a real API server accepts to the scheduler."""
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    click.echo(f"seed {seed}", err=True)
    began = reported = time.monotonic()
    trial = Trial()
    with ControlPlane(throughput=True) as plane, plane.client() as api:
        batches = Batches(api, Mutations(random.Random(seed)))
        for batch in batches.take(objects):
            trial.run(batch)
            if time.monotonic() - reported >= PROGRESS_SECONDS:
                reported = time.monotonic()
                done = f"{trial.findings.objects} objects, {len(trial.findings.decisions)} decisions"
                click.echo(f"{done}, {len(trial.findings.problems)} problems", err=True)
            if len(trial.findings.problems) >= MAX_PROBLEMS:
                break
    problems = trial.problems()
    summary = {
        "seed": seed,
        "seconds": round(time.monotonic() - began, 1),
        "objects": trial.findings.objects,
        "accepted": dict(batches.accepted),
        "rejected": dict(batches.rejected),
        "selectors": trial.findings.selectors,
        "decisions": len(trial.findings.decisions),
        "median_ms": round(1000 * trial.findings.median, 3),
        "longest_ms": round(1000 * trial.slowest[0], 3),
        "ratio": round(trial.findings.ratio, 1),
        "max_ratio": MAX_RATIO,
        "problems": problems,
    }
    click.echo(msgspec.json.format(msgspec.json.encode(summary)).decode())
    sys.exit(1 if problems else 0)


main()
