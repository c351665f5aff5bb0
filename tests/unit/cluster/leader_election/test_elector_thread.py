import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.builders import until
from tests.unit.cluster.leader_election.lease_server import LeaseServer
from tests.unit.cluster.serving import serving

from stowplan.api import LeaseSpec
from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.cluster.leader_election import ElectorThread, make_identity
from stowplan.cluster.leader_election.elector_thread import EXPIRED_TOLERANCE_SECONDS
from stowplan.config import Duration
from stowplan.config.types import LeaderElection
from stowplan.errors import ConfigError

QUICK = LeaderElection(
    lease_duration=Duration.of_seconds(3),
    renew_deadline=Duration.parse("1200ms"),
    retry_period=Duration.parse("50ms"),
)


class _Elected(ElectorThread):
    """Notes what it is told, and on which thread."""

    def __init__(self, connection: Connection, **options: Any) -> None:
        self.told: list[str] = []
        self.threads: set[str] = set()
        super().__init__(
            connection, QUICK, on_started=self._note("started"), on_stopped=self._note("stopped"), **options
        )

    def _note(self, what: str) -> Callable[[], None]:
        def note() -> None:
            self.told.append(what)
            self.threads.add(threading.current_thread().name)

        return note


@asynccontextmanager
async def _leading(**options: Any) -> AsyncIterator[tuple[LeaseServer, _Elected]]:
    """A server and a leader on it, which is stopped at the end."""
    server = LeaseServer()
    async with serving(server.handle) as client:
        elector = _Elected(client.connection, **options)
        assert not elector.is_leader()
        elector.start()
        await until(elector.is_leader)
        yield server, elector
        await asyncio.to_thread(elector.stop)


def test_it_leads_from_a_thread_of_its_own_and_hands_on() -> None:
    async def main() -> None:
        async with _leading(identity="me") as (server, elector):
            await until(lambda: server.events)
            assert server.holder == "me"
            await asyncio.to_thread(elector.stop)
            assert not elector.is_leader()
            assert server.holder == ""
            assert elector.told == ["started", "stopped"]
            assert elector.threads == {"leader-election"}
            assert [event["message"] for event in server.events] == ["me became leader", "me stopped leading"]

    asyncio.run(main())


def test_it_renews_again_and_again() -> None:
    async def main() -> None:
        async with _leading() as (server, elector):
            versions = set[str]()

            def renewed() -> bool:
                assert elector.is_leader()
                assert server.lease is not None
                versions.add(server.lease["metadata"]["resourceVersion"])
                return len(versions) == 3

            await until(renewed)

    asyncio.run(main())


def test_a_leader_that_cannot_renew_is_none_and_says_so() -> None:
    async def main() -> None:
        async with _leading() as (server, elector):
            server.down = True
            await until(lambda: not elector.is_leader())
            await until(lambda: elector.told == ["started", "stopped"])

    asyncio.run(main())


def test_another_waits_its_turn() -> None:
    async def main() -> None:
        server = LeaseServer()
        async with serving(server.handle) as client:
            first, second = _Elected(client.connection), _Elected(client.connection)
            first.start()
            await until(first.is_leader)
            second.start()
            await asyncio.sleep(0.3)
            assert not second.is_leader()
            await asyncio.to_thread(first.stop)
            await until(second.is_leader)
            await asyncio.to_thread(second.stop)

    asyncio.run(main())


def test_stopping_what_never_started() -> None:
    elector = _Elected(Connection("http://127.0.0.1:1", StoredCredentials()))
    elector.stop()
    assert elector.told == []


def test_stopping_while_nobody_answers() -> None:
    elector = _Elected(Connection("http://127.0.0.1:1", StoredCredentials()))
    elector.start()
    elector.stop()
    assert elector.told == ["stopped"]


def test_a_deadline_that_leaves_no_time_for_a_second_try() -> None:
    settings = LeaderElection(renew_deadline=Duration.parse("2.4s"))
    with pytest.raises(
        ConfigError, match=r"^leaderElection.renewDeadline: must be greater than retryPeriod times 1.2$"
    ):
        ElectorThread(
            Connection("http://x", StoredCredentials()), settings, on_started=lambda: None, on_stopped=lambda: None
        )


def test_identities_differ() -> None:
    assert make_identity() != make_identity()


def test_a_leader_that_neither_renews_nor_ends_has_a_problem() -> None:
    now = 100.0
    elector = _Elected(Connection("http://127.0.0.1:1", StoredCredentials()), identity="me", clock=lambda: now)
    elector._candidate.wrote(LeaseSpec(holder_identity="me", lease_duration_seconds=3), sent_at=now)
    now += 3 + EXPIRED_TOLERANCE_SECONDS
    assert elector.problem() is None
    now += 0.1
    assert elector.problem() == "failed election to renew leadership on lease kube-scheduler"
