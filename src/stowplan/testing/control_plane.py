"""etcd and kube-apiserver on loopback: the part of a cluster that a scheduler talks to."""

import ssl
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from stowplan.testing import api_server
from stowplan.testing.binaries import require
from stowplan.testing.certificates import Authority, IssuedKeyPair
from stowplan.testing.errors import ProcessFailedError, SurroundingsError
from stowplan.testing.kube_api import KubeApi
from stowplan.testing.kubeconfig import kubeconfig_text
from stowplan.testing.processes import Process, free_port
from stowplan.testing.users import ADMIN, NOBODY, SCHEDULER, User, token_file

START_ATTEMPTS = 3
PORT_TAKEN = "address already in use"
API_SERVER_GRACE_SECONDS = 5.0


class ControlPlane:
    """A control plane with its own folder and ports; a context manager, or `start()` and `stop()`.

    users           users besides ADMIN, SCHEDULER and NOBODY
    runtime_config  enables and disables API groups and versions: {"resource.k8s.io/v1": False}
    throughput      raises the limits of concurrent requests, for benchmarks
    durable         makes etcd sync writes to the disk, which tests do not need
    flags           more flags for kube-apiserver; they override the defaults, or extend them if they are lists
    folder          for data, logs and certificates; by default a temporary one that is deleted on stop
    """

    def __init__(
        self,
        *,
        users: Iterable[User] = (),
        runtime_config: Mapping[str, bool] | None = None,
        throughput: bool = False,
        durable: bool = False,
        flags: Iterable[str] = (),
        folder: Path | None = None,
    ) -> None:
        self.users = (ADMIN, SCHEDULER, NOBODY, *users)
        self._settings = api_server.ApiServerSettings(dict(runtime_config or {}), throughput, durable, tuple(flags))
        self._given_folder = folder
        self._cleanup = ExitStack()
        self.folder: Path
        self.authority: Authority
        self.etcd: Process
        self.api_server: Process
        self.url = ""

    def start(self) -> None:
        """Start etcd and kube-apiserver, and return when the API server is ready."""
        etcd, kube_apiserver = require(["etcd", "kube-apiserver"])
        with ExitStack() as on_failure:
            on_failure.callback(self.stop)
            self.folder = self._given_folder or Path(
                self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="stowplan-control-plane-"))
            )
            self.authority = Authority(self.folder)
            (self.folder / "tokens.csv").write_text(token_file(self.users))
            self._start_on_free_ports(etcd, kube_apiserver)
            on_failure.pop_all()

    def stop(self) -> None:
        """Stop both processes and delete their data. Does nothing if they do not run."""
        self._cleanup.close()

    @property
    def processes(self) -> list[Process]:
        return [self.etcd, self.api_server]

    def stop_api_server(self, *, kill: bool = False) -> None:
        """Stop the API server, by SIGTERM or SIGKILL. etcd runs on and keeps all objects."""
        if kill:
            self.api_server.kill()
        self.api_server.stop(API_SERVER_GRACE_SECONDS)

    def start_api_server(self, timeout: float = 90.0) -> None:
        """Start the API server again at the same address, and return when it is ready."""
        self.api_server.start()
        with self.client() as client:
            self.api_server.wait_ready(lambda: api_server.ready(client), timeout)

    def client(self, user: User = ADMIN, *, server: str = "", timeout: float = 90.0) -> KubeApi:
        """A client with the credentials of a user; `server` is another URL of the API server, such as a proxy's."""
        return KubeApi(server or self.url, self.tls(), token=user.token, timeout=timeout)

    def client_with_certificate(self, pair: IssuedKeyPair) -> KubeApi:
        """A client with a client certificate."""
        tls = self.tls()
        tls.load_cert_chain(pair.certificate, pair.key)
        return KubeApi(self.url, tls)

    def tls(self) -> ssl.SSLContext:
        """A context that trusts the control plane's authority only."""
        return ssl.create_default_context(cafile=str(self.authority.file))

    def kubeconfig(
        self, user: User = ADMIN, *, server: str = "", namespace: str = "", certificate: bool = False
    ) -> Path:
        """A kubeconfig file for this user, with a token or, with `certificate`, a client certificate.

        With a certificate any user can log in, registered or not. A proxy that terminates TLS passes tokens only.
        """
        if not certificate and user not in self.users:
            raise SurroundingsError(f"{user.name} has no token: name the user when the control plane is made")
        pair = self.authority.client(user.name, *user.groups[:1]) if certificate else None
        text = kubeconfig_text(server or self.url, self.authority.file, user, pair, namespace)
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".kubeconfig", delete=False) as file:
            file.write(text)
        return Path(file.name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _start_on_free_ports(self, etcd: Path, kube_apiserver: Path) -> None:
        """Another process may take the port before it is listened on; then another port is tried."""
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                return self._start_both(etcd, kube_apiserver)
            except ProcessFailedError as problem:
                if attempt == START_ATTEMPTS or PORT_TAKEN not in str(problem):
                    raise

    def _start_both(self, etcd: Path, kube_apiserver: Path) -> None:
        with ExitStack() as started:
            data = started.enter_context(tempfile.TemporaryDirectory(dir=self.folder, prefix="etcd-"))
            etcd_url, peer_url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
            self.etcd = Process(
                "etcd",
                [etcd, *api_server.etcd_flags(data, etcd_url, peer_url, self._settings)],
                self.folder / "etcd.log",
            )
            started.enter_context(self.etcd)
            port = free_port()
            self.url = f"https://127.0.0.1:{port}"
            flags = api_server.flags(self.folder, self.authority, etcd_url, port, self._settings)
            self.api_server = Process("kube-apiserver", [kube_apiserver, *flags], self.folder / "kube-apiserver.log")
            started.callback(lambda: self.api_server.stop(API_SERVER_GRACE_SECONDS))
            self.start_api_server()
            self._cleanup.push(started.pop_all())
