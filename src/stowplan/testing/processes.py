"""Processes that tests start: with a log file, stopped by their id, and never left behind."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from stowplan.testing.errors import NotInTimeError, ProcessFailedError
from stowplan.testing.waiting import wait_until

LOG_LINES_SHOWN = 30

_STILL_OURS = '[ "$PPID" = "$0" ] && exec "$@"'
"""Shell script: exec the command, unless the parent process, $0, is gone."""

_MAX_RESERVED_PORTS = 128
_reserved_ports: dict[int, int] = {}
"""The latest ports that `free_port` returned, with the file descriptors of the sockets that reserve them."""


class Process:
    """A command that runs in the background, its output appended to a file. It can be started again once it ended.

    As a context manager it starts at the beginning and is stopped at the end.
    """

    def __init__(
        self, name: str, command: Sequence[str | Path], log: Path, *, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.log = log
        self.env = dict(env) if env is not None else None
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it is an error if it runs already."""
        if self.alive:
            raise ProcessFailedError(f"{self.name} runs already, as process {self.pid}")
        with self.log.open("ab") as output:
            self._running = subprocess.Popen(
                [*_tied_to_us(), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.env,
            )

    @property
    def pid(self) -> int:
        """Its id, also after it ended."""
        if self._running is None:
            raise ProcessFailedError(f"{self.name} was not started")
        return self._running.pid

    @property
    def alive(self) -> bool:
        return self._running is not None and self._running.poll() is None

    @property
    def returncode(self) -> int | None:
        """None while the process runs; negative after a signal."""
        return self._running.poll() if self._running is not None else None

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for it to end by itself, and return its exit status."""
        if self._running is None:
            raise ProcessFailedError(f"{self.name} was not started")
        try:
            return self._running.wait(timeout)
        except subprocess.TimeoutExpired:
            raise NotInTimeError(f"{self.name} did not end within {timeout:g} s") from None

    def stop(self, grace: float = 30.0) -> None:
        """Send SIGTERM and, after `grace` seconds, SIGKILL."""
        if self._running is None or not self.alive:
            return
        self._running.terminate()
        try:
            self._running.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._running is not None and self.alive:
            self._running.kill()
            self._running.wait()

    def wait_ready(self, ready: Callable[[], bool], timeout: float = 90.0) -> None:
        """Wait until `ready` returns True. Raises as soon as the process ends; errors contain the end of its log."""

        def settled() -> bool:
            return ready() or not self.alive

        try:
            wait_until(settled, timeout=timeout)
        except NotInTimeError:
            raise ProcessFailedError(f"{self.name} was not ready within {timeout:g} s\n{self.last_log()}") from None
        if not self.alive:
            raise ProcessFailedError(f"{self.name} ended with status {self.returncode}\n{self.last_log()}")

    def last_log(self, lines: int = LOG_LINES_SHOWN) -> str:
        """The end of the log, after a line with the path of the file."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join([f"--- {self.log}", *text.splitlines()[-lines:]])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()


def _tied_to_us() -> list[str]:
    """A command prefix with which the kernel kills the process when this process dies.

    The kernel tracks the thread that started it, so this applies to the main thread only. A parent that died before
    the setting took effect is checked for afterwards.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    setpriv = shutil.which("setpriv") if sys.platform == "linux" and in_main_thread else None
    if setpriv is None:
        return []
    return [setpriv, "--pdeathsig", "KILL", "--", "/bin/sh", "-c", _STILL_OURS, str(os.getpid())]


def free_port() -> int:
    """A port on loopback on which no process listens.

    It is below the ephemeral ports: the kernel could give one of those to an outgoing connection while a test has its
    server stopped, and the server could not start again. On Linux the port is reserved against other calls, also of
    other test runs on this machine, until the process ends or has reserved many more ports.
    """
    bounds = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first_handed_out = int(bounds.read_text().split()[0]) if bounds.exists() else 32768
    candidates = range(min(10_000, first_handed_out - 1), first_handed_out)
    for _ in range(200):
        port = secrets.choice(candidates)
        if port not in _reserved_ports and _is_free(port) and (reservation := _reserve(port)) is not None:
            _reserved_ports[port] = reservation
            if len(_reserved_ports) > _MAX_RESERVED_PORTS:
                os.close(_reserved_ports.pop(next(iter(_reserved_ports))))
            return port
    raise ProcessFailedError("there is no free port on 127.0.0.1")


def _reserve(port: int) -> int | None:
    """The file descriptor of a socket whose name represents the port, or None if another process holds it.

    The kernel gives an abstract name to one socket at a time, and frees it when the socket or its process ends.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as holder:
        try:
            if sys.platform == "linux":
                holder.bind(f"\0stowplan-port-{port}")
        except OSError:
            return None
        return holder.detach()


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, in user and in kernel mode."""
    # The name in parentheses may hold spaces; utime and stime are the 14th and 15th field of the line.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    """Resident memory of a process."""
    return _status_kib(pid, "VmRSS") / 1024


def peak_rss_mib(pid: int) -> float:
    """Peak resident memory of a process."""
    return _status_kib(pid, "VmHWM") / 1024


def _status_kib(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise ProcessFailedError(f"process {pid} has ended")
