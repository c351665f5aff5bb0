"""Credentials of an exec plugin: client.authentication.k8s.io, v1 and v1beta1.

Upstream: k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from stowplan.api import codec
from stowplan.api.meta import Wire
from stowplan.cluster.connection import Identity
from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.kubeconfig.credentials import bearer
from stowplan.cluster.kubeconfig.plugin_process import MAX_OUTPUT_BYTES, OutputTooLargeError, run_plugin
from stowplan.cluster.tls import Certificate

GROUP = "client.authentication.k8s.io"
API_VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")

_TIMEOUT_SECONDS = 60.0
"""Limit for a non-interactive plugin: one that hangs must not stop the scheduler."""


class ExecStatus(Wire, frozen=True, kw_only=True):
    """Status of an ExecCredential."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class ExecCredential(Wire, frozen=True, kw_only=True):
    """The object that a plugin prints."""

    api_version: str = ""
    kind: str = ""
    status: ExecStatus | None = None


class ExecCommand(NamedTuple):
    """Command of a plugin, from the kubeconfig."""

    where: str
    """The kubeconfig's field, for error messages."""
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    api_version: str
    interactive_mode: str = "Never"
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None
    """Cluster info for `provideClusterInfo`."""


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


class ExecCredentials:
    """Runs the plugin when its last credentials have expired or were rejected."""

    renewable = True

    def __init__(
        self,
        call: ExecCommand,
        *,
        env: Mapping[str, str] = os.environ,
        is_terminal: Callable[[], bool] = lambda: sys.stdin is not None and sys.stdin.isatty(),
        run: Run = run_plugin,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._call = call
        self._env = env
        self._is_terminal = is_terminal
        self._run = run
        self._clock = clock

    def obtain(self) -> Identity:
        status = self._status(self._execute())
        where = self._call.where
        headers = bearer(status.token.encode(), where) if status.token else {}
        certificate = None
        if status.client_certificate_data:
            certificate = Certificate(status.client_certificate_data.encode(), status.client_key_data.encode(), where)
        return Identity(headers, certificate, self._expiry(status.expiration_timestamp))

    def _execute(self) -> bytes:
        call, interactive = self._call, self._interactive()
        spec: dict[str, Any] = {"interactive": interactive}
        if call.cluster is not None:
            spec["cluster"] = call.cluster
        info = {"kind": "ExecCredential", "apiVersion": call.api_version, "spec": spec}
        env = {**self._env, **call.env, "KUBERNETES_EXEC_INFO": codec.encode(info).decode()}
        try:
            done = self._run(
                [call.command, *call.args],
                env=env,
                stdin=None if interactive else subprocess.DEVNULL,
                timeout=None if interactive else _TIMEOUT_SECONDS,
            )
        except FileNotFoundError as error:
            hint = f" ({' '.join(call.install_hint.split())})" if call.install_hint else ""
            raise self._failed(f"executable {call.command} not found{hint}") from error
        except OutputTooLargeError:
            raise self._failed(f"executable {call.command} printed more than {MAX_OUTPUT_BYTES} bytes") from None
        except OSError as error:
            raise self._failed(f"executable {call.command} cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired:
            # Not chained: the exception contains the plugin's output.
            raise self._failed(f"executable {call.command} did not end in {_TIMEOUT_SECONDS:.0f} s") from None
        if done.returncode != 0:
            raise self._failed(f"executable {call.command} failed with exit code {done.returncode}")
        return done.stdout

    def _interactive(self) -> bool:
        mode = self._call.interactive_mode
        if mode == "Always" and not self._is_terminal():
            raise self._failed("the plugin needs a terminal, and standard input is none")
        return mode != "Never" and self._is_terminal()

    def _status(self, output: bytes) -> ExecStatus:
        try:
            credential = codec.decode(ExecCredential, output)
        except codec.DecodeError as error:
            raise self._failed(f"the plugin's output is not an ExecCredential: {error}") from None
        status = credential.status
        if credential.kind != "ExecCredential" or credential.api_version != self._call.api_version:
            found = f"{credential.kind} of {credential.api_version}"
            raise self._failed(f"the plugin's output is {found}, not ExecCredential of {self._call.api_version}")
        if status is None or not (status.token or status.client_certificate_data or status.client_key_data):
            raise self._failed("the plugin handed out neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("the plugin handed out a certificate or a key, not both")
        return status

    def _expiry(self, timestamp: str) -> float:
        if not timestamp:
            return float("inf")
        try:
            return msgspec.convert(timestamp, datetime).timestamp()
        except msgspec.ValidationError:
            raise self._failed("the plugin's expirationTimestamp is not an RFC 3339 time") from None

    def _failed(self, problem: str) -> CredentialsError:
        return CredentialsError(f"{self._call.where}: {problem}")
