"""Runs the blocks of a page as a reader would, from top to bottom in one folder, and compares what they print."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.docs.page import Block, Page

from stowplan.testing import free_port

_COMMANDS = ("sh", "console", "python")
_OUTPUTS = ("text", "json")
_TIMEOUT_SECONDS = 200.0


_DEFAULT_PORTS = {10259: "--secure-port"}
"""Ports that commands do not mention because they are a server's default, and the flag that sets them."""


class Run:
    """A page that is being run: the folder, the environment, and the servers in the background.

    Servers listen on free ports instead of those of the page, so that pages can be run at the same time on one machine:
    commands, files and expected outputs are read with the free port in the place of the documented one.
    """

    def __init__(self, page: Page, folder: Path, environment: Mapping[str, str]) -> None:
        self.page = page
        self._folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", **environment}
        self._background: dict[str, subprocess.Popen[str]] = {}
        documented = (block.marks["background"] for block in page.blocks if "background" in block.marks)
        self._ports = {int(address.rpartition(":")[2]): free_port() for address in sorted(set(documented))}
        for file in filter(Path.is_file, folder.rglob("*")):
            self._move_ports(file)

    def run(self, finally_check: Callable[[], None] = lambda: None) -> None:
        """Raises AssertionError if a command fails or its output differs. `finally_check` runs with all servers up."""
        printed: str | None = None
        try:
            for block in self.page.blocks:
                if "file" in block.marks:
                    self._write(block)
                elif block.language in _COMMANDS:
                    printed = None if "not run" in block.marks else self._execute(block)
                elif block.language in _OUTPUTS and block.after_previous and printed is not None:
                    self._compare(block, printed, self._moved(block.text))
            finally_check()
        finally:
            self._end()

    def _write(self, block: Block) -> None:
        path = self._folder / block.marks["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._moved(block.text))

    def _execute(self, block: Block) -> str | None:
        if "background" in block.marks:
            self._start(block)
            return None
        if block.language == "python":
            return self._call(block, [sys.executable, "-"], self._moved(block.text))
        if block.language == "sh":
            return self._call(block, ["sh", "-e"], self._moved(block.text))
        for command, expected in _console(self._moved(block.text)):
            printed = self._call(block, ["sh", "-e"], command)
            if expected:
                self._compare(block, printed, expected)
        return None

    def _call(self, block: Block, command: list[str], script: str) -> str:
        done = subprocess.run(
            command,
            input=script,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        wanted = int(block.marks.get("status", "0"))
        assert done.returncode == wanted, f"{self._where(block)}: exit status {done.returncode}\n{done.stdout}"
        return done.stdout

    def _start(self, block: Block) -> None:
        """Start a server and wait until it listens. It replaces the server that listened there before."""
        address = self._moved(block.marks["background"])
        self._stop(address)
        assert not _listens(address), f"{self._where(block)}: another process listens on {address}"
        log = self._folder / f".background-{block.line}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["sh", "-ec", self._server_command(block)],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self._background[address] = process
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while not _listens(address):
            gone = process.poll() is not None or time.monotonic() > deadline
            assert not gone, f"{self._where(block)}: no process listens on {address}\n{log.read_text()}"
            time.sleep(0.05)

    def _server_command(self, block: Block) -> str:
        text = block.text.replace("$ ", "", 1) if block.language == "console" else block.text
        documented = int(block.marks["background"].rpartition(":")[2])
        if documented in _DEFAULT_PORTS:
            return f"{text.rstrip()} {_DEFAULT_PORTS[documented]}={self._ports[documented]}"
        return self._moved(text)

    def _moved(self, text: str) -> str:
        """A text with the ports of this run in the place of the documented ones."""
        numbers = "|".join(map(str, self._ports)) or "(?!)"
        return re.sub(rf"(?<![\w.])(?:{numbers})(?!\w)", lambda found: str(self._ports[int(found[0])]), text)

    def _move_ports(self, file: Path) -> None:
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            return
        if self._moved(text) != text:
            file.write_text(self._moved(text))

    def _compare(self, block: Block, printed: str, expected: str) -> None:
        where = self._where(block)
        assert matches(printed, expected), f"{where}: printed\n{printed}\ninstead of\n{expected}"

    def _where(self, block: Block) -> str:
        return f"{self.page.name}:{block.line}"

    def _end(self) -> None:
        for address in list(self._background):
            self._stop(address)

    def _stop(self, address: str) -> None:
        """As Ctrl-C would; the shell may be gone before what it has started."""
        process = self._background.pop(address, None)
        if process is None or process.poll() is not None:
            return
        os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + 10
        while (process.poll() is None or _listens(address)) and time.monotonic() < deadline:
            time.sleep(0.05)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def matches(printed: str, expected: str) -> bool:
    """Whether the output matches; `…` matches anything on a line, or any lines if it is alone."""
    return re.fullmatch("".join(map(_pattern, expected.splitlines())), f"{printed.rstrip()}\n") is not None


def _pattern(line: str) -> str:
    return r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n"


def _console(text: str) -> Iterator[tuple[str, str]]:
    """(command, what it prints) for each line that begins with a dollar sign; `> ` continues a command."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        length = next((i for i, line in enumerate(lines) if i and not line.startswith("> ")), len(lines))
        command = "\n".join([lines[0], *(line[2:] for line in lines[1:length])])
        yield command, "".join(f"{line}\n" for line in lines[length:])


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0
