import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stowplan.cluster.errors import CredentialsError
from stowplan.cluster.kubeconfig.exec_plugin import API_VERSIONS, ExecCommand, ExecCredentials
from stowplan.cluster.tls import Certificate

V1 = API_VERSIONS[0]
WHERE = "kubeconfig f: $.users[0].user.exec"


def _command(**changes: Any) -> ExecCommand:
    made = ExecCommand(WHERE, "get-token", ("--cluster", "c"), {"EXTRA": "1"}, V1)
    return made._replace(**changes)


class _Runs:
    """Stands for the program: notes how it is called, and answers."""

    def __init__(self, output: Any = b"", returncode: int = 0, error: Exception | None = None) -> None:
        self._output = output if isinstance(output, bytes) else json.dumps(output).encode()
        self._returncode = returncode
        self._error = error
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    def __call__(self, command: list[str], **options: Any) -> "subprocess.CompletedProcess[bytes]":
        self.calls.append((command, options))
        if self._error is not None:
            raise self._error
        return subprocess.CompletedProcess(command, self._returncode, self._output)


def _credential(api_version: str = V1, **status: Any) -> dict[str, Any]:
    return {"kind": "ExecCredential", "apiVersion": api_version, "status": status}


def _obtain(runs: _Runs, command: ExecCommand | None = None, **options: Any) -> Any:
    settings = {"env": {"PATH": "/bin"}, "is_terminal": lambda: False, **options}
    return ExecCredentials(command or _command(), run=runs, **settings).obtain()


@pytest.mark.parametrize("api_version", API_VERSIONS)
def test_a_token_and_when_it_expires(api_version: str) -> None:
    runs = _Runs(_credential(api_version, token="abc", expirationTimestamp="2030-01-01T00:00:00Z"))
    identity = _obtain(runs, _command(api_version=api_version))
    assert identity.headers == {"Authorization": "Bearer abc"}
    assert identity.expires == 1893456000.0
    ((command, options),) = runs.calls
    assert command == ["get-token", "--cluster", "c"]
    info = json.loads(options["env"].pop("KUBERNETES_EXEC_INFO"))
    assert info == {"kind": "ExecCredential", "apiVersion": api_version, "spec": {"interactive": False}}
    assert options["env"] == {"PATH": "/bin", "EXTRA": "1"}
    assert options["stdin"] == subprocess.DEVNULL


def test_a_certificate() -> None:
    identity = _obtain(_Runs(_credential(clientCertificateData="CHAIN", clientKeyData="KEY")))
    assert identity.certificate == Certificate(b"CHAIN", b"KEY", WHERE)
    assert identity.headers == {}
    assert identity.expires == float("inf")


def test_what_it_is_told_about_the_cluster() -> None:
    runs = _Runs(_credential(token="abc"))
    _obtain(runs, _command(cluster={"server": "https://x"}))
    info = json.loads(runs.calls[0][1]["env"]["KUBERNETES_EXEC_INFO"])
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://x"}}


@pytest.mark.parametrize(
    ("mode", "terminal", "interactive"),
    [("Never", True, False), ("IfAvailable", True, True), ("IfAvailable", False, False), ("Always", True, True)],
)
def test_interaction(mode: str, terminal: bool, interactive: bool) -> None:
    runs = _Runs(_credential(token="abc"))
    _obtain(runs, _command(interactive_mode=mode), is_terminal=lambda: terminal)
    options = runs.calls[0][1]
    assert (options["stdin"] is None) == interactive
    assert (options["timeout"] is None) == interactive


