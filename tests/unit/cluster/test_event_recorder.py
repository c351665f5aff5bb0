from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.builders import pod
from tests.unit.cluster.scripted_server import Received, ScriptedServer, ok, refusal, run, serving

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.write_client import Writer
from stowplan.framework import EmitEvent, Pod, RepeatEvent

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
NOW = 1767225600.0


def make_pod(name: str, scheduler: str = "default-scheduler") -> Pod:
    return Cluster().pod(codec.convert(api.Pod, pod(name, schedulerName=scheduler)))


def failed(of: Pod, note: str = "no room", related: Pod | None = None, is_repeated: bool = False) -> EmitEvent:
    return EmitEvent(of, "Warning", "FailedScheduling", "Scheduling", note, related, is_repeated=is_repeated)


def bound(of: Pod) -> EmitEvent:
    return EmitEvent(of, "Normal", "Scheduled", "Binding", f"Successfully assigned {of.key} to n1")


@asynccontextmanager
async def recording(
    answer: Callable[[Received], None] = ok, **more: Any
) -> AsyncIterator[tuple[EventRecorder, ScriptedServer]]:
    async with serving(answer) as server:
        recorder = EventRecorder(
            Writer(server.connection()), **{"hostname": "h1", "clock": lambda: NOW, "retry_seconds": 0.01, **more}
        )
        yield recorder, server
        await recorder.drain(1)


def test_an_event_about_a_pod() -> None:
    web = make_pod("web", "mine")

    async def steps() -> None:
        async with recording(version_of=lambda pod: f"of-{pod.name}") as (recorder, server):
            recorder.emit(bound(web))
            recorder.emit(EmitEvent(web, "Normal", "Preempted", "Preempting", "gone", make_pod("big"), "other"))
            assert await recorder.drain(1)
            assert server.asked == [f"POST {EVENTS}"] * 2
            first, second = (each.json for each in server.received)
            assert first["metadata"] == {"name": f"web.{int(NOW * 1e9):x}", "namespace": "default"}
            assert second["metadata"]["name"] == f"web.{int(NOW * 1e9) + 1:x}"
            assert (first["reportingController"], first["reportingInstance"]) == ("mine", "mine-h1")
            assert (first["type"], first["reason"], first["action"]) == ("Normal", "Scheduled", "Binding")
            assert first["note"] == "Successfully assigned default/web to n1"
            assert first["regarding"]["resourceVersion"] == "of-web"
            assert "related" not in first
            assert second["related"]["name"] == "big"
            assert second["reportingController"] == "other"

    run(steps())


def test_an_event_about_something_else() -> None:
    lease = api.ObjectReference(kind="Lease", api_version="coordination.k8s.io/v1", namespace="kube-system", name="s")

    async def steps() -> None:
        async with recording() as (recorder, server):
            recorder.record(lease, "mine", "LeaderElection", "x became leader")
            assert await recorder.drain(1)
            (received,) = server.received
            assert received.path == "/apis/events.k8s.io/v1/namespaces/kube-system/events"
            assert received.json["regarding"] == codec.builtins(lease)
            assert received.json["action"] == "LeaderElection"

    run(steps())


