"""The contestants, as processes on a control plane."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import yaml

from stowplan.bench.cluster.workload import CEILING, KUBE_SCHEDULER, OURS
from stowplan.testing import SCHEDULER, ControlPlane, KubeScheduler, Process, free_port
from stowplan.testing.kube_scheduler import complete_config


@contextmanager
def _kube_scheduler(control_plane: ControlPlane) -> Iterator[Process]:
    scheduler = KubeScheduler(control_plane)
    scheduler.start(wait=False)
    try:
        yield scheduler.process
    finally:
        scheduler.stop()


def _stowplan(control_plane: ControlPlane) -> Process:
    """With the configuration that kube-scheduler gets."""
    folder = Path(tempfile.mkdtemp(dir=control_plane.folder, prefix="stowplan-"))
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(complete_config({}, control_plane.kubeconfig(SCHEDULER))))
    flags = [f"--config={file}", "--bind-address=127.0.0.1", f"--secure-port={free_port()}"]
    return Process("stowplan", [sys.executable, "-m", "stowplan", "scheduler", *flags], folder / "stowplan.log")


def _ceiling(control_plane: ControlPlane) -> Process:
    folder = Path(tempfile.mkdtemp(dir=control_plane.folder, prefix="ceiling-"))
    kubeconfig = control_plane.kubeconfig(SCHEDULER)
    return Process(
        "ceiling", [sys.executable, "-m", "stowplan.bench.cluster.ceiling", kubeconfig], folder / "ceiling.log"
    )


CONTESTANTS: dict[str, Callable[[ControlPlane], AbstractContextManager[Process]]] = {
    CEILING: _ceiling,
    KUBE_SCHEDULER: _kube_scheduler,
    OURS: _stowplan,
}
"""By name, what runs them from the beginning to the end of a block; it need not wait until they are ready."""
