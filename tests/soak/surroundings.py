"""A control plane, a fault proxy, and behind it two replicas of the scheduler and one scheduler that is never ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from tests.e2e.audit import Audit
from tests.e2e.electing import ELECTING

from stowplan.testing import (
    SCHEDULER,
    ControlPlane,
    FaultProxy,
    KubeApi,
    Process,
    ProcessFailedError,
    rss_mib,
    wait_until,
)
from stowplan.testing.kube_scheduler import complete_config

REPLICAS = ("first", "second")
LASTING_SCHEDULER = "lasting"
"""The name of a scheduler beside the replicas that lives for the whole run, so that its memory shows what is never
freed."""
GRACE_SECONDS = 5.0
"""For which one scheduler may overlook what another one bound: longer than an attempt with a hostile pod takes."""
SIGNS_OF_BUGS = (
    "Traceback",
    "internal error",
    "Failed to handle object",
    "Failed to take in",
    "tracked in multiple places",
    "already present in the scheduling queue",
)


@dataclass
class Surroundings:
    """All that a run needs."""

    control_plane: ControlPlane
    api: KubeApi
    audit: Audit
    proxy: FaultProxy
    replicas: list[Process]
    lasting: Process
    stopped: set[str] = field(default_factory=set)
    """Replicas that do not run because a fault wants it so."""

    def keep_running(self) -> list[int]:
        """Start replicas that have ended, as a kubelet would, and return the exit statuses."""
        ended = [replica for replica in self.replicas if not replica.alive and replica.name not in self.stopped]
        statuses = [replica.returncode or 0 for replica in ended]
        for replica in ended:
            replica.start()
        return statuses

    def signs_of_bugs(self) -> list[str]:
        logs = [process.log.read_text(errors="replace") for process in (*self.replicas, self.lasting)]
        lines = [line for log in logs for line in log.splitlines() if any(sign in line for sign in SIGNS_OF_BUGS)]
        return lines if self.lasting.alive else [*lines, self.lasting.last_log()]

    def memory(self) -> dict[str, int]:
        """MiB of each process that runs."""
        found = {}
        for process in (process for process in (*self.replicas, self.lasting) if process.alive):
            with suppress(ProcessFailedError):  # A replica may have ended meanwhile.
                found[process.name] = round(rss_mib(process.pid))
        return found

    def wait_for_server(self) -> None:
        wait_until(lambda: self.api.healthy(), timeout=60, what="the API server")


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(folder=folder))
        api = stack.enter_context(plane.client())
        proxy = stack.enter_context(FaultProxy(plane))
        audit = stack.enter_context(Audit(api, grace=GRACE_SECONDS))
        kubeconfig = plane.kubeconfig(SCHEDULER, server=proxy.url)
        configs = dict.fromkeys(REPLICAS, ELECTING) | {
            LASTING_SCHEDULER: {"profiles": [{"schedulerName": LASTING_SCHEDULER}]}
        }
        *replicas, lasting = [
            stack.enter_context(_scheduler(name, complete_config(config, kubeconfig), folder))
            for name, config in configs.items()
        ]
        yield Surroundings(plane, api, audit, proxy, replicas, lasting)


def _scheduler(name: str, config: object, folder: Path) -> Process:
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "stowplan", "scheduler", f"--config={file}", "--secure-port=0"]
    return Process(name, command, folder / f"{name}.log")
