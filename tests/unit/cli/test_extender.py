"""The command line of `stowplan extender`, without a server where none is needed."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.extender.server.examples import request

from stowplan.cli.extender import FLAGS, overrides
from stowplan.cli.main import cli
from stowplan.extender.server import process
from stowplan.extender.server.configuration import load
from stowplan.extender.server.settings import ExtenderSettings

EXAMPLES = Path(__file__).parents[1] / "extender" / "server" / "examples.py"
TIDY, LAX = f"{EXAMPLES}:Tidy", f"{EXAMPLES}:Lax"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ExtenderSettings]:
    """The settings with which a server would have run."""
    seen: list[ExtenderSettings] = []

    def serve(settings: ExtenderSettings) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr(process, "serve", serve)
    return seen


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["extender", *arguments])
    return result.exit_code, result.output


def test_flags_become_settings(served: list[ExtenderSettings]) -> None:
    flags = {
        "--port": "9999",
        "--bind-address": "0.0.0.0",
        "--url-prefix": "/x",
        "--prioritize-verb": "priority",
        "--http-timeout": "2s",
        "--failure-policy": "filter=pass",
        "--metrics-port": "0",
        "--decisions": "7",
    }
    assert run(f"--plugin={TIDY}", *(part for pair in flags.items() for part in pair), "--shadow")[0] == 0
    (settings,) = served
    assert (settings.serving.port, settings.serving.address, settings.url_prefix) == (9999, "0.0.0.0", "/x")
    assert settings.verbs == {"prioritize": "priority"}
    assert (settings.policy.http_timeout, settings.policy.shadow) == (2.0, True)
    assert settings.policy.on_failure["filter"] == "pass"
    assert (settings.metrics_port, settings.decisions_kept) == (0, 7)
    assert settings.members[0].name == "Tidy"


def test_flags_come_before_the_file(served: list[ExtenderSettings], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "apiVersion: stowplan/v1alpha1\nkind: ExtenderServerConfiguration\n"
        f"plugins: [{{plugin: '{TIDY}', weight: 3}}]\nserving: {{port: 1, urlPrefix: /p}}\nshadow: true\n"
    )
    assert run(f"--config={file}", "--port=2")[0] == 0
    (settings,) = served
    assert (settings.serving.port, settings.url_prefix, settings.policy.shadow) == (2, "/p", True)
    assert settings.members[0].weight == 3


def test_every_flag_has_a_place_in_the_configuration() -> None:
    values: dict[str, Any] = dict.fromkeys(FLAGS, "x")
    integers = ("port", "max_body_size", "metrics_port", "decisions")
    values |= dict.fromkeys(integers, 7)
    switches = (
        "shadow",
        "spare_critical",
        "lower_case_replies",
        "in_cluster",
        "leader_elect",
        "log_requests",
        "bare_names",
    )
    values |= dict.fromkeys(switches, True)
    values |= {"allowed_names": ("x",), "keep_annotations": ("x",), "http_timeout": "1s", "gzip": "auto"}
    load(None, "command line", overrides(["a:B"], {"filter": "pass"}, values))


def test_a_policy_for_all_verbs(served: list[ExtenderSettings]) -> None:
    run(f"--plugin={TIDY}", "--failure-policy=cached", "--failure-policy=filter=pass")
    assert served[0].policy.on_failure == {"filter": "pass", "prioritize": "cached", "preempt": "cached"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "command line: $.plugins: Required value: name at least one plugin, e.g. --plugin ./my.py:MyPlugin"),
        (("--plugin=./nope.py:X",), "--plugin ./nope.py:X: no such file: nope.py"),
        ((f"--plugin={EXAMPLES}:Tiddy",), f"--plugin {EXAMPLES}:Tiddy: {EXAMPLES} has no"),
        ((f"--plugin={TIDY}", "--failure-policy=filter=maybe"), "$.failurePolicy.filter: Unsupported value"),
        ((f"--plugin={TIDY}", "--failure-policy=filters=pass"), "$.failurePolicy.filters: unknown field (did you mean"),
        ((f"--plugin={TIDY}", "--http-timeout=soon"), '$.httpTimeout: time: invalid duration "soon"'),
        ((f"--plugin={TIDY}", "--bind-verb=filter"), "/filter: the verbs filter and bind have the same path"),
        ((f"--plugin={TIDY}", "--filter-verb=a b"), "a path has no room for such characters"),
        ((f"--plugin={TIDY}", "--tls-cert-file=/no", "--tls-private-key-file=/no"), "open /no: no such file"),
        (
            (f"--plugin={TIDY}", f"--tls-cert-file={EXAMPLES}", f"--tls-private-key-file={EXAMPLES}"),
            "no usable PEM certificate with its key",
        ),
        ((f"--plugin={TIDY}", "--tls-cert-file=/no"), "$.serving.tls.keyFile: Required value"),
        ((f"--plugin={TIDY}", "--kubeconfig=/no"), "/no"),
        (("--config=/no",), "/no: No such file or directory"),
    ],
)
def test_bad_starts_are_a_line_and_a_status(arguments: tuple[str, ...], message: str) -> None:
    status, output = run("--port=0", *arguments)
    assert status == 2
    (line,) = output.splitlines()
    assert line.startswith("stowplan: ")
    assert message in line


def test_bad_starts_end_the_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "stowplan", "extender", f"--plugin={TIDY}", f"--port={port}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        f"stowplan: --port: failed to create listener: failed to listen on 127.0.0.1:{port}: address already in use"
    ]


def test_help_teaches() -> None:
    status, output = run("--help")
    assert status == 0
    for part in ("--plugin", "stowplan config extender", "--client-ca-file", "replay", "/debug/decisions"):
        assert part in output


def test_replay(tmp_path: Path) -> None:
    body = request(("n1", "yes"), ("n2", "no"))
    answer = {"NodeNames": None, "Nodes": {"items": [{"metadata": {"name": "n1"}}]}, "FailedNodes": {"n2": "untidy"}}
    line = {"verb": "filter", "status": 200, "request": json.loads(body), "reply": answer}
    file = tmp_path / "requests.jsonl"
    file.write_text(f"{json.dumps(line)}\n" * 3)
    assert run("replay", str(file), f"--plugin={TIDY}") == (0, "3 requests, 0 answered differently\n")
    status, output = run("replay", str(file), f"--plugin={LAX}", "--limit=1")
    assert status == 1
    assert output == (
        "filter d/web\n  passes -> rejected: untidy: n1\n  rejected: untidy -> passes: n2\n"
        "… and 2 more\n3 requests, 3 answered differently\n"
    )
