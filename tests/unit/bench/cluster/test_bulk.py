import pytest
from tests.unit.cluster.scripted_server import Received, ok, refusal, run, serving

from stowplan.bench.cluster.bulk import Request, send, send_chains
from stowplan.cluster.errors import ApiError, ConnectionFailedError

REQUESTS: list[Request] = [(b"POST", b"/api/v1/nodes", b'{"n":%d}' % number) for number in range(200)]


def test_all_requests_are_sent_once() -> None:
    async def scene() -> None:
        async with serving(ok) as server:
            assert await send(server.connection(), iter(REQUESTS)) == 200
            assert sorted(each.json["n"] for each in server.received) == list(range(200))
            assert await send(server.connection(), []) == 0

    run(scene())


@pytest.mark.parametrize(("method", "passes"), [(b"DELETE", True), (b"POST", False)])
def test_what_is_to_be_deleted_may_be_gone(method: bytes, passes: bool) -> None:
    def gone(received: Received) -> None:
        received.peer.reply(404, refusal("NotFound", "not there"))

    async def scene() -> None:
        async with serving(gone) as server:
            requests: list[Request] = [(method, b"/api/v1/nodes/a", b"{}")]
            if passes:
                assert await send(server.connection(), requests) == 1
            else:
                with pytest.raises(ApiError, match="not there"):
                    await send(server.connection(), requests)

    run(scene())


def test_a_server_that_is_not_there_is_an_error() -> None:
    async def scene() -> None:
        async with serving(ok) as server:
            await server.stop()
            with pytest.raises(ConnectionFailedError, match="refused"):
                await send(server.connection(), REQUESTS)

    run(scene())


def test_requests_of_a_chain_are_sent_in_order() -> None:
    chains: list[list[Request]] = [[(b"POST", b"/a", b'{"n":%d}' % (10 * n + i)) for i in range(3)] for n in range(20)]

    async def scene() -> None:
        async with serving(ok) as server:
            assert await send_chains(server.connection(), chains, 5) == 60
            for n in range(20):
                assert [each.json["n"] % 10 for each in server.received if each.json["n"] // 10 == n] == [0, 1, 2]

    run(scene())
