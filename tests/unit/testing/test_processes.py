"""Processes that tests start."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stowplan.testing import processes
from stowplan.testing.errors import NotInTimeError, ProcessFailedError
from stowplan.testing.processes import Process, cpu_seconds, free_port, peak_rss_mib, rss_mib
from stowplan.testing.waiting import wait_until


def shell(tmp_path: Path, script: str) -> Process:
    return Process("shell", ["/bin/sh", "-c", script], tmp_path / "shell.log")


def gone(pid: int) -> bool:
    """Whether it has ended, although whoever is its parent now may not have taken notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_output_goes_to_the_log_and_the_status_is_kept(tmp_path: Path) -> None:
    process = shell(tmp_path, "echo out; echo err >&2; exit 3")
    process.start()
    assert process.wait() == 3
    assert (process.returncode, process.alive) == (3, False)
    assert process.last_log() == f"--- {tmp_path / 'shell.log'}\nout\nerr"
    assert process.last_log(lines=1).endswith(".log\nerr")


def test_a_second_start_appends_to_the_log(tmp_path: Path) -> None:
    process = shell(tmp_path, "echo once")
    for _ in range(2):
        process.start()
        process.wait()
    assert process.log.read_text() == "once\nonce\n"


def test_stop_asks_politely(tmp_path: Path) -> None:
    with shell(tmp_path, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done") as process:
        process.wait_ready(lambda: "up" in process.log.read_text())
        with pytest.raises(ProcessFailedError, match="runs already"):
            process.start()
    assert process.returncode == 0
    assert process.log.read_text() == "up\nbye\n"


def test_who_does_not_listen_is_killed(tmp_path: Path) -> None:
    process = shell(tmp_path, "trap '' TERM; echo up; while :; do sleep 0.01; done")
    process.start()
    process.wait_ready(lambda: "up" in process.log.read_text())
    with pytest.raises(NotInTimeError):
        process.wait(timeout=0.01)
    process.stop(grace=0.05)
    assert process.returncode == -signal.SIGKILL
    process.stop()


def test_one_that_ends_before_it_is_ready_fails_with_its_log(tmp_path: Path) -> None:
    process = shell(tmp_path, "echo cannot listen; exit 4")
    process.start()
    with pytest.raises(ProcessFailedError, match=r"shell ended with status 4\n--- .*\ncannot listen"):
        process.wait_ready(lambda: False)


def test_one_that_never_gets_ready_fails_with_its_log(tmp_path: Path) -> None:
    with shell(tmp_path, "echo thinking; exec sleep 60") as process:
        wait_until(lambda: "thinking" in process.log.read_text())
        with pytest.raises(ProcessFailedError, match=r"shell was not ready within 0\.2 s\n--- .*\nthinking"):
            process.wait_ready(lambda: False, timeout=0.2)


def test_nothing_to_say_of_one_that_was_not_started(tmp_path: Path) -> None:
    process = shell(tmp_path, "true")
    process.stop()
    with pytest.raises(ProcessFailedError, match="was not started"):
        assert process.pid
    with pytest.raises(ProcessFailedError, match="was not started"):
        process.wait()


ORPHAN_MAKER = """
import sys, time
from pathlib import Path
from stowplan.testing import processes
from stowplan.testing.processes import Process
process = Process("sleep", ["sleep", "60"], Path(sys.argv[1]))
process.start()
print(process.pid, flush=True)
time.sleep(60)
"""

LATECOMER_MAKER = """
import os, sys, time
from pathlib import Path
from stowplan.testing import processes
from stowplan.testing.processes import Process
slow = Path(sys.argv[2]) / "setpriv"
slow.write_text('''#!/bin/sh
while [ "$(cut -d' ' -f4 /proc/$$/stat)" = "$7" ]; do sleep 0.01; done
shift 3
exec "$@"
''')
slow.chmod(0o755)
os.environ["PATH"] = f"{sys.argv[2]}:{os.environ['PATH']}"
process = Process("sleep", ["sleep", "60"], Path(sys.argv[1]))
process.start()
print(process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can tie a process to another")
@pytest.mark.parametrize("script", [ORPHAN_MAKER, LATECOMER_MAKER], ids=["tied", "not yet tied"])
def test_it_does_not_outlive_a_test_run_that_is_killed(tmp_path: Path, script: str) -> None:
    command = [sys.executable, "-c", script, str(tmp_path / "log"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert not gone(pid)
        run.kill()
    wait_until(lambda: gone(pid), timeout=30)


def test_free_ports_can_be_listened_on_and_differ() -> None:
    ports = {free_port() for _ in range(20)}
    assert len(ports) == 20
    for port in ports:
        assert 1024 < port < 32768
    with socket.create_server(("127.0.0.1", ports.pop())):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="needs abstract socket names")
def test_a_free_port_is_not_given_to_another_process() -> None:
    script = "from stowplan.testing import processes; import sys; print(processes._reserve(int(sys.argv[1])))"
    found = subprocess.run([sys.executable, "-c", script, str(free_port())], capture_output=True, text=True, check=True)
    assert found.stdout == "None\n"


def test_few_ports_are_reserved_at_a_time() -> None:
    ports = [free_port() for _ in range(processes._MAX_RESERVED_PORTS + 5)]
    assert set(processes._reserved_ports) <= set(ports)
    assert len(processes._reserved_ports) == processes._MAX_RESERVED_PORTS


def test_cpu_and_memory_of_this_process() -> None:
    before = cpu_seconds(os.getpid())
    wait_until(lambda: sum(range(100_000)) and cpu_seconds(os.getpid()) > before, every=0)
    assert before == pytest.approx(sum(os.times()[:2]), abs=1.0)
    ballast = b"x" * (64 << 20)
    with_ballast = rss_mib(os.getpid())
    del ballast
    assert rss_mib(os.getpid()) < with_ballast - 32
    assert peak_rss_mib(os.getpid()) >= with_ballast - 1
