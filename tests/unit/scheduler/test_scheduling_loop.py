import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.builders import Clock, node, pod, typed, until
from tests.builders.engine_host import configured
from tests.extenders import FakeExtender

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.config import default_configuration
from stowplan.engine import Engine
from stowplan.framework import Bind, CycleState, EmitEvent, Instruction, NodeInfo, PatchStatus, Plugin, Pod, Request
from stowplan.framework.extender import CallExtender, Extender, Filtered
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import gc_tuning
from stowplan.scheduler import scheduling_loop
from stowplan.scheduler.plugin_calls import PluginCaller
from stowplan.scheduler.scheduling_loop import SchedulingLoop


class FakeExecutor:
    """Answers every request at once, with None; while it is `slow`, when it is told to."""

    def __init__(self) -> None:
        self.waiting = 0
        self.slow = False
        self.done: list[Instruction] = []
        self._unanswered: list[Callable[[], None]] = []

    def execute(self, instruction: Instruction, answer: Callable[[Any, Any], None]) -> None:
        self.done.append(instruction)
        if isinstance(instruction, Request):
            self._unanswered.append(lambda: answer(instruction, None))
            if not self.slow:
                self.answer()

    def answer(self) -> None:
        while self._unanswered:
            self._unanswered.pop(0)()

    @property
    def bound(self) -> dict[str, str]:
        return {each.pod.name: each.node_name for each in self.done if isinstance(each, Bind)}


def items(kind: str, *raw: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(codec.convert(KINDS[kind].struct, each), None) for each in raw]


def all_there(host: SchedulingLoop, *pods: str) -> None:
    host.put(KINDS["Node"], items("Node", node("n")))
    host.put(KINDS["Pod"], items("Pod", *(pod(name) for name in pods)))
    for kind in ("Node", "Pod"):
        host.synced(KINDS[kind])


def scheduling(
    steps: Callable[[SchedulingLoop, FakeExecutor], Awaitable[None]],
    extenders: tuple[Extender, ...] = (),
    engine: Engine | None = None,
    clock: Callable[[], float] = time.time,
    **options: Any,
) -> FakeExecutor:
    """Run a host while the steps are taken."""

    async def run() -> FakeExecutor:
        loop = asyncio.get_running_loop()
        settings = {"clock": clock, "rng": random.Random(0), "extenders": extenders}
        used = engine or Engine(default_configuration(), REGISTRY, **settings)  # type: ignore[arg-type]
        executor, caller = FakeExecutor(), PluginCaller(loop, 1.0)
        host = SchedulingLoop(used, executor, caller, loop, clock, kinds=("Node", "Pod"), **options)
        running = asyncio.create_task(host.run())
        await steps(host, executor)
        host.stop()
        await running
        caller.close()
        return executor

    return asyncio.run(run())


def test_nothing_is_scheduled_before_all_is_known() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        host.put(KINDS["Pod"], items("Pod", pod("p")))
        host.put(KINDS["Node"], items("Node", node("n")))
        host.synced(KINDS["Node"])
        await asyncio.sleep(0.02)
        assert not executor.bound
        assert not host.ready
        host.synced(KINDS["Pod"])
        assert host.ready
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps)


def test_garbage_is_collected_when_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_tuning, "MIN_COLLECTION_INTERVAL_SECONDS", 0.05)
    freed: list[float] = []
    engine = Engine(default_configuration(), REGISTRY, clock=time.time, rng=random.Random(0))
    monkeypatch.setattr(engine, "free_unused", lambda: freed.append(time.monotonic()))

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        await until(lambda: len(freed) == 1)

    scheduling(steps, engine=engine)


def test_a_kind_that_cannot_be_had_is_not_waited_for_unless_nothing_goes_without() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        host.forbidden(KINDS["Node"], "list")
        host.missing(KINDS["Pod"])
        assert not host.ready
        host.synced(KINDS["Node"])
        assert host.ready

    scheduling(steps)


