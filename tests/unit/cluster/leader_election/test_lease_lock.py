import asyncio

import pytest
from tests.unit.cluster.leader_election.lease_server import LeaseServer
from tests.unit.cluster.serving import serving

from stowplan.api import LeaseSpec
from stowplan.cluster.client import Client
from stowplan.cluster.errors import ApiError, ClusterError
from stowplan.cluster.leader_election.lease_lock import LeaseLock

SPEC = LeaseSpec(
    holder_identity="me", lease_duration_seconds=15, renew_time="2023-11-14T22:13:20.000000Z", lease_transitions=0
)


def _lock(client: Client) -> LeaseLock:
    return LeaseLock(client, "kube-system", "kube-scheduler", component="my-scheduler", timeout=1.0)


def test_a_lease_is_made_read_and_replaced() -> None:
    async def main() -> None:
        server = LeaseServer()
        async with serving(server.handle) as client:
            lock = _lock(client)
            assert lock.name == "kube-system/kube-scheduler"
            assert await lock.read() is None
            await lock.create(SPEC)
            assert await lock.read() == SPEC
            await lock.update(LeaseSpec(holder_identity="you"))
            await lock.update(LeaseSpec(holder_identity=""))
            assert server.lease == {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"namespace": "kube-system", "name": "kube-scheduler", "uid": "u1", "resourceVersion": "3"},
                "spec": {"holderIdentity": ""},
            }

    asyncio.run(main())


def test_what_others_wrote_into_it_stays_except_for_the_spec() -> None:
    async def main() -> None:
        server = LeaseServer()
        async with serving(server.handle) as client:
            await _lock(client).create(SPEC)
            assert server.lease is not None
            server.lease["metadata"]["labels"] = {"a": "b"}
            server.lease["spec"]["preferredHolder"] = "you"
            lock = _lock(client)
            await lock.read()
            await lock.update(SPEC)
            assert server.lease["metadata"]["labels"] == {"a": "b"}
            assert "preferredHolder" not in server.lease["spec"]
            assert server.lease["spec"]["leaseTransitions"] == 0

    asyncio.run(main())


def test_whoever_writes_second_fails() -> None:
    async def main() -> None:
        async with serving(LeaseServer().handle) as client:
            first, second = _lock(client), _lock(client)
            await first.create(SPEC)
            await second.read()
            await first.update(SPEC)
            with pytest.raises(ApiError, match="Conflict"):
                await second.update(SPEC)
            with pytest.raises(ApiError):
                await second.create(SPEC)

    asyncio.run(main())


def test_a_note_is_an_event_about_the_lease() -> None:
    async def main() -> None:
        server = LeaseServer()
        async with serving(server.handle) as client:
            lock = _lock(client)
            await lock.create(SPEC)
            await lock.record_event("me became leader")
        (event,) = server.events
        assert event["metadata"] == {"namespace": "kube-system", "generateName": "kube-scheduler."}
        assert event["involvedObject"] == {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "namespace": "kube-system",
            "name": "kube-scheduler",
            "uid": "u1",
            "resourceVersion": "1",
        }
        assert (event["reason"], event["message"], event["type"]) == ("LeaderElection", "me became leader", "Normal")
        assert event["source"] == {"component": "my-scheduler"}

    asyncio.run(main())


def test_a_lease_that_is_none() -> None:
    async def main() -> None:
        server = LeaseServer()
        server.lease = {"metadata": {}, "spec": {"holderIdentity": 1}}
        async with serving(server.handle) as client:
            with pytest.raises(ClusterError, match=r"^lease kube-system/kube-scheduler: \$.holderIdentity: "):
                await _lock(client).read()

    asyncio.run(main())
