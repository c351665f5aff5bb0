"""Our own scheduler as a process."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.audit import Audit
from tests.e2e.electing import Lease

from stowplan.testing import SCHEDULER, ControlPlane, KubeApi, Process, User
from stowplan.testing.kube_scheduler import complete_config

StartStowplan = Callable[..., Process]


@pytest.fixture
def start_stowplan(request: pytest.FixtureRequest, tmp_path: Path, _own: Any) -> StartStowplan:
    """A function that starts `stowplan scheduler`, on the shared control plane or on that of its argument."""

    def start(
        *flags: str,
        control_plane: ControlPlane | None = None,
        server: str = "",
        user: User = SCHEDULER,
        certificate: bool = False,
        config: Mapping[str, Any] | None = None,
        name: str = "stowplan",
    ) -> Process:
        place = control_plane or request.getfixturevalue("control_plane")
        file = tmp_path / f"{name}.yaml"
        kubeconfig = place.kubeconfig(user, server=server, certificate=certificate)
        file.write_text(yaml.safe_dump(complete_config(config or {}, kubeconfig)))
        command = [sys.executable, "-m", "stowplan", "scheduler", f"--config={file}", "--secure-port=0", "-v=2", *flags]
        process = Process(name, command, tmp_path / f"{name}.log")
        return _own.start(_Running(process)).process

    return start


class _Running:
    """A process as the fixtures want to have it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.processes = [process]
        self.start = process.start
        self.stop = process.stop


@pytest.fixture
def lease(kube_api: KubeApi) -> Iterator[Lease]:
    """The lease for which replicas compete, which is gone after the test."""
    lease = Lease(kube_api)
    yield lease
    lease.delete()


@pytest.fixture(scope="session")
def _watching(control_plane: ControlPlane) -> Iterator[Audit]:
    with control_plane.client() as client, Audit(client) as audit:
        yield audit


@pytest.fixture
def audit(_watching: Audit, kube_api: KubeApi) -> Audit:
    """Watches the shared control plane during the test. Nothing has been seen so far."""
    _watching.start_anew()
    return _watching