def test_ready_is_told_once() -> None:
    told: list[int] = []

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        for _ in range(2):
            for kind in ("Node", "Pod"):
                host.synced(KINDS[kind])

    scheduling(steps, on_ready=lambda: told.append(1))
    assert told == [1]


def test_only_a_leader_schedules() -> None:
    leading: list[bool] = []

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host, "p")
        await asyncio.sleep(0.02)
        assert not executor.bound
        leading.append(True)
        host.wake()
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps, may_schedule=lambda: bool(leading))


def test_scheduling_pauses_while_writes_pile_up() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        executor.waiting = 5000
        all_there(host, "p")
        await asyncio.sleep(0.02)
        assert not executor.bound
        executor.waiting = 0  # which nobody tells
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps)


def test_timers_fire_without_news() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        host.put(KINDS["Pod"], items("Pod", pod("p")))
        for kind in ("Node", "Pod"):
            host.synced(KINDS[kind])
        # No nodes is an error, so the pod backs off for a second or two, and nothing else will wake it.
        await until(lambda: len([each for each in executor.done if not isinstance(each, Bind)]) >= 2)
        before = len(executor.done)
        await until(lambda: len(executor.done) > before)

    scheduling(steps)


def test_removed_objects_are_forgotten() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        gone = codec.convert(api.Node, node("a"))
        host.put(KINDS["Node"], items("Node", node("a"), node("b")))
        host.removed(KINDS["Node"], [gone])
        host.put(KINDS["Pod"], items("Pod", pod("p")))
        for kind in ("Node", "Pod"):
            host.synced(KINDS[kind])
        await until(lambda: executor.bound == {"p": "b"})

    scheduling(steps)


def test_an_object_that_cannot_be_taken_in_is_told_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        odd = api.Pod(metadata=api.ObjectMeta(name="odd", namespace="default", uid="odd"), spec=None)  # type: ignore[arg-type]
        host.put(KINDS["Pod"], [(odd, None)])
        host.removed(KINDS["Node"], [api.Node(metadata=api.ObjectMeta(name=["odd"]))])  # type: ignore[arg-type]
        all_there(host, "p")
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps)
    assert [message.partition(":")[0] for message in caplog.messages] == ["Failed to handle object"] * 2
    fields = [message[message.rindex("(") :] for message in caplog.messages]
    assert fields == ["(kind=Pod, object=default/odd)", "(kind=Node, object=['odd'])"]


def test_bindings_under_way_come_to_their_end_and_no_others_begin() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        executor.slow = True
        all_there(host, "p")
        await until(lambda: executor.bound == {"p": "n"})
        host.stop()
        await asyncio.sleep(0)
        host.put(KINDS["Pod"], items("Pod", pod("q")))
        asyncio.get_running_loop().call_later(0.05, executor.answer)
        await host.finish(60.0)
        assert executor.bound == {"p": "n"}
        assert [type(each) for each in executor.done] == [Bind, EmitEvent]

    scheduling(steps)


def test_bindings_under_way_are_not_waited_for_without_end() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        executor.slow = True
        all_there(host, "p")
        await until(lambda: executor.bound == {"p": "n"})
        host.stop()
        begun = time.monotonic()
        await host.finish(0.05)
        assert 0.05 <= time.monotonic() - begun < 5
        assert executor.done == [*filter(lambda each: isinstance(each, Bind), executor.done)]

    scheduling(steps)


