from typing import Any

from tests.builders import pod

from stowplan import api
from stowplan.api import codec
from stowplan.cache import Cluster
from stowplan.framework import EmitEvent
from stowplan.simulator.watch.recent_events import RecentEvents


def event(reason: str, app: str, note: str = "", related: Any = None) -> EmitEvent:
    return EmitEvent(_pod(app), "Normal", reason, "", note, related)


def _pod(app: str) -> Any:

    return Cluster().pod(codec.convert(api.Pod, pod(f"{app}-xyz", labels={"app": app})))


def texts(feed: RecentEvents) -> list[str]:
    return [f"{entry.time:g} {entry.text}" for entry in feed.entries]


def test_the_same_again_is_told_once() -> None:
    feed = RecentEvents()
    for _ in range(3):
        feed.take(1.0, event("Scheduled", "web"))
        feed.take(1.2, event("Scheduled", "cache"))
    assert texts(feed) == ["1 placed 3 of web", "1.2 placed 3 of cache"]


def test_but_not_after_a_while() -> None:
    feed = RecentEvents()
    feed.take(1.0, event("Scheduled", "web"))
    feed.take(2.5, event("Scheduled", "web"))
    assert texts(feed) == ["1 placed web", "2.5 placed web"]


def test_numbered_workloads_count_together() -> None:
    feed = RecentEvents()
    feed.take(1.0, event("Scheduled", "batch-1"))
    feed.take(1.0, event("Scheduled", "batch-12"))
    assert texts(feed) == ["1 placed 2 of batch"]


def test_evictions_and_refusals_say_why() -> None:
    feed = RecentEvents()
    feed.take(1.0, event("Preempted", "batch-1", related=_pod("urgent")))
    feed.take(1.0, event("FailedScheduling", "big", "0/3 nodes are available"))
    feed.take(1.0, event("SomethingElse", "big"))
    assert texts(feed) == ["1 evicted batch for urgent", "1 refused big: 0/3 nodes are available"]


def test_announcements_stay_apart() -> None:
    feed = RecentEvents()
    feed.announce(0.0, "it begins")
    feed.take(0.0, event("Scheduled", "web"))
    assert texts(feed) == ["0 it begins", "0 placed web"]
    assert [entry.note for entry in feed.announcements] == ["it begins"]


def test_a_pod_without_labels_goes_by_its_name() -> None:
    feed = RecentEvents()
    nameless = _pod("")
    feed.take(0.0, EmitEvent(nameless, "Normal", "Scheduled", "", ""))
    assert texts(feed) == [f"0 placed {nameless.name}"]
