"""Members of a gang that wait at Permit, and bindings that fail."""

from __future__ import annotations

import pytest
from tests.builders import member, node
from tests.unit.engine.grouped import CPU, SlowPermit, bound, group, host, members

from stowplan.engine.observer import Observer
from stowplan.framework import Bind, Call, Failure, QueuedPodInfo, Status


def test_a_failed_binding_is_repeated_with_the_gang() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    made.settle()
    made.engine.schedule_one()
    made.answer(Bind, Failure("no", "InternalError"), "g-1")
    made.settle()
    assert sorted(bound(made)) == ["g-0", "g-2"]
    made.advance(5)
    assert sorted(bound(made)) == ["g-0", "g-1", "g-2"]


def test_members_of_a_gang_do_not_hold_room_for_one_that_was_deleted() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    made.settle()
    made.delete(member("g-1"))
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods
    made.put(member("g-3", **CPU))
    made.schedule()
    assert len(bound(made)) == 3


def test_permit_plugins_of_others_may_take_their_time() -> None:
    """The member that completes the gang passes before the others begin to wait."""
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True)
    made.schedule()
    assert len(bound(made)) == 2


def test_a_gang_that_is_incomplete_after_slow_permits_gives_its_room_back() -> None:
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True)
    made.settle()
    made.engine.schedule_one()
    calls = [each for each in made.take() if isinstance(each, Call)]
    made.delete(member("g-1"))
    for each in calls:
        made.do(each)
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods


def test_members_give_their_room_back_if_the_group_is_deleted() -> None:
    made = host(node("n", cpu=4), group(min_count=2), *members(2), plugins={"Slow": SlowPermit}, slow=True)
    made.settle()
    made.engine.schedule_one()
    calls = [each for each in made.take() if isinstance(each, Call)]
    made.delete(group(min_count=2))
    for each in calls:
        made.do(each)
    made.schedule()
    assert bound(made) == {}
    assert not made.engine.cluster.pods


class PermitWaits(Observer):
    """Counts the members that waited at Permit."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def permit_wait_ended(self, queued: QueuedPodInfo, status: Status | None, seconds: float) -> None:
        self.ended.append(queued.pod.name)


@pytest.mark.parametrize("slow", [False, True], ids=["in tree", "with a Permit plugin"])
def test_all_members_but_the_last_count_as_waiting_at_permit(slow: bool) -> None:
    observer = PermitWaits()
    plugins = {"Slow": SlowPermit} if slow else {}
    made = host(node("n", cpu=9), group(min_count=3), *members(4), slow=slow, observer=observer, plugins=plugins)
    made.schedule()
    assert len(bound(made)) == 4
    assert sorted(observer.ended) == ["g-0", "g-1"]


def test_a_member_whose_binding_fails_is_tried_again() -> None:
    made = host(node("n", cpu=4), group(min_count=3), *members(3))
    while made.engine.schedule_one():
        pass
    binds = [each for each in made.engine.take() if isinstance(each, Bind)]
    assert [each.pod.name for each in binds] == ["g-0", "g-1", "g-2"]
    assert not len(made.engine.waiting_pods)
    made.engine.answer(binds[0], Failure("gone"))
    for each in binds[1:]:
        made.engine.answer(each, made.world.execute(each))
    made.pass_time(made.clock.now + 10)
    made.schedule()
    assert set(bound(made)) == {"g-0", "g-1", "g-2"}
