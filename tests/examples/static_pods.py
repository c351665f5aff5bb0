"""Runs the containers of the examples' manifests as processes on this machine."""

from __future__ import annotations

import ssl
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.extending import ExtenderProcess

from stowplan.testing import SCHEDULER, ControlPlane, Process, free_port
from stowplan.testing.binaries import require

MOUNTED = "/etc/kubernetes"
SUPPORTED = "v1.36"


def folder_of(release: str) -> str:
    """The folder of an example that has the files for a release of Kubernetes."""
    return release if release == SUPPORTED else f"configs-of-old-releases/{release}"


class ExampleExtender(ExtenderProcess):
    """The extender of an example on a free port, started with these flags."""

    def __init__(self, folder: Path, *flags: str, scheme: str = "http") -> None:
        super().__init__(folder, "extender", scheme=scheme)
        self._flags = flags


class StaticPod:
    """A scheduler's static pod: its files, its command, and its probe. Pods of old releases run `stowplan scheduler`.

    Files are copied to a folder that stands for `/etc/kubernetes`; `changes` replaces parts of their texts, such as
    the extender's port.
    """

    def __init__(self, source: Path, folder: Path, control_plane: ControlPlane, changes: Mapping[str, str]) -> None:
        self.source = source
        folder.mkdir(exist_ok=True)
        for file in source.iterdir():
            (folder / file.name).write_text(_changed(file.read_text(), {MOUNTED: str(folder), **changes}))
        (folder / "scheduler.conf").write_text(control_plane.kubeconfig(SCHEDULER).read_text())
        self._manifest: dict[str, Any] = yaml.safe_load((folder / "kube-scheduler.yaml").read_text())
        (self._container,) = self._manifest["spec"]["containers"]
        name, *flags = self._container["command"]
        assert name == "kube-scheduler"
        own = [sys.executable, "-m", "stowplan", "scheduler"]
        command = [str(require([name])[0])] if source.name == SUPPORTED else own
        self._port = free_port()
        flags += [f"--secure-port={self._port}"] if self.probe["scheme"] == "HTTPS" else self._insecure_flags()
        self.process = Process(f"{name} of {source.name}", [*command, *flags], folder / "log")

    @property
    def probe(self) -> dict[str, Any]:
        probe: dict[str, Any] = self._container["livenessProbe"]["httpGet"]
        return probe

    @property
    def mounted(self) -> set[str]:
        """Names of the mounted files. Asserts that every mount has its volume."""
        paths = {volume["name"]: volume["hostPath"]["path"] for volume in self._manifest["spec"]["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in self._container["volumeMounts"]}
        assert mounts == paths
        return {Path(path).name for path in paths.values()}

    def is_alive(self) -> bool:
        """Result of the kubelet's liveness probe, on the port of this process instead of the manifest's."""
        probe = self.probe
        url = f"{probe['scheme'].lower()}://{probe['host']}:{self._port}{probe['path']}"
        trusting = ssl._create_unverified_context()  # as the kubelet does
        try:
            with urllib.request.urlopen(url, timeout=5, context=trusting) as reply:
                return bool(reply.read() == b"ok")
        except OSError:
            return False

    def _insecure_flags(self) -> list[str]:
        return [f"--port={self._port}", "--address=127.0.0.1", "--secure-port=0"]

    # Interface that the fixtures expect
    @property
    def processes(self) -> list[Process]:
        return [self.process]

    def start(self) -> None:
        self.process.start()
        self.process.wait_ready(self.is_alive, timeout=45)

    def stop(self) -> None:
        self.process.stop()


def _changed(text: str, changes: Mapping[str, str]) -> str:
    for old, new in changes.items():
        text = text.replace(old, new)
    return text
