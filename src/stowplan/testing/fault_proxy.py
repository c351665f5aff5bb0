"""A proxy in front of the API server that injects faults.

It terminates TLS with a certificate of the control plane's authority and connects to the API server with TLS, so only
the address differs for clients. Each client connection has one connection to the API server; both end together. The
proxy runs on its own thread and event loop.
"""

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Self, TypeVar
from urllib.parse import urlsplit

from stowplan.testing.control_plane import ControlPlane
from stowplan.testing.faults import Rule, RuleBook
from stowplan.testing.http_messages import MAX_HEAD_BYTES
from stowplan.testing.processes import Process, free_port
from stowplan.testing.proxied_connection import ProxiedConnection, Streams

T = TypeVar("T")


class FaultProxy:
    """A proxy with rules; a context manager, or `start()` and `stop()`. Clients connect to `url`, with tokens.

    with FaultProxy(control_plane) as proxy:
        conflict = proxy.add(Rule(Reply(409, "Conflict"), method="POST", path="/binding$", times=3))
        ...
        assert conflict.hits == 3
    """

    def __init__(self, control_plane: ControlPlane, rules: Iterable[Rule] = (), *, seed: int = 0) -> None:
        target = urlsplit(control_plane.url)
        self._target = (target.hostname or "", target.port or 443)
        self._target_tls = control_plane.tls()
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(*control_plane.authority.server("fault-proxy"))
        self._tls.set_alpn_protocols(["http/1.1"])
        self._rules = RuleBook(rules, seed)
        self._conversations: set[ProxiedConnection] = set()
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._stopping = asyncio.Event()
        self._port = free_port()
        self.url = f"https://127.0.0.1:{self._port}"

    @property
    def processes(self) -> list[Process]:
        """Empty: the proxy runs on a thread of the test's process."""
        return []

    def start(self) -> None:
        self._thread.start()
        self._loop.result()

    def stop(self) -> None:
        """Close all connections and end the thread."""
        if self._thread.is_alive():
            self._in_loop(self._stopping.set)
            self._thread.join()

    def add(self, rule: Rule) -> Rule:
        """Append a rule."""
        self._rules.add(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        self._rules.remove(rule)

    @contextmanager
    def rule(self, rule: Rule) -> Iterator[Rule]:
        """Adds a rule for the length of a `with` block."""
        try:
            yield self.add(rule)
        finally:
            self.remove(rule)

    def cut_watches(self) -> int:
        """Close all connections that carry a watch; returns their number."""
        return self._in_loop(lambda: _sever(each for each in self._conversations if each.watching))

    def cut_connections(self) -> int:
        """Close all connections; returns their number."""
        return self._in_loop(lambda: _sever(self._conversations))

    @contextmanager
    def cutting_watches(self, every: float) -> Iterator[None]:
        """Cut all watches periodically, inside a `with` block."""
        over = threading.Event()

        def cut() -> None:
            while not over.wait(every):
                self.cut_watches()

        scissors = threading.Thread(target=cut, name="fault-proxy-cuts", daemon=True)
        scissors.start()
        try:
            yield
        finally:
            over.set()
            scissors.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def _in_loop(self, call: Callable[[], T]) -> T:
        """Have something done where the connections are, and wait for its result."""

        async def run() -> T:
            return call()

        return asyncio.run_coroutine_threadsafe(run(), self._loop.result()).result()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:
            if self._loop.done():
                raise
            self._loop.set_exception(problem)

    async def _serve(self) -> None:
        server = await asyncio.start_server(
            self._on_connection, "127.0.0.1", self._port, ssl=self._tls, limit=MAX_HEAD_BYTES
        )
        self._loop.set_result(asyncio.get_running_loop())
        await self._stopping.wait()
        server.close()
        _sever(self._conversations)

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = ProxiedConnection((reader, writer), self._connect, self._rules)
        self._conversations.add(conversation)
        try:
            # One that waits out a delay is cancelled when the proxy stops, which asyncio would complain of at length.
            with suppress(asyncio.CancelledError):
                await conversation.run()
        finally:
            self._conversations.discard(conversation)

    async def _connect(self) -> Streams:
        host, port = self._target
        return await asyncio.open_connection(host, port, ssl=self._target_tls, limit=MAX_HEAD_BYTES)


def _sever(conversations: Iterable[ProxiedConnection]) -> int:
    doomed = list(conversations)
    for conversation in doomed:
        conversation.sever()
    return len(doomed)
