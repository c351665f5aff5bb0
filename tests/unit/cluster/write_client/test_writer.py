from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import pytest
import trustme
import uvloop
from tests.unit.cluster.scripted_server import Call, Received, Token, http, ok, run, serving

from stowplan.cluster.connection import Identity
from stowplan.cluster.credential_source import CredentialSource
from stowplan.cluster.errors import ConnectionFailedError, CredentialsError, UntrustedServerError
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.tls import Certificate, Trust
from stowplan.cluster.write_client import ClosedError, NotLeaderError, TimedOutError, Writer


def script(*steps: Callable[[Received], None]) -> Callable[[Received], None]:
    """Answers one request after the other, all further ones with success."""
    left = iter(steps)
    return lambda received: next(left, ok)(received)


def replying(status: int, **headers: str) -> Callable[[Received], None]:
    return lambda received: received.peer.reply(status, **headers)


def silent(received: Received) -> None:
    pass


def hang_up(received: Received) -> None:
    received.peer.transport.close()


async def outcomes(writer: Writer, *calls: Call) -> list[tuple[Any, Any]]:
    for call in calls:
        writer.submit(call)
    return [await call.outcome for call in calls]


def test_a_request_as_it_arrives() -> None:
    async def steps() -> None:
        async with serving(replying(201)) as server:
            writer = Writer(server.connection(prefix="/clusters/c1"))
            call = Call("/api/v1/x", b'{"a":1}', "PATCH", content_type=b"application/merge-patch+json")
            assert await outcomes(writer, call) == [(201, b"{}")]
            (received,) = server.received
            assert (received.method, received.path, received.json) == ("PATCH", "/clusters/c1/api/v1/x", {"a": 1})
            headers = received.headers
            assert headers.pop("user-agent").startswith("stowplan/")
            assert headers == {
                "host": server.url.removeprefix("http://"),
                "accept": "application/json",
                "authorization": "Bearer token-1",
                "content-type": "application/merge-patch+json",
                "content-length": "7",
            }
            assert await writer.drain(1)

    run(steps())


