from __future__ import annotations

from tests.unit.cluster.executor_rig import TARGET, UNSCHEDULABLE, executor_rig, make_pod, reasons
from tests.unit.cluster.scripted_server import run

from stowplan import api
from stowplan.framework import Bind, EmitEvent, Evict, PatchStatus, Write


def test_nothing_is_written_without_leadership() -> None:
    async def play() -> None:
        async with executor_rig(may_write=lambda: False) as stage:
            volume = api.PersistentVolume(metadata=api.ObjectMeta(name="v1"))
            web = make_pod()
            stage.execute(Bind(web, "n1"), Evict(web, TARGET), Write("delete", "PersistentVolume", volume))
            stage.execute(PatchStatus(web, UNSCHEDULABLE, None))
            assert reasons(await stage.end()) == ["NotLeader"] * 3
            assert stage.server.received == []

    run(play())


def test_events_go_to_the_recorder() -> None:
    async def play() -> None:
        async with executor_rig() as stage:
            stage.execute(EmitEvent(make_pod(), "Normal", "Scheduled", "Binding", "there"))
            assert await stage.end() == []
            assert stage.server.asked == ["POST /apis/events.k8s.io/v1/namespaces/default/events"]

    run(play())