def test_a_bug_in_taking_in_an_answer_ends_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the pod that it is about would be lost."""

    def answer(self: Engine, request: Request, outcome: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Engine, "answer", answer)

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host, "p")
        await until(lambda: executor.bound == {"p": "n"})

    with pytest.raises(RuntimeError, match="a bug"):
        scheduling(steps)


def test_the_time_that_batches_take_is_reported() -> None:
    batches: list[float] = []

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        host.put(KINDS["Node"], items("Node", node("a"), node("b")))
        host.removed(KINDS["Node"], [typed(node("a"))])

    scheduling(steps, on_batch=batches.append)
    assert len(batches) == 2
    assert min(batches) > 0


def test_actions_run_at_once_on_the_loops_thread_and_later_from_others() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        threads: list[int] = []
        host.defer(lambda: threads.append(threading.get_ident()))
        assert threads == [threading.get_ident()]
        await asyncio.to_thread(host.defer, lambda: threads.append(threading.get_ident()))
        await until(lambda: len(threads) == 2)
        assert set(threads) == {threading.get_ident()}

    scheduling(steps)


def test_another_thread_wakes_the_loop() -> None:
    leading: list[bool] = []

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host, "p")
        await asyncio.sleep(0.02)
        leading.append(True)
        assert not executor.bound
        await asyncio.to_thread(host.wake_from_thread)
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps, may_schedule=lambda: bool(leading))


def test_other_tasks_run_between_cycles() -> None:
    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        cycles, seen = 0, set[int]()

        def busy() -> bool:
            nonlocal cycles
            time.sleep(0.002)
            cycles += 1
            return cycles < 20

        host._engine.schedule_one = busy  # type: ignore[method-assign]
        all_there(host)
        while cycles < 20:
            seen.add(cycles)
            await asyncio.sleep(0)
        assert len(seen) >= 5, "a slice of cycles is 4 ms"

    scheduling(steps)


class SlowExtender(FakeExtender):
    """Answers when it is let go on."""

    def __init__(self, **answers: Any) -> None:
        super().__init__(**answers)
        self.go_on = asyncio.Event()

    async def call(self, request: CallExtender) -> Any:
        await self.go_on.wait()
        return await super().call(request)


def test_extenders_are_asked_and_waited_for_without_spinning() -> None:
    extender = SlowExtender(filter=lambda pod, nodes: Filtered(list(nodes)), bind=lambda pod, node_name: None)

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        host.put(KINDS["Node"], items("Node", node("n")))
        host.put(KINDS["Pod"], items("Pod", pod("p"), pod("gone", nodeName="nowhere")))
        for kind in ("Node", "Pod"):
            host.synced(KINDS[kind])
        await asyncio.sleep(0.02)
        turns = 0
        work = host._work

        def counted() -> bool:
            nonlocal turns
            turns += 1
            return work()

        host._work = counted  # type: ignore[method-assign]
        host._engine._state.timers.after(0.0, lambda: None)
        host.wake()
        await asyncio.sleep(0.05)
        assert turns < 5
        extender.go_on.set()
        await until(lambda: any(isinstance(each, EmitEvent) for each in executor.done))

    executor = scheduling(steps, (extender,))
    assert [verb for verb, _, _ in extender.asked] == ["filter", "bind"]
    assert not executor.bound


def test_whoever_leads_no_more_lets_nobody_bind() -> None:
    extender = FakeExtender(bind=lambda pod, node_name: None)
    leading = [True]

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        schedule_one = host._engine.schedule_one

        def and_lose() -> bool:
            found = schedule_one()
            leading[0] = leading[0] and not found
            return found

        host._engine.schedule_one = and_lose  # type: ignore[method-assign]
        all_there(host, "p")
        await until(lambda: any(isinstance(each, PatchStatus) for each in executor.done))

    executor = scheduling(steps, (extender,), may_schedule=lambda: leading[0])
    assert not extender.asked
    told = [each.condition.message for each in executor.done if isinstance(each, PatchStatus) and each.condition]
    assert told == ["another scheduler leads now"]


def test_pods_that_burn_time_leave_the_loop_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is virtual: a filter takes a second for each hostile pod, and a millisecond for each other."""
    clock = Clock(1000.0)
    tried: list[str] = []

    class Burner(Plugin):
        name = "Burner"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
            tried.append(pod.name)
            clock.now += 1.0 if pod.namespace == "hostile" else 0.001

    monkeypatch.setattr(scheduling_loop, "monotonic", clock)
    config, registry = configured(None, {"Burner": Burner}), {**REGISTRY, "Burner": Burner}
    engine = Engine(config, registry, clock=clock, rng=random.Random(0), max_namespace_share=0.2)
    hostile, ordinary = [f"h{i}" for i in range(20)], [f"o{i}" for i in range(60)]

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host)
        host.put(KINDS["Pod"], items("Pod", *(pod(name, namespace="hostile") for name in hostile)))
        host.put(KINDS["Pod"], items("Pod", *(pod(name, namespace="ordinary") for name in ordinary)))
        await until(lambda: executor.bound.keys() >= {*ordinary})
        assert clock.now < 1000.0 + 1.0 + 0.2
        assert len(executor.bound) == 61
        for _ in range(400):
            clock.now += 0.5
            host.wake()
            await asyncio.sleep(0)

    executor = scheduling(steps, engine=engine, clock=clock, cpu_clock=clock)
    assert executor.bound.keys() == {*hostile, *ordinary}
    assert len(tried) == 80


