"""A scheduler against an API server that serves empty lists: the kinds it watches, its start, its end, a lost lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from tests.builders import World, profile_config, until
from tests.unit.cluster.serving import serving

from stowplan.cluster.connection import Connection
from stowplan.cluster.kubeconfig.credentials import StoredCredentials
from stowplan.config.flags.parsing import parse
from stowplan.plugins.registry import REGISTRY
from stowplan.scheduler.scheduler import Scheduler, SchedulerSettings, kinds_read

NOWHERE = Connection("http://127.0.0.1:1", StoredCredentials())


def scheduler_on(connection: Connection, *flags: str) -> Scheduler:
    options = parse(["--leader-elect=false", "--secure-port=0", *flags], env={})
    return Scheduler(SchedulerSettings(options, REGISTRY, connection))


@pytest.mark.parametrize("rules", [False, True])
def test_kinds_are_those_that_plugins_read(rules: bool) -> None:
    names = {kind.name for kind in kinds_read(World().profiles.values(), rules)}
    assert {"Node", "Pod", "PersistentVolumeClaim", "ResourceSlice", "Namespace"} <= names
    assert ("DeviceTaintRule" in names) is rules


def test_kinds_of_disabled_plugins_are_not_watched() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]}
    }
    profiles = World(config=profile_config(plugins)).profiles.values()
    assert {kind.name for kind in kinds_read(profiles, True)} == {"Node", "Pod"}


@pytest.mark.parametrize(
    ("flags", "optional"),
    [
        (["--coscheduling"], ["PodGroup"]),
        (["--coscheduling", "--feature-gates=GenericWorkload=true,GangScheduling=true"], []),
        (["--feature-gates=GenericWorkload=true"], []),
    ],
)
def test_with_coscheduling_alone_a_server_without_pod_groups_is_normal(flags: list[str], optional: list[str]) -> None:
    settings = SchedulerSettings(parse(flags, env={}), REGISTRY, NOWHERE)
    watched = Scheduler(settings).kinds
    assert "PodGroup" in [kind.name for kind in watched]
    assert [kind.name for kind in watched if settings.is_optional(kind)] == optional


def test_without_leader_election_it_may_act_at_once() -> None:
    scheduler = scheduler_on(NOWHERE)
    assert scheduler.is_leader()
    assert scheduler.lease_problem() is None
    assert not scheduler.ready


def test_a_scheduler_that_was_stopped_does_not_start() -> None:
    scheduler = scheduler_on(NOWHERE)
    scheduler.stop()
    asyncio.run(scheduler.run())
    assert not scheduler.ready


def running(steps: Callable[[Scheduler], Awaitable[None]]) -> Scheduler:
    """Run a scheduler on empty lists and watches that never end, and the steps beside it."""

    async def main() -> Scheduler:
        async with serving(empty) as client:
            scheduler = scheduler_on(client.connection)
            task = asyncio.create_task(scheduler.run())
            await until(lambda: scheduler.ready or task.done())
            await steps(scheduler)
            async with asyncio.timeout(20):
                await task
            return scheduler

    return asyncio.run(main())


async def empty(request: web.Request) -> web.StreamResponse:
    if "sendInitialEvents" in request.query:
        return web.json_response({"reason": "Invalid"}, status=422)
    if "watch" in request.query:
        await asyncio.sleep(3600)
    return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})


def test_it_is_ready_once_all_kinds_are_listed_and_ends_when_stopped() -> None:
    async def steps(scheduler: Scheduler) -> None:
        assert scheduler.ready
        scheduler.stop()

    assert not running(steps).lost_lease


def test_a_lost_lease_ends_it() -> None:
    async def steps(scheduler: Scheduler) -> None:
        await asyncio.to_thread(scheduler._lease_lost_on_thread)

    assert running(steps).lost_lease


def test_a_lease_that_is_given_back_at_the_end_is_not_lost() -> None:
    async def steps(scheduler: Scheduler) -> None:
        scheduler.stop()
        scheduler._lost_lease()

    assert not running(steps).lost_lease