def test_the_same_again_is_a_series() -> None:
    web, other = make_pod("web"), make_pod("other")

    async def steps() -> None:
        async with recording() as (recorder, server):
            for _ in range(4):
                recorder.emit(failed(web))
            recorder.emit(failed(other))
            recorder.emit(failed(web, related=other))
            while len(server.received) < 4:
                await asyncio.sleep(0)
            patch = next(each for each in server.received if each.method == "PATCH")
            assert patch.path == f"{EVENTS}/{server.received[0].json['metadata']['name']}"
            assert patch.headers["content-type"] == "application/strategic-merge-patch+json"
            assert patch.json == {"series": {"count": 4, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}
            for _ in range(3):
                recorder.emit(failed(web))
            recorder.emit(failed(other))
            assert await recorder.drain(1)
            assert [each.json["series"]["count"] for each in server.received[4:]] == [2]

    run(steps())


def test_a_pod_that_has_changed_begins_a_new_series() -> None:
    web, version = make_pod("web"), ""

    async def steps() -> None:
        nonlocal version
        async with recording(version_of=lambda pod: version) as (recorder, server):
            for each in ("1", "2", "2"):
                version = each
                recorder.emit(failed(web))
            assert await recorder.drain(1)
            assert [each.method for each in server.received] == ["POST", "POST", "PATCH"]

    run(steps())


def test_an_event_that_the_server_has_discarded_is_made_anew() -> None:
    def answer(received: Received) -> None:
        received.peer.reply(404 if received.method == "PATCH" else 201, refusal("NotFound"))

    web = make_pod("web")

    async def steps() -> None:
        async with recording(answer) as (recorder, server):
            recorder.emit(failed(web))
            recorder.emit(failed(web))
            assert await recorder.drain(1)
            created, _, again = server.received
            assert again.method == "POST"
            assert again.json == {**created.json, "series": again.json["series"]}
            assert again.json["series"]["count"] == 2

    run(steps())


@pytest.mark.parametrize("reason", ["Forbidden", "NotFound", "Invalid"])
def test_what_the_server_refuses_is_dropped_with_one_line(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    codes = {"Forbidden": 403, "NotFound": 404, "Invalid": 422}
    pods = [make_pod(f"web-{number}") for number in range(5)]

    async def steps() -> None:
        answer = lambda received: received.peer.reply(codes[reason], refusal(reason, "because"))  # noqa: E731
        async with recording(answer) as (recorder, server):
            for each in pods:
                recorder.emit(failed(each))
                recorder.emit(bound(each))
            while len(server.received) < 10:
                await asyncio.sleep(0)
            await asyncio.sleep(0.02)
            recorder.emit(failed(pods[0]))
            assert await recorder.drain(1)
            assert [each.method for each in server.received] == ["POST"] * 11

    run(steps())
    (line,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert line == f"Server rejected event (will not retry!): because (path={EVENTS}, reason={reason})"


def test_what_is_lost_is_sent_again_and_may_have_arrived() -> None:
    answers = iter(
        [
            lambda received: received.peer.transport.close(),
            lambda received: received.peer.transport.close(),
            lambda received: received.peer.reply(409, refusal("AlreadyExists")),
        ]
    )
    web = make_pod("web")

    async def steps() -> None:
        async with recording(lambda received: next(answers, ok)(received)) as (recorder, server):
            recorder.emit(failed(web))
            recorder.emit(failed(web))
            while len(server.received) < 4:
                await asyncio.sleep(0.001)
            assert await recorder.drain(1)
            assert [each.method for each in server.received] == ["POST", "POST", "POST", "PATCH"]
            assert len({each.body for each in server.received[:3]}) == 1

    run(steps())


def test_the_server_is_not_tried_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    async def steps() -> None:
        hang_up = lambda received: received.peer.transport.close()  # noqa: E731
        async with recording(hang_up, retry_seconds=0.001) as (recorder, server):
            recorder.emit(bound(make_pod("web")))
            while len(server.received) < 12:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            assert len(server.received) == 12

    run(steps())
    assert "retry limit exceeded" in caplog.text


def test_the_oldest_make_room(caplog: pytest.LogCaptureFixture) -> None:
    held: list[Received] = []
    pods = [make_pod(f"web-{number}") for number in range(10)]

    async def steps() -> None:
        async with recording(held.append, max_in_flight=2, max_queued=3) as (recorder, server):
            for each in pods:
                recorder.emit(failed(each))
            assert recorder.dropped == 5
            while len(held) < 2:
                await asyncio.sleep(0)
            server.answer = ok
            for received in held:
                received.peer.reply(201)
            assert await recorder.drain(1)
            names = [each.json["regarding"]["name"] for each in server.received]
            assert names == ["web-0", "web-1", "web-7", "web-8", "web-9"]

    run(steps())
    assert caplog.text.count("Too many events are queued") == 1


def test_events_that_wait_for_a_server_that_is_gone_are_bounded_too() -> None:
    pods = [make_pod(f"web-{number}") for number in range(6)]

    async def steps() -> None:
        async with recording(max_queued=3, retry_seconds=30.0) as (recorder, server):
            await server.stop()
            for each in pods[:3]:
                recorder.emit(bound(each))
            await asyncio.sleep(0.05)
            for each in pods[3:]:
                recorder.emit(bound(each))
            assert recorder.dropped == 3

    run(steps())


def test_events_are_held_while_bindings_wait_for_connections() -> None:
    waiting = True

    async def steps() -> None:
        nonlocal waiting
        async with recording(bindings_wait=lambda: waiting) as (recorder, server):
            recorder.emit(bound(make_pod("web")))
            await asyncio.sleep(0.1)
            assert not server.asked
            waiting = False
            await asyncio.sleep(0.1)
            assert len(server.asked) == 1

    run(steps())


def test_events_are_held_for_a_limited_time() -> None:
    async def steps() -> None:
        async with recording(bindings_wait=lambda: True, max_hold_seconds=0.1) as (recorder, server):
            recorder.emit(bound(make_pod("web")))
            await asyncio.sleep(0.05)
            recorder.emit(bound(make_pod("db")))
            assert not server.asked
            await asyncio.sleep(0.3)
            assert len(server.asked) == 2

    run(steps())


def test_no_more_than_half_a_queue_of_events_is_held() -> None:
    async def steps() -> None:
        async with recording(bindings_wait=lambda: True, max_queued=8) as (recorder, server):
            for number in range(6):
                recorder.emit(bound(make_pod(f"web-{number}")))
            await asyncio.sleep(0.1)
            assert len(server.asked) == 3
            assert recorder.dropped == 0

    run(steps())


def test_draining_ends_the_hold() -> None:
    async def steps() -> None:
        async with recording(bindings_wait=lambda: True) as (recorder, server):
            recorder.emit(bound(make_pod("web")))
            assert await recorder.drain(1)
            assert len(server.asked) == 1

    run(steps())


def test_repetitions_are_limited_to_a_rate_and_the_latest_one_is_written() -> None:
    pods = [make_pod(f"p{number}") for number in range(4)]
    version = "1"

    async def steps() -> None:
        nonlocal version
        more = {"version_of": lambda pod: version, "repeats_per_second": 20.0, "max_repeat_burst": 1}
        async with recording(**more) as (recorder, server):
            for each in pods:
                recorder.emit(failed(each))
            for version in ("2", "3", "3"):
                for each in pods:
                    recorder.emit(failed(each, f"note {version}"))
            while len(server.received) < 9:
                await asyncio.sleep(0.01)
            posted = [each.json for each in server.received]
            notes = Counter(each["note"] for each in posted)
            assert notes == {"no room": 4, "note 2": 1, "note 3": 4}, "the burst is one repetition"
            later = [each for each in posted if each["note"] == "note 3"]
            assert [each["series"]["count"] for each in later] == [2] * 4

    run(steps())


def test_repetitions_are_limited_too_if_the_first_event_is_not_known_any_more() -> None:
    """With more pods than series are kept, each new series drops the one that is needed next."""
    pods = tuple(make_pod(f"p{number}") for number in range(3))

    async def steps() -> None:
        async with recording(repeats_per_second=1e-6, max_repeat_burst=1) as (recorder, server):
            for each in pods:
                recorder.emit(failed(each, is_repeated=True))
            recorder.repeat(RepeatEvent(pods, "Warning", "FailedScheduling", "Scheduling", "no room"))
            await asyncio.sleep(0.05)
            assert len(server.received) == 1

    run(steps())


def test_events_of_equal_pods_are_counted_together_while_they_are_deferred() -> None:
    pods = tuple(make_pod(f"p{number}") for number in range(3))
    again = RepeatEvent(pods, "Warning", "FailedScheduling", "Scheduling", "no room")

    async def steps() -> None:
        version = "1"
        more = {"version_of": lambda pod: version, "repeats_per_second": 1e-6, "max_repeat_burst": 1}
        async with recording(**more) as (recorder, server):
            for each in pods:
                recorder.emit(failed(each))
            recorder.repeat(again)
            version = "2"
            for _ in range(5):
                recorder.repeat(again)
            await asyncio.sleep(0.05)
            assert [each.method for each in server.received].count("POST") <= 4
            assert len(server.received) == 4, "three first events and one repetition"

    run(steps())


def test_deferred_events_are_bounded() -> None:
    pods = [make_pod(f"p{number}") for number in range(6)]

    async def steps() -> None:
        version = "1"
        more = {"version_of": lambda pod: version, "repeats_per_second": 20.0, "max_repeat_burst": 1, "max_queued": 3}
        async with recording(max_in_flight=16, **more) as (recorder, server):
            for each in pods:
                recorder.emit(failed(each))
            version = "2"
            for each in pods:
                recorder.emit(failed(each, "again"))
            assert recorder.dropped == 2
            while len(server.received) < 10:
                await asyncio.sleep(0.01)
            again = [each.json["regarding"]["name"] for each in server.received if each.json["note"] == "again"]
            assert again == ["p0", "p3", "p4", "p5"]

    run(steps())
