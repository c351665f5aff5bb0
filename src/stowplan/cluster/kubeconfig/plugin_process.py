"""The process of an exec plugin, with bounded output and a time limit; it never outlives this process.

Python's `subprocess.run` keeps any amount of output in memory, and kills only the plugin, not the plugin's children.

Upstream: k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go (refreshCredsLocked)
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import IO

from stowplan import logs

log = logs.get(__name__)

MAX_OUTPUT_BYTES = 1 << 20
"""Credentials take a few kilobytes."""
MAX_STDERR_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024

_running: "dict[subprocess.Popen[bytes], bool]" = {}
"""Plugins that run now, and whether each has a process group of its own."""


class OutputTooLargeError(OSError):
    """The plugin printed more than MAX_OUTPUT_BYTES; it has been killed."""


def run_plugin(
    command: Sequence[str], *, env: Mapping[str, str], stdin: int | None, timeout: float | None
) -> "subprocess.CompletedProcess[bytes]":
    """Run a plugin to its end. Without a timeout it is interactive and shares the terminal with this process.

    Raises OSError, OutputTooLargeError or subprocess.TimeoutExpired. The plugin is killed with its children if it fails
    in one of these ways.
    """
    deadline = None if timeout is None else monotonic() + timeout
    is_group = timeout is not None and sys.platform != "win32"
    process = subprocess.Popen(
        command,
        env=env,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=None if timeout is None else subprocess.PIPE,
        process_group=0 if is_group else None,
    )
    _running[process] = is_group
    try:
        output = _read_output(process, timeout)
        if len(output) > MAX_OUTPUT_BYTES:
            raise OutputTooLargeError
        process.wait(None if deadline is None else max(0.0, deadline - monotonic()))
    except BaseException:
        _kill(process, is_group=is_group)
        raise
    finally:
        _running.pop(process, None)
    return subprocess.CompletedProcess(command, process.returncode, output)


def _read_output(process: "subprocess.Popen[bytes]", timeout: float | None) -> bytes:
    """Standard output up to one byte more than the maximum, read on a thread because a pipe cannot be read with a time
    limit. A process that left the plugin's group may keep the pipe open and the thread waiting."""
    outputs: SimpleQueue[bytes] = SimpleQueue()
    _on_thread(lambda pipe: outputs.put(pipe.read(MAX_OUTPUT_BYTES + 1)), process.stdout)
    _on_thread(_pass_on, process.stderr)
    try:
        return outputs.get(timeout=timeout)
    except Empty:
        raise subprocess.TimeoutExpired(process.args, timeout or 0.0) from None


def _on_thread(read: Callable[[IO[bytes]], None], pipe: IO[bytes] | None) -> None:
    def work(pipe: IO[bytes]) -> None:
        with pipe:
            read(pipe)

    if pipe is not None:
        threading.Thread(target=work, args=(pipe,), name="exec-plugin", daemon=True).start()


def _pass_on(pipe: IO[bytes]) -> None:
    """Writes the plugin's standard error to that of this process. Beyond the maximum it is read and discarded."""
    left = MAX_STDERR_BYTES
    while chunk := os.read(pipe.fileno(), _CHUNK_BYTES):
        if left:
            sys.stderr.write(chunk[:left].decode(errors="replace"))
            sys.stderr.flush()
            left -= len(chunk[:left])
            if not left:
                log.warning("Discarding further standard error of an exec plugin", maxBytes=MAX_STDERR_BYTES)


def _kill(process: "subprocess.Popen[bytes]", *, is_group: bool) -> None:
    with suppress(ProcessLookupError):
        if is_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _kill_running() -> None:
    """At the end of this process, while a thread waits for a plugin."""
    for process, is_group in list(_running.items()):
        _kill(process, is_group=is_group)


atexit.register(_kill_running)
