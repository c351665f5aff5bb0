"""The schedulers, as processes on a control plane."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import yaml

from stowplan.bench.cluster.visitors import explanations, page, secure_connections, visited
from stowplan.bench.cluster.workload import EXPLAINED, FLOOR, KUBE_SCHEDULER, OURS, UPPER_BOUND, VIEWED
from stowplan.testing import ADMIN, SCHEDULER, ControlPlane, KubeScheduler, Process, free_port
from stowplan.testing.kube_scheduler import complete_config

_NO_CONFIG: Mapping[str, Any] = {}


class BenchScheduler(NamedTuple):
    """A process that schedules, and where it serves its metrics, if it does."""

    process: Process
    url: str = ""


class StartScheduler(Protocol):
    """Runs a scheduler with a KubeSchedulerConfiguration and more flags, without waiting until it is ready."""

    def __call__(
        self, control_plane: ControlPlane, config: Mapping[str, Any] = ..., flags: tuple[str, ...] = ...
    ) -> AbstractContextManager[BenchScheduler]: ...


@contextmanager
def _kube_scheduler(
    control_plane: ControlPlane, config: Mapping[str, Any] = _NO_CONFIG, flags: tuple[str, ...] = ()
) -> Iterator[BenchScheduler]:
    scheduler = KubeScheduler(control_plane, config=config, flags=flags)
    scheduler.start(wait=False)
    try:
        yield BenchScheduler(scheduler.process, scheduler.url)
    finally:
        scheduler.stop()


@contextmanager
def _stowplan(
    control_plane: ControlPlane, config: Mapping[str, Any] = _NO_CONFIG, flags: tuple[str, ...] = ()
) -> Iterator[BenchScheduler]:
    """With the flags and the configuration that kube-scheduler gets."""
    folder = Path(tempfile.mkdtemp(dir=control_plane.folder, prefix="stowplan-"))
    kubeconfig, port = control_plane.kubeconfig(SCHEDULER), free_port()
    serving = control_plane.authority.server("kube-scheduler")
    config_file = folder / "config.yaml"
    config_file.write_text(yaml.safe_dump(complete_config(config, kubeconfig)))
    own_flags = {
        "--config": config_file,
        "--authentication-kubeconfig": kubeconfig,
        "--authorization-kubeconfig": kubeconfig,
        "--bind-address": "127.0.0.1",
        "--secure-port": port,
        "--tls-cert-file": serving.certificate,
        "--tls-private-key-file": serving.key,
    }
    command = [sys.executable, "-m", "stowplan", "scheduler", *(f"{k}={v}" for k, v in own_flags.items()), *flags]
    with Process("stowplan", command, folder / "stowplan.log") as process:
        yield BenchScheduler(process, f"https://127.0.0.1:{port}")


@contextmanager
def _explained(
    control_plane: ControlPlane, config: Mapping[str, Any] = _NO_CONFIG, flags: tuple[str, ...] = ()
) -> Iterator[BenchScheduler]:
    """Stowplan, while it explains one pod a second."""
    with control_plane.client() as api:
        pods = api.list("v1/Pod", limit=500)
    with (
        _stowplan(control_plane, config, flags) as scheduler,
        visited(secure_connections(scheduler.url, control_plane.tls()), ADMIN.token, explanations(pods)),
    ):
        yield scheduler


@contextmanager
def _viewed(
    control_plane: ControlPlane, config: Mapping[str, Any] = _NO_CONFIG, flags: tuple[str, ...] = ()
) -> Iterator[BenchScheduler]:
    """Stowplan with one viewer of its page."""
    with (
        _stowplan(control_plane, config, flags) as scheduler,
        visited(secure_connections(scheduler.url, control_plane.tls()), ADMIN.token, page),
    ):
        yield scheduler


@contextmanager
def _upper_bound(
    control_plane: ControlPlane, config: Mapping[str, Any] = _NO_CONFIG, flags: tuple[str, ...] = ()
) -> Iterator[BenchScheduler]:
    """Without a configuration, since it does not decide."""
    folder = Path(tempfile.mkdtemp(dir=control_plane.folder, prefix="ceiling-"))
    kubeconfig = control_plane.kubeconfig(SCHEDULER)
    command = [sys.executable, "-m", "stowplan.bench.cluster.upper_bound_process", str(kubeconfig)]
    with Process("ceiling", [*command, *flags], folder / "ceiling.log") as process:
        yield BenchScheduler(process)


@contextmanager
def _floor(
    control_plane: ControlPlane, config: Mapping[str, Any] = _NO_CONFIG, flags: tuple[str, ...] = ()
) -> Iterator[BenchScheduler]:
    """The client of the upper bound, which binds each pod as soon as its watch shows it."""
    with _upper_bound(control_plane, config, ("--watch",)) as scheduler:
        yield scheduler


SCHEDULERS: dict[str, StartScheduler] = {
    UPPER_BOUND: _upper_bound,
    FLOOR: _floor,
    KUBE_SCHEDULER: _kube_scheduler,
    EXPLAINED: _explained,
    VIEWED: _viewed,
    OURS: _stowplan,
}
"""By name, a context manager that runs the scheduler; it does not wait until the scheduler is ready."""
