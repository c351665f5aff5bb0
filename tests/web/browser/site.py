"""A running `stowplan web`, which a test can stop and start again on the same port."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

START_SECONDS = 120
STOP_SECONDS = 20
TOKEN = "the-token-of-the-browser-tests"


class Site:
    """Serves the page of some manifests from `start` to `stop`."""

    def __init__(self, file: Path, *options: str) -> None:
        self.file = file
        self.options = options
        self.port = _free_port()
        self._process: subprocess.Popen[str] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def login(self) -> str:
        return f"{self.origin}/login?token={TOKEN}"

    def start(self) -> None:
        command = [sys.executable, "-m", "stowplan", "web", "-f", str(self.file), "--port", str(self.port)]
        environment = {**os.environ, "STOWPLAN_WEB_TOKEN": TOKEN}
        self._process = subprocess.Popen(
            [*command, *self.options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        if address != self.login:
            self._process.kill()
            raise RuntimeError(f"stowplan web did not start: {address}\n{self._process.communicate()[1]}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.communicate(timeout=STOP_SECONDS)
            self._process = None

    def answer(self, path: str) -> Any:
        """The JSON of a path below the API."""
        request = urllib.request.Request(f"{self.origin}/api/v1/{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=START_SECONDS) as response:
            return json.load(response)

    def pods(self, start: str) -> list[str]:
        """Names of pods on nodes that start with a text."""
        names = self.answer("pods?names")
        index = names["prefix"]["index"]
        at = index if isinstance(index, list) else [index["all"]] * len(names["suffix"])
        whole = [names["prefix"]["values"][i] + suffix for i, suffix in zip(at, names["suffix"], strict=True)]
        return [name for name in whole if name.startswith(start)]

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> "Site":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
