"""Injects faults and checks recovery by turns."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from tests.soak.faults import FAULTS, RULES
from tests.soak.hostile_tenants import HostileTenants
from tests.soak.surroundings import LASTING_SCHEDULER, Surroundings, surroundings
from tests.soak.traffic import NAMESPACE, Traffic

from stowplan._version import KUBERNETES_VERSION, __version__
from stowplan.runtime.gc_tuning import MIN_COLLECTION_INTERVAL_SECONDS
from stowplan.testing import SurroundingsError, wait_until

MINUTES = float(os.environ.get("STOWPLAN_SOAK_MINUTES", "60"))
FAULT_PHASE_SECONDS = (20.0, 60.0)
SECOND_FAULT_PROBABILITY = 0.3
RECOVERY_SECONDS = 90.0
"""Seconds after the last fault within which all pods have to be bound."""
WARM_UP_MINUTES = 10.0
REST_SECONDS = 5 * MIN_COLLECTION_INTERVAL_SECONDS
"""Before the memory is measured: collections come round once or twice a minute, and ordinary pods that were created
among hostile ones, each of which keeps an arena of 1 MiB, have to be replaced by others."""
MAX_MEMORY_RATIO = 1.1
"""The memory of the scheduler that is never ended, at the end, in multiples of that after the warm-up."""


class Run:
    """Injects faults, checks recovery, and records the results."""

    def __init__(self, around: Surroundings, traffic: Traffic, tenants: HostileTenants, rng: random.Random) -> None:
        self._around = around
        self._traffic = traffic
        self._tenants = tenants
        self._rng = rng
        self.faults: Counter[str] = Counter()
        self.exits: Counter[int] = Counter()
        self.slowest_recovery = 0.0
        self.rounds = 0
        self.problems: list[str] = []
        self._memory: list[tuple[float, dict[str, int]]] = []
        """The minute and the memory of each process, at the end of each round."""
        self.resting_memory: list[dict[str, int]] = []
        """After the warm-up and at the end, without hostile pods."""

    def inject_faults(self) -> None:
        """Inject one fault after the other."""
        until = time.monotonic() + self._rng.uniform(*FAULT_PHASE_SECONDS)
        while time.monotonic() < until:
            with self._in_addition():
                name = self._rng.choice(list(FAULTS))
                self.faults[name] += 1
                FAULTS[name](self._around, self._rng)
            self.exits.update(self._around.keep_running())
            time.sleep(self._rng.uniform(0, 2))

    @contextmanager
    def _in_addition(self) -> Iterator[None]:
        """With some probability, inject a second fault of the same duration."""
        if self._rng.random() < SECOND_FAULT_PROBABILITY:
            name = self._rng.choice(list(RULES))
            self.faults[name] += 1
            with self._around.proxy.rule(RULES[name]()):
                yield
        else:
            yield

    def check_recovery(self) -> None:
        """Wait until all pods are bound; record as problems whatever is wrong then."""
        self._around.wait_for_server()
        self._traffic.rest()
        began = time.monotonic()
        try:
            wait_until(self._all_bound, timeout=RECOVERY_SECONDS, every=0.2)
        except SurroundingsError:
            self.problems += [f"never bound: {pod}" for pod in self._unbound()]
        self.slowest_recovery = max(self.slowest_recovery, time.monotonic() - began)
        self.rounds += 1
        self.problems += self._around.audit.problems
        self.problems += self._around.signs_of_bugs()
        if not self.problems:
            self._traffic.go_on()

    def _all_bound(self) -> bool:
        self.exits.update(self._around.keep_running())
        pods = self._around.api.list("Pod", NAMESPACE)
        homes = {f"{NAMESPACE}/{pod['metadata']['name']}": pod["spec"].get("nodeName") for pod in pods}
        bound = {key: node for key, node in self._around.audit.bound.copy().items() if key.startswith(f"{NAMESPACE}/")}
        return homes == bound

    def _unbound(self) -> list[str]:
        pods = [pod for pod in self._around.api.list("Pod", NAMESPACE) if not pod["spec"].get("nodeName")]
        return [f"{pod['metadata']['name']} {pod['status']}" for pod in pods[:10]]

    def note_memory(self, minute: float) -> dict[str, int]:
        self._memory.append((minute, self._around.memory()))
        return self._memory[-1][1]

    def measure_resting_memory(self) -> None:
        """The memory without the hostile pods: with them, it is that of the random pods which happen to be there."""
        self._tenants.withdraw()
        time.sleep(REST_SECONDS)
        self.resting_memory.append(self._around.memory())
        click.echo(f"memory without hostile pods {self.resting_memory[-1]} MiB", err=True)
        self._tenants.go_on()

    def check_memory(self) -> None:
        """Compare the resting memory at the end with that after the warm-up, if the run went on that long."""
        if len(self.resting_memory) < 2:
            return
        warm, end = self.resting_memory[0], self.resting_memory[-1]
        if end[LASTING_SCHEDULER] > MAX_MEMORY_RATIO * warm[LASTING_SCHEDULER]:
            self.problems.append(f"memory grew from {warm} MiB after {WARM_UP_MINUTES:g} minutes to {end} MiB")

    def summary(self) -> dict[str, object]:
        return {
            "rounds": self.rounds,
            "faults": dict(sorted(self.faults.items())),
            "exit_statuses": {str(status): times for status, times in sorted(self.exits.items())},
            "pods_created": self._traffic.created,
            "pods_deleted": self._traffic.deleted,
            "bindings_seen": self._around.audit.seen,
            "slowest_recovery_seconds": round(self.slowest_recovery, 1),
            "hostile": dict(sorted(self._tenants.created.items())),
            "resting_memory_mib_after_warm_up_and_at_end": self.resting_memory,
            "memory_mib_by_minute": {f"{minute:.1f}": memory for minute, memory in self._memory},
            "problem_count": len(self.problems),
            "problems": self.problems,
        }


@click.command()
@click.option("--minutes", default=MINUTES, show_default=True, help="How long; also STOWPLAN_SOAK_MINUTES.")
@click.option("--seed", default=None, type=int, help="The same seed makes the same faults, if not the same moments.")
@click.option("--json", "result", type=click.Path(path_type=Path), help="Write the result there.")
def main(minutes: float, seed: int | None, result: Path | None) -> None:
    """Let faults happen to our scheduler for as long as it takes."""
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="stowplan-soak-"))
    click.echo(f"seed {seed}, logs in {folder}", err=True)
    began = time.monotonic()
    with surroundings(folder) as around:
        traffic, tenants = Traffic(around.api, random.Random(seed)), HostileTenants(around.api, random.Random(seed + 2))
        run = Run(around, traffic, tenants, random.Random(seed + 1))
        traffic.prepare()
        tenants.prepare()
        traffic.start()
        tenants.start()
        while not run.problems and time.monotonic() - began < 60 * minutes:
            run.inject_faults()
            run.check_recovery()
            minute = (time.monotonic() - began) / 60
            done = f"{minute:.1f} min, {run.faults.total()} faults, {around.audit.seen} bindings"
            click.echo(f"{done}, {len(run.problems)} problems, memory {run.note_memory(minute)} MiB", err=True)
            if minute >= WARM_UP_MINUTES and not run.resting_memory:
                run.measure_resting_memory()
        run.measure_resting_memory()
        traffic.end()
        tenants.end()
        run.check_memory()
        result_fields = {
            "date": datetime.now(UTC).date().isoformat(),
            "stowplan": __version__,
            "kubernetes": KUBERNETES_VERSION,
        }
        result_fields |= {"seed": seed, "minutes": round((time.monotonic() - began) / 60, 1), **run.summary()}
    text = msgspec.json.format(msgspec.json.encode(result_fields)).decode() + "\n"
    click.echo(text, nl=False)
    if result:
        result.write_text(text)
    sys.exit(1 if run.problems else 0)


main()
