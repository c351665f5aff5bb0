"""A control plane, a proxy that makes faults, and two replicas of the scheduler that see the one through the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from tests.e2e.audit import Audit
from tests.e2e.electing import ELECTING

from stowplan.testing import SCHEDULER, ControlPlane, FaultProxy, KubeApi, Process, rss_mib, wait_until
from stowplan.testing.kube_scheduler import complete_config

REPLICAS = ("first", "second")
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
        lines = (line for replica in self.replicas for line in replica.log.read_text(errors="replace").splitlines())
        return [line for line in lines if any(sign in line for sign in SIGNS_OF_BUGS)]

    def memory(self) -> list[int]:
        return [round(rss_mib(replica.pid)) for replica in self.replicas if replica.alive]

    def wait_for_server(self) -> None:
        wait_until(lambda: self.api.healthy(), timeout=60, what="the API server")


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(folder=folder))
        api = stack.enter_context(plane.client())
        proxy = stack.enter_context(FaultProxy(plane))
        audit = stack.enter_context(Audit(api, grace=2.0))
        config = folder / "config.yaml"
        config.write_text(yaml.safe_dump(complete_config(ELECTING, plane.kubeconfig(SCHEDULER, server=proxy.url))))
        command = [sys.executable, "-m", "stowplan", "scheduler", f"--config={config}", "--secure-port=0"]
        replicas = [stack.enter_context(Process(name, command, folder / f"{name}.log")) for name in REPLICAS]
        yield Surroundings(plane, api, audit, proxy, replicas)
