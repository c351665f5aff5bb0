"""What one write costs: the lean writer and aiohttp, side by side, over TLS against a local server.

    python benchmarks/writer.py [requests]

The server runs in a process of its own and answers in about an API server's words; only the client's CPU counts.
"""

import asyncio
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from httptools import HttpRequestParser

from stowplan.cluster.connection import Connection, Identity
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.tls import Trust
from stowplan.cluster.write_client import Writer, WriteRequest
from stowplan.testing.certificates import Authority

CONNECTIONS = 16
ROUNDS = 3
PATH = "/api/v1/namespaces/default/pods/pod-00001/binding"
BODY = (
    b'{"apiVersion":"v1","kind":"Binding","metadata":{"name":"pod-00001","namespace":"default",'
    b'"uid":"01234567-89ab-cdef-0123-456789abcdef"},"target":{"kind":"Node","name":"node-00001"}}'
)
ANSWER = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}\n'
REPLY = (
    b"HTTP/1.1 201 Created\r\nAudit-Id: 01234567-89ab-cdef-0123-456789abcdef\r\nCache-Control: no-cache, private\r\n"
    b"Content-Type: application/json\r\nX-Kubernetes-Pf-Flowschema-Uid: 01234567-89ab-cdef-0123-456789abcdef\r\n"
    b"X-Kubernetes-Pf-Prioritylevel-Uid: 01234567-89ab-cdef-0123-456789abcdef\r\n"
    b"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
)


class Server(asyncio.Protocol):
    """Answers every request alike."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._parser = HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(REPLY)


async def serve(certificate: str, key: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=context)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


class Token:
    """Credentials as a service account has them."""

    renewable = False

    def obtain(self) -> Identity:
        return Identity({"Authorization": "Bearer " + "x" * 900})


class Write(WriteRequest):
    """One request of the measurement."""

    __slots__ = ("done", "left")
    done: asyncio.Future[None]
    left: list[int]

    def replied(self, status: int, body: bytes) -> None:
        assert status == 201
        self.left[0] -= 1
        if not self.left[0]:
            self.done.set_result(None)


async def lean(connection: Connection, count: int) -> None:
    writer = Writer(connection, connections=CONNECTIONS)
    done, left = asyncio.get_running_loop().create_future(), [count]
    for _ in range(count):
        write = Write(b"POST", PATH.encode(), BODY)
        write.done, write.left = done, left
        writer.submit(write)
    await done
    writer.close()


async def general(connection: Connection, count: int) -> None:
    login = await connection.login()
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=login.tls or False)
    headers = {**login.headers, "Content-Type": "application/json"}
    left = iter(range(count))
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def work() -> None:
            for _ in left:
                async with session.post(connection.url + PATH, data=BODY) as response:
                    assert response.status == 201
                    await response.read()

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


Client = Callable[[Connection, int], Coroutine[Any, Any, None]]


def measure(client: Client, make_loop: Callable[[], asyncio.AbstractEventLoop], url: str, ca: Path, count: int) -> str:
    connection = Connection(url, Token(), trust=Trust(CredentialSource("the benchmark", path=str(ca))))
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(client(connection, CONNECTIONS * 10))
        wall, cpu = time.perf_counter(), time.process_time()
        runner.run(client(connection, count))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return f"{cpu / count * 1e6:7.1f} us CPU a request {count / wall:8.0f} requests/s"


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        pair = authority.server("server")
        command = [sys.executable, __file__, "serve", str(pair.certificate), str(pair.key)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = f"https://127.0.0.1:{server.stdout.readline().strip()}"
            clients: dict[str, tuple[Client, Callable[[], asyncio.AbstractEventLoop]]] = {
                "lean, uvloop": (lean, uvloop.new_event_loop),
                "lean, asyncio": (lean, asyncio.new_event_loop),
                "aiohttp, uvloop": (general, uvloop.new_event_loop),
                "aiohttp, asyncio": (general, asyncio.new_event_loop),
            }
            for _ in range(ROUNDS):
                for name, (client, make_loop) in clients.items():
                    sys.stdout.write(f"{name:18}{measure(client, make_loop, url, authority.file, count)}\n")
            server.terminate()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        uvloop.run(serve(*sys.argv[2:]))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10_000)
