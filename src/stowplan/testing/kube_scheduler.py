"""The stock kube-scheduler, as a peer to compare with."""

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import yaml

from stowplan.testing.binaries import require
from stowplan.testing.control_plane import ControlPlane
from stowplan.testing.kube_api import KubeApi
from stowplan.testing.processes import Process, cpu_seconds, free_port, rss_mib
from stowplan.testing.users import ADMIN, SCHEDULER, User

CLIENT_REQUESTS_PER_SECOND = 5000
"""Client QPS. The default of 50 would limit every measurement."""


class KubeScheduler:
    """A kube-scheduler on a control plane; a context manager, or `start()` and `stop()`.

    config   a KubeSchedulerConfiguration, completed with the connection and without leader election
    user     the user of its kubeconfig
    server   another URL of the API server, such as that of a proxy
    flags    more flags, such as "-v=4"
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        *,
        config: Mapping[str, Any] | None = None,
        user: User = SCHEDULER,
        server: str = "",
        flags: Iterable[str] = (),
    ) -> None:
        self.control_plane = control_plane
        self.url = ""
        self.process: Process
        self._config = config or {}
        self._user = user
        self._server = server
        self._flags = tuple(flags)
        self._cleanup = ExitStack()
        self._client: KubeApi

    def start(self, *, wait: bool = True) -> None:
        """Start the process and, by default, wait until its caches have synced."""
        (binary,) = require(["kube-scheduler"])
        folder = Path(tempfile.mkdtemp(dir=self.control_plane.folder, prefix="kube-scheduler-"))
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        self._client = self.control_plane.client(ADMIN, server=self.url)
        self._cleanup.callback(self._client.close)
        self.process = Process(
            "kube-scheduler", [binary, *self._all_flags(folder, port)], folder / "kube-scheduler.log"
        )
        self.process.start()
        self._cleanup.callback(self.process.stop)
        if wait:
            with ExitStack() as on_failure:
                on_failure.callback(self.stop)
                self.wait_ready()
                on_failure.pop_all()

    def wait_ready(self, timeout: float = 90.0) -> None:
        """Wait until its informer caches have synced."""
        self.process.wait_ready(self._client.healthy, timeout)

    def stop(self) -> None:
        self._cleanup.close()

    @property
    def processes(self) -> list[Process]:
        return [self.process]

    def scrape(self, path: str = "/metrics") -> str:
        """A page of metrics in Prometheus' text format."""
        return str(self._client.request("GET", path)["message"])

    def metrics(self) -> dict[str, float]:
        """The values of its metrics, by name with labels: `name{label="value"}`."""
        return parse_samples(self.scrape())

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def rss_mib(self) -> float:
        return rss_mib(self.process.pid)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _all_flags(self, folder: Path, port: int) -> list[str]:
        kubeconfig = self.control_plane.kubeconfig(self._user, server=self._server)
        serving = self.control_plane.authority.server("kube-scheduler")
        config_file = folder / "config.yaml"
        config_file.write_text(yaml.safe_dump(complete_config(self._config, kubeconfig)))
        flags = {
            "--config": config_file,
            "--authentication-kubeconfig": kubeconfig,
            "--authorization-kubeconfig": kubeconfig,
            "--bind-address": "127.0.0.1",
            "--secure-port": port,
            "--tls-cert-file": serving.certificate,
            "--tls-private-key-file": serving.key,
        }
        return [*(f"{flag}={value}" for flag, value in flags.items()), *self._flags]


def complete_config(config: Mapping[str, Any], kubeconfig: Path) -> dict[str, Any]:
    """The configuration with its kind, the connection, and leader election off unless configured."""
    connection = {
        "qps": CLIENT_REQUESTS_PER_SECOND,
        "burst": CLIENT_REQUESTS_PER_SECOND,
        **config.get("clientConnection", {}),
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        **config,
        "clientConnection": connection | {"kubeconfig": str(kubeconfig)},
    }


def parse_samples(text: str) -> dict[str, float]:
    """The samples in Prometheus' text format, by name and labels as they stand there."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
