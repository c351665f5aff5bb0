"""A page's server for tests: a state from manifests, requests over plain HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.builders.engine_host import Host

from stowplan.cli.state import StateOptions, open_state
from stowplan.cli.web import pages_of
from stowplan.cli.web_state import recorded_decisions, state_source
from stowplan.cli.web_what_if import StateWhatIf, offer_what_if
from stowplan.config.defaults import default_configuration
from stowplan.config.options import ServingOptions
from stowplan.insight.insight import Insight
from stowplan.serving.listening import listen
from stowplan.web.access import PageAccess
from stowplan.web.owner import ThreadOwner
from stowplan.web.server import WebServer
from stowplan.web.source import Shown, StateSource


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Browser(NamedTuple):
    """Sends requests with the cookie."""

    port: int
    access: PageAccess
    source: StateSource

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, **headers)

    def data(self, path: str) -> Any:
        reply = self.get(f"/api/v1/{path}")
        assert reply.status == 200, reply.body
        return reply.json

    def send(self, method: str, path: str, body: bytes | None = None, *, login: bool = True, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if login and "Cookie" not in named:
            named["Cookie"] = self.cookie
        return self.raw(method, path, body, named)

    def raw(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        finally:
            connection.close()

    @property
    def cookie(self) -> str:
        page = self.raw("GET", self.access.url.partition(str(self.port))[2], None, {})
        assert page.status == 200
        return page.headers["Set-Cookie"].partition(";")[0]


@contextmanager
def shown(folder: Path, *objects: Any) -> Iterator[Browser]:
    """The page of a simulation of these objects."""
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    owner = ThreadOwner()
    with open_state(StateOptions((str(file),)), default_configuration(), {}, options=recorded_decisions()) as state:
        try:
            source = state_source(state, owner)
            offer_what_if(source, StateWhatIf(state))
            with served(source) as browser:
                yield browser
        finally:
            owner.close()


@contextmanager
def served(source: StateSource) -> Iterator[Browser]:
    listener = listen(ServingOptions(address="127.0.0.1", port=0))
    port = listener.getsockname()[1]
    access = PageAccess("127.0.0.1", port)
    server = WebServer(listener, *pages_of(source), access)
    server.start()
    try:
        yield Browser(port, access, source)
    finally:
        server.stop()


class _Answers:
    """Explanations without their origin."""

    def __init__(self, insight: Insight, owner: ThreadOwner) -> None:
        self._insight = insight
        self._owner = owner

    async def explain(self, namespace: str, pod: str, top: int) -> Any:
        return await self._owner.answer(lambda: self._insight.explain(self._insight.find(pod, namespace).pod, top=top))

    async def why_not(self, namespace: str, pod: str, node: str) -> Any:
        raise NotImplementedError

    async def workload(self, reference: Any) -> Any:
        raise NotImplementedError

    async def about(self, namespace: str, pod: str, answer: Any) -> Any:
        return await self._owner.answer(lambda: answer(self._insight.find(pod, namespace)))


@contextmanager
def engine_source(host: Host, *, changes: bool = True) -> Iterator[StateSource]:
    """The page's source of an engine that a test drives."""
    insight, owner = Insight(host.engine, host.clock), ThreadOwner()
    try:
        features = ["stream", "queue"]
        shown = Shown("test", "cluster", changes=changes, features=features)
        yield StateSource(host.engine, insight, owner, _Answers(insight, owner), shown)
    finally:
        owner.close()