def test_an_expensive_attempt_is_charged_by_an_older_reading_of_the_cpu_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, readings = Clock(1000.0), []
    engine = Engine(default_configuration(), REGISTRY, clock=clock, rng=random.Random(0), max_namespace_share=0.2)
    charged: list[float] = []
    schedule_one = engine.schedule_one

    def cpu_clock() -> float:
        readings.append(clock.now)
        return clock.now

    def slowly() -> bool:
        clock.now += 1.0 if engine.queue_counts()["active"] else 0.001
        return schedule_one()

    monkeypatch.setattr(scheduling_loop, "monotonic", clock)
    monkeypatch.setattr(engine, "schedule_one", slowly)
    monkeypatch.setattr(engine, "charge", charged.append)

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host)
        for _ in range(20):
            host.wake()
            await asyncio.sleep(0)
        assert len(readings) == 1
        host.put(KINDS["Pod"], items("Pod", pod("p")))
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps, engine=engine, clock=clock, cpu_clock=cpu_clock)
    assert charged == [pytest.approx(1.0)]


def test_attempts_of_five_milliseconds_are_charged_after_idle_times_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first one may be missed: its reading of the CPU clock is from before the idle time."""
    clock, cpu = Clock(1000.0), Clock(7.0)
    engine = Engine(default_configuration(), REGISTRY, clock=clock, rng=random.Random(0), max_namespace_share=0.2)
    charged: list[float] = []
    schedule_one = engine.schedule_one

    def slowly() -> bool:
        if tried := schedule_one():
            clock.now += 0.006
            cpu.now += 0.006
        return tried

    monkeypatch.setattr(scheduling_loop, "monotonic", clock)
    monkeypatch.setattr(engine, "schedule_one", slowly)
    monkeypatch.setattr(engine, "charge", charged.append)

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host)
        for number in range(10):
            host.put(KINDS["Pod"], items("Pod", pod(f"p{number}")))
            await until(lambda number=number: f"p{number}" in executor.bound)  # type: ignore[misc]
            clock.now += 0.03

    scheduling(steps, engine=engine, clock=clock, cpu_clock=cpu)
    assert charged[1:] == [pytest.approx(0.006)] * 9


def test_no_namespace_is_charged_for_time_without_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(1000.0)
    engine = Engine(default_configuration(), REGISTRY, clock=clock, rng=random.Random(0), max_namespace_share=0.2)
    charged: list[float] = []
    schedule_one = engine.schedule_one

    def slowly() -> bool:
        clock.now += 1.0
        return schedule_one()

    monkeypatch.setattr(scheduling_loop, "monotonic", clock)
    monkeypatch.setattr(engine, "schedule_one", slowly)
    monkeypatch.setattr(engine, "charge", charged.append)

    async def steps(host: SchedulingLoop, executor: FakeExecutor) -> None:
        all_there(host, "p")
        await until(lambda: executor.bound == {"p": "n"})

    scheduling(steps, engine=engine, clock=clock, cpu_clock=lambda: 7.0)
    assert set(charged) == {0.0}