@pytest.mark.parametrize(
    "reply",
    [
        http(200, b"body!"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbod\r\n2\r\ny!\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + http(200, b"body!"),
        b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + http(200, b"body!"),
        http(200, b"body!", connection="close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nbody!",
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_replies_in_all_forms(reply: bytes, at_once: bool) -> None:
    async def answer_slowly(received: Received) -> None:
        for byte in reply:
            received.peer.transport.write(bytes([byte]))
            await asyncio.sleep(0)

    def answer(received: Received) -> None:
        if at_once:
            received.peer.transport.write(reply)
        else:
            tasks.append(asyncio.create_task(answer_slowly(received)))

    tasks: list[asyncio.Task[None]] = []

    async def steps() -> None:
        async with serving(answer) as server:
            writer = Writer(server.connection(), connections=1)
            assert await outcomes(writer, Call(), Call()) == [(200, b"body!")] * 2
            keeps = b"close" not in reply and b"HTTP/1.0" not in reply
            assert len(server.peers) == (1 if keeps else 2)
            assert await writer.drain(1)

    run(steps())


def test_a_reply_that_ends_with_the_connection() -> None:
    def answer(received: Received) -> None:
        received.peer.transport.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\nsorry")
        received.peer.transport.close()

    async def steps() -> None:
        async with serving(answer) as server:
            writer = Writer(server.connection())
            assert await outcomes(writer, Call()) == [(502, b"sorry")]
            assert await writer.drain(1)

    run(steps())


def test_one_request_a_connection_in_order() -> None:
    asked: list[Received] = []

    async def steps() -> None:
        async with serving(asked.append) as server:
            writer = Writer(server.connection(), connections=3)
            calls = [Call(f"/{number}") for number in range(7)]
            for call in calls:
                writer.submit(call)
            done: list[str] = []
            while len(done) < 7:
                while not asked:
                    await asyncio.sleep(0)
                assert len(server.peers) <= 3
                received = asked.pop(0)
                assert not received.peer.transport.is_closing()
                done.append(received.path)
                received.peer.reply(200, {"path": received.path})
            assert done == [call.path.decode() for call in calls]
            for call in calls:
                assert (await call.outcome)[1] == b'{"path": "%b"}' % call.path
            assert (writer.outstanding, writer.waiting) == (0, 0)
            assert await writer.drain(1)

    run(steps())


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_tls(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "api.example").configure_cert(context)
    trust = Trust(CredentialSource("ca", data=authority.cert_pem.bytes()))

    async def steps() -> None:
        async with serving(ok, context) as server:
            for name in (None, "api.example"):
                writer = Writer(server.connection(trust=trust, server_name=name))
                assert await outcomes(writer, *(Call() for _ in range(40))) == [(201, b"{}")] * 40
                assert await writer.drain(1)
            for more in ({"trust": trust, "server_name": "other.example"}, {"trust": Trust()}):
                writer = Writer(server.connection(**more))
                ((error, sent),) = await outcomes(writer, Call())
                assert isinstance(error, UntrustedServerError)
                assert not sent
                writer.close()

    run(steps(), make_loop)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (hang_up, "closed by the server"),
        (lambda received: received.peer.transport.write(b"SSH-2.0-OpenSSH\r\n"), "not HTTP"),
        (lambda received: (received.peer.transport.write(http(200, b"abc")[:-1]), hang_up(received)), "closed"),
    ],
)
def test_what_may_have_arrived_is_lost_and_not_repeated(answer: Callable[[Received], None], words: str) -> None:
    async def steps() -> None:
        async with serving(script(answer)) as server:
            writer = Writer(server.connection(), connections=1)
            (error, sent), after = await outcomes(writer, Call("/1"), Call("/2"))
            assert isinstance(error, ConnectionFailedError)
            assert words in str(error)
            assert sent
            assert after == (201, b"{}")
            assert server.asked == ["POST /1", "POST /2"]
            assert await writer.drain(1)

    run(steps())


def test_connections_that_were_closed_in_between_are_not_used() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            writer = Writer(server.connection(), connections=4)
            await outcomes(writer, *(Call() for _ in range(8)))
            for peer in server.peers:
                peer.transport.close()
            await asyncio.sleep(0.05)
            assert await outcomes(writer, *(Call() for _ in range(8))) == [(201, b"{}")] * 8
            assert len(server.received) == 16
            assert await writer.drain(1)

    run(steps())


def test_a_request_is_not_put_on_a_connection_that_is_being_closed() -> None:
    async def steps() -> None:
        async with serving(script(replying(200, connection="close"))) as server:
            writer = Writer(server.connection(), connections=1)
            assert [status for status, _ in await outcomes(writer, Call(), Call(), Call())] == [200, 201, 201]
            assert [each.peer.number for each in server.received] == [0, 1, 1]
            assert await writer.drain(1)

    run(steps())


def test_nothing_is_sent_while_the_server_cannot_be_reached() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            connection = server.connection()
            await server.stop()
            writer = Writer(connection, connections=3)
            for error, sent in await outcomes(writer, *(Call() for _ in range(5))):
                assert isinstance(error, ConnectionFailedError)
                assert "refused" in str(error)
                assert not sent
            # In the pause after that requests wait for the outcome of the next attempt.
            call = Call()
            writer.submit(call)
            await asyncio.sleep(0)
            assert not call.outcome.done()
            await server.start(port=connection.port)
            assert await call.outcome == (201, b"{}")
            assert await writer.drain(1)

    run(steps())


def test_a_server_that_hangs_up_on_every_connection_is_as_good_as_none() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            server.refuses = True
            writer = Writer(server.connection())
            outcome = (await outcomes(writer, Call()))[0]
            assert isinstance(outcome[0], ConnectionFailedError)
            server.refuses = False
            assert await outcomes(writer, Call()) == [(201, b"{}")]
            assert await writer.drain(1)

    run(steps())


def test_requests_time_out_and_take_their_connection_with_them() -> None:
    async def steps() -> None:
        async with serving(script(silent)) as server:
            writer = Writer(server.connection(), connections=1, sweep_seconds=0.01)
            (error, sent), after = await outcomes(writer, Call(timeout=0.02), Call())
            assert isinstance(error, TimedOutError)
            assert str(error) == "no reply within 0.02 s"
            assert sent
            assert after == (201, b"{}")
            assert len(server.peers) == 2
            assert await writer.drain(1)

    run(steps())


def test_requests_do_not_wait_behind_unanswered_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.cluster.write_client.writer.STUCK_AFTER_SECONDS", 0.02)

    async def steps() -> None:
        async with serving(script(silent, silent)) as server:
            writer = Writer(server.connection(), connections=2, sweep_seconds=0.01)
            stuck, others = [Call(), Call()], [Call() for _ in range(5)]
            for call in stuck:
                writer.submit(call)
            assert await outcomes(writer, *others) == [(201, b"{}")] * 5
            assert len(server.peers) == 4, "as many that answer as there would be"
            assert not any(call.outcome.done() for call in stuck)
            for received in server.received[:2]:
                received.peer.reply(200)
            assert [await call.outcome for call in stuck] == [(200, b"{}")] * 2
            assert await writer.drain(1)

    run(steps())


def test_stuck_connections_are_made_up_for_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.cluster.write_client.writer.STUCK_AFTER_SECONDS", 0.0)

    async def steps() -> None:
        async with serving(silent) as server:
            writer = Writer(server.connection(), connections=1, sweep_seconds=0.002)
            for _ in range(20):
                writer.submit(Call())
            await asyncio.sleep(0.2)
            assert len(server.peers) == 4
            writer.close()

    run(steps())


def test_idle_connections_are_closed_before_the_server_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.cluster.write_client.writer.MAX_IDLE_SECONDS", 0.02)

    async def steps() -> None:
        async with serving(ok) as server:
            writer = Writer(server.connection(), sweep_seconds=0.01)
            await outcomes(writer, Call())
            await asyncio.sleep(0.1)
            assert server.peers[0].transport.is_closing()
            assert await outcomes(writer, Call()) == [(201, b"{}")]
            assert await writer.drain(1)

    run(steps())


@pytest.mark.parametrize(
    ("status", "headers", "repeated"),
    [
        (429, {"retry_after": "0"}, True),
        (503, {"retry_after": "0"}, True),
        (500, {"retry_after": "0"}, True),
        (503, {}, False),
        (409, {"retry_after": "0"}, False),
        (404, {}, False),
    ],
)
def test_requests_that_the_server_puts_off_are_sent_again(status: int, headers: dict[str, str], repeated: bool) -> None:
    async def steps() -> None:
        async with serving(script(*[replying(status, **headers)] * 3)) as server:
            writer = Writer(server.connection(), connections=1)
            ((final, _),) = await outcomes(writer, Call())
            assert (final, len(server.received)) == ((201, 4) if repeated else (status, 1))
            assert await writer.drain(1)

    run(steps())


def test_the_pause_that_the_server_asks_for_is_kept_and_others_go_first() -> None:
    async def steps() -> None:
        async with serving(script(replying(429, retry_after="1"))) as server:
            writer = Writer(server.connection(), connections=1)
            first, second = Call("/1"), Call("/2")
            writer.submit(first)
            writer.submit(second)
            assert await second.outcome == (201, b"{}")
            assert not first.outcome.done()
            assert writer.waiting == 1
            began = asyncio.get_running_loop().time()
            assert await first.outcome == (201, b"{}")
            assert asyncio.get_running_loop().time() - began > 0.9
            assert server.asked == ["POST /1", "POST /2", "POST /1"]
            assert await writer.drain(1)

    run(steps())


def test_a_request_is_not_put_off_for_ever() -> None:
    async def steps() -> None:
        async with serving(replying(429, retry_after="0")) as server:
            writer = Writer(server.connection())
            assert await outcomes(writer, Call()) == [(429, b"{}")]
            assert len(server.received) == 11
            assert await writer.drain(1)

    run(steps())


@pytest.mark.parametrize(("renewable", "final"), [(True, 201), (False, 401)])
def test_a_login_that_is_refused_is_renewed_once(renewable: bool, final: int) -> None:
    async def steps() -> None:
        async with serving(script(replying(401))) as server:
            token = Token(renewable)
            writer = Writer(server.connection(token), connections=1)
            (first, _), (second, _) = await outcomes(writer, Call("/1"), Call("/2"))
            assert (first, second) == (final, 201)
            tokens = [each.headers["authorization"] for each in server.received if each.path == "/1"]
            assert tokens == ["Bearer token-1", "Bearer token-2"][: len(tokens)]
            assert token.count == (2 if renewable else 1)
            assert await writer.drain(1)

    run(steps())


def test_connections_with_an_outdated_certificate_are_replaced() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    class Rotating:
        """Has another client certificate each time it is asked."""

        renewable = True
        count = 0

        def obtain(self) -> Identity:
            self.count += 1
            pair = authority.issue_cert(common_name=f"user-{self.count}")
            chain = b"".join(pem.bytes() for pem in pair.cert_chain_pems)
            return Identity({}, Certificate(chain, pair.private_key_pem.bytes(), "test"))

    async def steps() -> None:
        async with serving(ok, context) as server:
            connection = server.connection(Rotating())
            writer = Writer(connection, connections=2, sweep_seconds=0.01)
            await outcomes(writer, Call(), Call())
            login = connection.current()
            assert login is not None
            connection.invalidate(login)
            assert await outcomes(writer, Call()) == [(201, b"{}")]
            assert [each.peer.number for each in server.received] == [0, 1, 2]
            await asyncio.sleep(0.05)
            assert [peer.transport.is_closing() for peer in server.peers] == [True, True, False]
            assert await writer.drain(1)

    run(steps())


def test_credentials_that_cannot_be_had() -> None:
    class Missing:
        renewable = True

        def obtain(self) -> Any:
            raise CredentialsError("no token")

    async def steps() -> None:
        async with serving(ok) as server:
            writer = Writer(server.connection(Missing()))
            ((error, sent),) = await outcomes(writer, Call())
            assert (str(error), sent) == ("no token", False)
            writer.close()

    run(steps())


def test_the_rate_is_kept() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            clock = asyncio.get_running_loop().time
            writer = Writer(server.connection(), limiter=TokenBucket(100, 5, clock))
            began = clock()
            assert await outcomes(writer, *(Call() for _ in range(25))) == [(201, b"{}")] * 25
            assert clock() - began > 0.19
            assert await writer.drain(1)

    run(steps())


def test_requests_behind_the_rate_limit_do_not_lack_connections() -> None:
    async def steps() -> None:
        held: list[Received] = []
        async with serving(held.append) as server:
            busy = Writer(server.connection(), connections=1)
            limited = Writer(server.connection(), limiter=TokenBucket(1, 1, asyncio.get_running_loop().time))
            for writer in (busy, limited):
                for _ in range(2):
                    writer.submit(Call())
            while len(held) < 2:
                await asyncio.sleep(0)
            assert busy.waiting == limited.waiting == 1
            assert (busy.lacks_connections, limited.lacks_connections) == (True, False)
            busy.close()
            limited.close()

    run(steps())


def test_leadership_is_asked_for_at_the_last_moment() -> None:
    leads = True

    async def steps() -> None:
        nonlocal leads
        held: list[Received] = []
        async with serving(held.append) as server:
            writer = Writer(server.connection(), connections=1, may_write=lambda: leads)
            calls = [Call(), Call(), Call()]
            for call in calls:
                writer.submit(call)
            while not held:
                await asyncio.sleep(0)
            leads = False
            held[0].peer.reply(201)
            first, *others = [await call.outcome for call in calls]
            assert first == (201, b"{}")
            for error, sent in others:
                assert isinstance(error, NotLeaderError)
                assert not sent
            assert len(server.received) == 1
            assert await writer.drain(1)

    run(steps())


def test_the_backlog_is_bounded() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            writer = Writer(server.connection(), max_queued=2)
            results = await outcomes(writer, Call(), Call(), Call())
            assert results[:2] == [(201, b"{}")] * 2
            assert (str(results[2][0]), results[2][1]) == ("too many requests wait", False)
            assert await writer.drain(1)

    run(steps())


def test_draining_lets_all_end_and_then_closes() -> None:
    held: list[Received] = []

    async def steps() -> None:
        async with serving(held.append) as server:
            writer = Writer(server.connection(), connections=1)
            first, second, late = Call(), Call(), Call()
            writer.submit(first)
            writer.submit(second)
            drained = asyncio.create_task(writer.drain(5))
            for number in range(2):
                while len(held) <= number:
                    await asyncio.sleep(0)
                assert not drained.done()
                held[number].peer.reply(201)
            assert await drained
            assert [await call.outcome for call in (first, second)] == [(201, b"{}")] * 2
            writer.submit(late)
            error, sent = await late.outcome
            assert isinstance(error, ClosedError)
            assert not sent

    run(steps())


def test_draining_has_a_deadline() -> None:
    async def steps() -> None:
        async with serving(script(replying(429, retry_after="30"), silent)) as server:
            writer = Writer(server.connection(), connections=1)
            calls = [Call("/delayed"), Call("/sent"), Call("/waiting")]
            for call in calls:
                writer.submit(call)
            while len(server.received) < 2:
                await asyncio.sleep(0)
            assert not await writer.drain(0.02)
            results = [await call.outcome for call in calls]
            assert all(isinstance(error, ClosedError) for error, _ in results)
            assert [sent for _, sent in results] == [False, True, False]
            assert writer.outstanding == 0

    run(steps())


def test_every_request_is_observed() -> None:
    seen: list[tuple[str, str, float, int, int]] = []

    async def steps() -> None:
        async with serving(script(replying(409), hang_up)) as server:
            writer = Writer(server.connection(), connections=1, observe=lambda *what: seen.append(what))
            await outcomes(writer, Call(method="PATCH"), Call(), Call(body=b"12345"))
            assert await writer.drain(1)
            assert [each[:2] + each[3:] for each in seen] == [
                ("PATCH", "409", 2, 2),
                ("POST", "<error>", 2, 0),
                ("POST", "201", 5, 2),
            ]
            assert all(0 < seconds < 5 for _, _, seconds, _, _ in seen)

    run(steps())


def test_sending_again_takes_its_time() -> None:
    async def steps() -> None:
        async with serving(ok) as server:
            writer = Writer(server.connection())
            began = asyncio.get_running_loop().time()
            for attempt, least in ((1, 0.009), (2, 0.055)):
                call = Call()
                writer.submit_again(call, attempt)
                await call.outcome
                assert asyncio.get_running_loop().time() - began >= least
            assert await writer.drain(1)

    run(steps())
