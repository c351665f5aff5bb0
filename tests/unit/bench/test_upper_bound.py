from collections.abc import AsyncIterator

import pytest
from tests.unit.cluster.scripted_server import Received, ok, refusal, run, serving

from stowplan.bench.upper_bound import PodKey, bind_as_created, measure_upper_bound
from stowplan.cluster.errors import ApiError, ConnectionFailedError

PODS = [PodKey("ns", f"pod-{number}", f"uid-{number}") for number in range(6)]


def test_pods_are_bound_round_robin_with_an_event_each() -> None:
    async def scene() -> None:
        async with serving(ok) as server:
            ceiling = await measure_upper_bound(server.connection(), PODS, ["n1", "n2"], connections=3)
            bound = {each.path.split("/")[6]: each.json for each in server.received if each.path.endswith("/binding")}
            told = {each.json["regarding"]["name"]: each.json for each in server.received if "/events" in each.path}
            assert len(server.received) == 12
            assert [bound[pod.name]["target"]["name"] for pod in PODS] == ["n1", "n2"] * 3
            assert [bound[pod.name]["metadata"]["uid"] for pod in PODS] == [pod.uid for pod in PODS]
            notes = [told[pod.name]["note"] for pod in PODS]
            assert notes[:2] == ["Successfully assigned ns/pod-0 to n1", "Successfully assigned ns/pod-1 to n2"]
            assert ceiling.pods == 6
            assert ceiling.per_second > 0
            assert ceiling.cpu_us_per_pod > 0

    run(scene())


def test_a_refusal_is_an_error() -> None:
    def refuse(received: Received) -> None:
        received.peer.reply(403, refusal("Forbidden", "no"))

    async def scene() -> None:
        async with serving(refuse) as server:
            with pytest.raises(ApiError, match="no"):
                await measure_upper_bound(server.connection(), PODS, ["n1"])
            await server.stop()
            with pytest.raises(ConnectionFailedError, match="refused"):
                await measure_upper_bound(server.connection(), PODS, ["n1"])

    run(scene())


def test_pods_are_bound_as_they_are_created() -> None:
    async def created() -> AsyncIterator[PodKey]:
        for pod in PODS:
            yield pod

    async def scene() -> None:
        async with serving(ok) as server:
            await bind_as_created(server.connection(), created(), ["n1", "n2"])
            bound = {each.path.split("/")[6]: each.json for each in server.received if each.path.endswith("/binding")}
            assert [bound[pod.name]["target"]["name"] for pod in PODS] == ["n1", "n2"] * 3
            assert sum("/events" in each.path for each in server.received) == 6

    run(scene())