@pytest.mark.parametrize(
    ("runs", "command", "problem"),
    [
        (_Runs(error=FileNotFoundError()), _command(), "executable get-token not found"),
        (
            _Runs(error=FileNotFoundError()),
            _command(install_hint="brew install\n  get-token"),
            "executable get-token not found (brew install get-token)",
        ),
        (
            _Runs(error=PermissionError(13, "Permission denied")),
            _command(),
            "executable get-token cannot be run: Permission denied",
        ),
        (
            _Runs(error=subprocess.TimeoutExpired("x", 1, b"secret")),
            _command(),
            "executable get-token did not end in 60 s",
        ),
        (_Runs(b"secret", returncode=3), _command(), "executable get-token failed with exit code 3"),
        (_Runs(), _command(interactive_mode="Always"), "the plugin needs a terminal, and standard input is none"),
        (
            _Runs(b"secret"),
            _command(),
            "the plugin's output is not an ExecCredential: $: JSON is malformed: invalid character (byte 0)",
        ),
        (
            _Runs(_credential(token={"secret": 1})),
            _command(),
            "the plugin's output is not an ExecCredential: $.status.token: Expected `str`, got `object`",
        ),
        (
            _Runs(_credential(API_VERSIONS[1], token="secret")),
            _command(),
            f"the plugin's output is ExecCredential of {API_VERSIONS[1]}, not ExecCredential of {V1}",
        ),
        (_Runs(_credential()), _command(), "the plugin handed out neither a token nor a certificate"),
        (
            _Runs({"kind": "ExecCredential", "apiVersion": V1}),
            _command(),
            "the plugin handed out neither a token nor a certificate",
        ),
        (
            _Runs(_credential(clientKeyData="secret")),
            _command(),
            "the plugin handed out a certificate or a key, not both",
        ),
        (
            _Runs(_credential(token="secret", expirationTimestamp="soon")),
            _command(),
            "the plugin's expirationTimestamp is not an RFC 3339 time",
        ),
        (_Runs(_credential(token="se cret")), _command(), "not a token: it has characters that none may have"),
    ],
)
def test_what_can_go_wrong_is_one_line_without_secrets(runs: _Runs, command: ExecCommand, problem: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        _obtain(runs, command)
    assert str(caught.value) == f"{WHERE}: {problem}"
    assert "secret" not in str(caught.value.__cause__)


def test_a_real_program(tmp_path: Path) -> None:
    script = tmp_path / "plugin.py"
    script.write_text(
        "import json, os\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "info['status'] = {'token': os.environ['EXTRA'] + str(info['spec']['interactive'])}\n"
        "print(json.dumps(info))\n"
    )
    command = _command(command=sys.executable, args=(str(script),))
    assert ExecCredentials(command).obtain().headers == {"Authorization": "Bearer 1False"}


def _script(folder: Path, text: str) -> ExecCommand:
    script = folder / "plugin.py"
    script.write_text(text)
    return _command(command=sys.executable, args=(str(script),))


def test_output_is_limited(tmp_path: Path) -> None:
    text = json.dumps(_credential(token="abc", padding="x" * (1 << 20)))
    command = _script(tmp_path, f"print({text!r})\n")
    with pytest.raises(CredentialsError, match=f"executable {sys.executable} printed more than 1048576 bytes"):
        ExecCredentials(command).obtain()


def test_a_plugin_that_prints_without_end_is_killed(tmp_path: Path) -> None:
    command = _script(tmp_path, "while True: print('x' * 10000)\n")
    with pytest.raises(CredentialsError, match="printed more than"):
        ExecCredentials(command).obtain()


def test_standard_error_is_passed_on_up_to_a_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply = json.dumps(_credential(token="abc"))
    text = f"import sys\nsys.stderr.write('why ' + 'x' * 1000000)\nprint({reply!r})\n"
    assert ExecCredentials(_script(tmp_path, text)).obtain().headers == {"Authorization": "Bearer abc"}
    shown = capsys.readouterr().err
    assert shown.startswith("why xxx")
    assert len(shown) == 64 * 1024


def test_a_plugin_that_hangs_with_a_child_that_keeps_its_output_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stowplan.cluster.kubeconfig.exec_plugin._TIMEOUT_SECONDS", 0.5)
    text = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
    with pytest.raises(CredentialsError, match="did not end in"):
        ExecCredentials(_script(tmp_path, text)).obtain()


ENDING = """
import asyncio, sys
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig.exec_plugin import ExecCommand, ExecCredentials

async def main():
    command = ExecCommand("f", sys.executable, (sys.argv[1],), {}, "client.authentication.k8s.io/v1")
    connection = Connection("http://localhost", ExecCredentials(command))
    logins = [asyncio.ensure_future(connection.login()) for _ in range(5)]
    await asyncio.sleep(2)
    for login in logins:
        login.cancel()
    await asyncio.wait(logins)

asyncio.run(main())
"""


def test_a_plugin_that_hangs_does_not_delay_the_end_of_the_process(tmp_path: Path) -> None:
    script, pids = tmp_path / "plugin.py", tmp_path / "pids"
    script.write_text(f"import os, time\nopen({str(pids)!r}, 'a').write(str(os.getpid()) + chr(10))\ntime.sleep(300)\n")
    subprocess.run([sys.executable, "-c", ENDING, str(script)], check=True, timeout=30)
    (pid,) = pids.read_text().split()
    assert _ended(int(pid))


def _ended(pid: int) -> bool:
    """Whether a process that has no parent any more is gone, within some seconds."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False
