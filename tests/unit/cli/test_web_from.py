"""`stowplan web --from URL`: the page of a running scheduler, forwarded with the credentials of a kubeconfig."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.builders.objects import node, pod
from tests.unit.scheduler.test_web_source import DATA, Live, secure_port

from stowplan.cli.main import cli
from stowplan.cli.remote_scheduler import SchedulerAddress
from stowplan.cli.web_from import SchedulerProxy
from stowplan.cluster.errors import ClusterError
from stowplan.config.defaults import default_configuration
from stowplan.config.options import ServingOptions
from stowplan.config.releases import LATEST
from stowplan.scheduler.web_source import PAGE_PREFIX
from stowplan.serving.listening import listen
from stowplan.serving.pages import Pages
from stowplan.web.access import PageAccess
from stowplan.web.server import WebServer
from stowplan.web.what_if import ChangeOption, RunMaps, WhatIfHost, WhatIfResult

RIGHTS = {
    "list pods",
    f"get {PAGE_PREFIX}events",
    f"get {PAGE_PREFIX}explain/default/x",
    *(f"get {path}" for path in DATA),
}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    file = tmp_path / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    file.write_text(yaml.safe_dump(config))
    return str(file)


@pytest.fixture
def live() -> Iterator[Live]:
    made = Live(node("a"), pod("small", requests={"cpu": 1}), pod("big", requests={"cpu": 9}))
    yield made
    made.stop()


@contextmanager
def proxied(port: int, kubeconfig: str, what_if: WhatIfHost | None = None) -> Iterator[tuple[str, str]]:
    """(address, token) of a page that forwards to the port."""
    remote = SchedulerAddress(f"https://127.0.0.1:{port}", kubeconfig, insecure=True).connect()
    remote.check()
    proxy, pages = SchedulerProxy(remote.connection, what_if), Pages()
    proxy.add_pages(pages)
    listener = listen(ServingOptions(address="127.0.0.1", port=0))
    access = PageAccess("127.0.0.1", listener.getsockname()[1])
    server = WebServer(listener, pages, proxy.stream, access, close=proxy.close)
    server.start()
    try:
        yield access.url.partition("/login")[0], access.token
    finally:
        server.stop()


def opened(page: tuple[str, str], path: str) -> Any:
    headers = {"Authorization": f"Bearer {page[1]}"}
    return urllib.request.urlopen(urllib.request.Request(f"{page[0]}/api/v1/{path}", headers=headers), timeout=20)


def test_data_and_stream_are_forwarded(live: Live, kubeconfig: str) -> None:
    with secure_port(live, RIGHTS) as port, proxied(port, kubeconfig) as page:
        for path in DATA:
            with opened(page, path.removeprefix(PAGE_PREFIX)) as reply:
                assert json.load(reply)
        with opened(page, "events?since=other-1") as stream:
            while not (line := stream.readline()).startswith(b"event: "):
                assert line
            assert line == b"event: reset\n"
        with pytest.raises(urllib.error.HTTPError, match="404") as error:
            opened(page, "explain/default/x")
        assert "is not known to the scheduler" in json.load(error.value)["message"]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            opened(page, "nothing")


class LocalHost:
    """Answers at once."""

    def check(self, changes: list[ChangeOption]) -> None: ...

    def command(self, changes: list[ChangeOption]) -> str:
        return "stowplan what-if --from-cluster"

    def compute(self, changes: list[ChangeOption], on_step: Callable[[], None]) -> WhatIfResult:
        return WhatIfResult("computed here", None, (), RunMaps(before=None, after=None))


def test_what_if_is_answered_here_and_not_by_the_scheduler(live: Live, kubeconfig: str) -> None:
    with secure_port(live, RIGHTS) as port, proxied(port, kubeconfig, LocalHost()) as page:
        with opened(page, "hello") as reply:
            assert {"stream", "what-if", "compare"} <= set(json.load(reply)["features"])
        body = json.dumps({"changes": [{"option": "drain", "value": ["a"]}]}).encode()
        headers = {"Authorization": f"Bearer {page[1]}", "Content-Type": "application/json", "Origin": page[0]}
        asked = urllib.request.Request(f"{page[0]}/api/v1/what-if", body, headers)
        with urllib.request.urlopen(asked, timeout=20) as reply:
            name = json.load(reply)["id"]
        while (run := json.load(opened(page, f"run/{name}")))["state"] == "running":
            time.sleep(0.02)
        assert (run["state"], run["sentence"]) == ("done", "computed here")


def test_the_configuration_of_a_running_scheduler(live: Live, kubeconfig: str) -> None:
    with secure_port(live, RIGHTS) as port:
        remote = SchedulerAddress(f"https://127.0.0.1:{port}", kubeconfig, insecure=True).connect()
        assert remote.configuration(LATEST).profiles == default_configuration().profiles


def test_a_scheduler_that_goes_away_is_a_bad_gateway(live: Live, kubeconfig: str) -> None:
    with secure_port(live, RIGHTS) as port:
        page = proxied(port, kubeconfig)
        address = page.__enter__()
    try:
        for path in ("map", "events"):
            with pytest.raises(urllib.error.HTTPError, match="502"):
                opened(address, path)
    finally:
        page.__exit__(None, None, None)


def test_an_account_without_rights_gets_one_line(live: Live, kubeconfig: str) -> None:
    with secure_port(live, {f"get {path}" for path in DATA}) as port:
        with pytest.raises(ClusterError, match='User "bob" cannot list resource "pods"'):
            SchedulerAddress(f"https://127.0.0.1:{port}", kubeconfig, insecure=True).connect().check()
        url = f"https://127.0.0.1:{port}"
        result = CliRunner().invoke(
            cli, ["web", "--from", url, "--kubeconfig", kubeconfig, "--insecure-skip-tls-verify"], standalone_mode=False
        )
        assert isinstance(result.exception, Exception)
        assert "cannot list resource" in str(result.exception)
