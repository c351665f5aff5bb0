"""The command line of `stowplan extender`, without a server where none is needed."""

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from tests.unit.extender.server.examples import request

from stowplan.cli.extender import overrides
from stowplan.cli.main import cli
from stowplan.config.duration import Duration
from stowplan.extender.flags import flagged_fields
from stowplan.extender.handlers import GroupMember
from stowplan.extender.policy import FailurePolicy
from stowplan.extender.server import process
from stowplan.extender.server.configuration import ExtenderServerConfiguration, Verbs, load

EXAMPLES = Path(__file__).parents[1] / "extender" / "server" / "examples.py"
TIDY, LAX = f"{EXAMPLES}:Tidy", f"{EXAMPLES}:Lax"


class Served(NamedTuple):
    config: ExtenderServerConfiguration
    members: Sequence[GroupMember]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Served]:
    """The settings with which a server would have run."""
    seen: list[Served] = []

    def serve(config: ExtenderServerConfiguration, members: Sequence[GroupMember]) -> int:
        seen.append(Served(config, members))
        return 0

    monkeypatch.setattr(process, "serve", serve)
    return seen


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["extender", *arguments])
    return result.exit_code, result.output


def test_flags_become_settings(served: list[Served]) -> None:
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
    ((config, members),) = served
    serving = config.serving
    assert (serving.port, serving.address, serving.url_prefix) == (9999, "0.0.0.0", "/x")
    assert config.verbs == Verbs(prioritize="priority")
    assert (config.http_timeout, config.shadow) == (Duration.of_seconds(2), True)
    assert config.failure_policy.filter == "pass"
    assert (config.monitoring.port, config.monitoring.decisions) == (0, 7)
    assert members[0].name == "Tidy"


def test_flags_come_before_the_file(served: list[Served], tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "apiVersion: stowplan/v1alpha1\nkind: ExtenderServerConfiguration\n"
        f"plugins: [{{plugin: '{TIDY}', weight: 3}}]\nserving: {{port: 1, urlPrefix: /p}}\nshadow: true\n"
    )
    assert run(f"--config={file}", "--port=2")[0] == 0
    ((config, members),) = served
    assert (config.serving.port, config.serving.url_prefix, config.shadow) == (2, "/p", True)
    assert members[0].weight == 3


def test_every_flag_has_a_place_in_the_configuration() -> None:
    kinds: dict[Any, Any] = {int: 7, bool: True, str: "x", tuple[str, ...]: ("x",), int | None: 7}
    fields = list(flagged_fields(ExtenderServerConfiguration))
    assert len(fields) == len({field.flag.option for field in fields}) == 33
    values = {field.flag.option: kinds.get(field.type) for field in fields}
    values |= {"failure_policy": {"filter": "pass"}, "http_timeout": "1s", "gzip": "auto"}
    values |= {"bind_address": "::1", "metrics_bind_address": "::1", "max_total_body_size": 7}
    assert None not in values.values()
    load(None, "command line", overrides(["a:B"], values))


def test_a_policy_for_all_verbs(served: list[Served]) -> None:
    run(f"--plugin={TIDY}", "--failure-policy=cached", "--failure-policy=filter=pass")
    policy = served[0].config.failure_policy
    assert policy == FailurePolicy(filter="pass", prioritize="cached", preempt="cached")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "command line: $.plugins: Required value: name at least one plugin, e.g. --plugin ./my.py"),
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
