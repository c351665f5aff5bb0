"""`stowplan web` on the command line: the address, the port, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.builders.objects import node, pod

from stowplan.cli.main import cli
from stowplan.cli.web import DEFAULT_PORT, _listen


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    items = [{"apiVersion": "v1", "kind": "Node", **node("a")}, {"apiVersion": "v1", "kind": "Pod", **pod("p")}]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


@pytest.fixture
def page(cluster: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "stowplan", "web", "-f", cluster, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_the_printed_address_opens_the_page_and_sigterm_ends_it(page: subprocess.Popen[str]) -> None:
    assert page.stdout is not None
    address = page.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address, timeout=20) as reply:
        assert b'<meta http-equiv="refresh" content="0; url=/">' in reply.read()
    with opener.open(address.partition("login")[0], timeout=20) as reply:
        assert b"<title>" in reply.read()
    with opener.open(address.partition("login")[0] + "api/v1/hello", timeout=20) as reply:
        assert json.load(reply)["pods"] == 1
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(address.partition("login")[0], timeout=20)
    page.send_signal(signal.SIGTERM)
    _, errors = page.communicate(timeout=20)
    assert (page.returncode, errors) == (0, "stowplan: serving the page; press Ctrl-C to stop\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Missing the state"),
        (["--bind-address", "0.0.0.0"], "other machines reach this address"),
        (["--bind-address", "10.0.0.1"], "other machines reach this address"),
        (["--bind-address", "page.example"], "not an IP address"),
        (["--seed", "2"], "--seed needs -f with a file of kind Scenario"),
        (["--tls-cert-file", "x.pem"], "belong together"),
        (["--from", "http://scheduler:10259"], "credentials are sent over https only"),
    ],
)
def test_what_is_refused(arguments: list[str], problem: str) -> None:
    given = arguments if "--from" in arguments or not arguments else [*arguments, "-f", os.devnull]
    result = CliRunner().invoke(cli, ["web", *given])
    assert result.exit_code == 2
    assert problem in result.output


def test_the_default_port_is_the_next_free_one_and_a_given_port_is_that_port() -> None:
    from stowplan.errors import ConfigError

    with _listen("127.0.0.1", None) as first, _listen("127.0.0.1", None) as second:
        ports = [each.getsockname()[1] for each in (first, second)]
        assert ports[0] >= DEFAULT_PORT
        assert ports[1] != ports[0]
        with pytest.raises(ConfigError, match="in use"):
            _listen("127.0.0.1", ports[0])
    assert isinstance(first, socket.socket)
