from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import QueuedPodInfo
from stowplan.optional_plugins.qos_sort import QOSSort
from stowplan.plugins.base import InTreePlugin
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.queue.refused_batch import RefusedBatch

CLUSTER = Cluster()
PLUGIN = PrioritySort(None, cast(Any, SimpleNamespace(cluster=CLUSTER)))


def queued(priority: int | None, timestamp: float) -> QueuedPodInfo:
    return QueuedPodInfo(CLUSTER.pod(api.Pod(spec=api.PodSpec(priority=priority))), timestamp)


@pytest.mark.parametrize(
    ("first", "second", "less"),
    [
        ((10, 2.0), (5, 1.0), True),
        ((5, 1.0), (10, 2.0), False),
        ((5, 1.0), (5, 2.0), True),
        ((5, 2.0), (5, 1.0), False),
        ((5, 1.0), (5, 1.0), False),
        ((None, 1.0), (-1, 0.0), True),
        ((None, 1.0), (0, 2.0), True),
    ],
)
def test_priority_then_time(first: tuple[int | None, float], second: tuple[int | None, float], less: bool) -> None:
    assert PLUGIN.less(queued(*first), queued(*second)) is less
    assert (PLUGIN.sort_key(queued(*first)) < PLUGIN.sort_key(queued(*second))) is less


class Alike(PrioritySort):
    name = "Alike"


class ByName(PrioritySort):
    name = "ByName"

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        return a.pod.name < b.pod.name


class ByKey(QOSSort):
    name = "ByKey"

    def sort_key(self, item: QueuedPodInfo) -> tuple[Any, ...]:
        return (item.attempts,)


class ByTemplate(ByName):
    name = "ByTemplate"
    reads_template_and_timestamp_only = True

    def less(self, a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
        return a.pod.template.priority < b.pod.template.priority


@pytest.mark.parametrize(
    ("sort", "together"),
    [(PrioritySort, True), (QOSSort, True), (Alike, True), (ByName, False), (ByKey, False), (ByTemplate, True)],
)
def test_equal_pods_stay_together_only_with_an_order_that_allows_it(sort: type[InTreePlugin], together: bool) -> None:
    assert sort.keeps_equal_pods_together() is together


@pytest.mark.parametrize(("sort", "keyed"), [(Alike, True), (ByName, False), (ByKey, True), (ByTemplate, False)])
def test_an_inherited_key_is_not_used_with_another_order(sort: type[InTreePlugin], keyed: bool) -> None:
    plugin = sort(None, cast(Any, SimpleNamespace(cluster=CLUSTER)))
    assert (plugin.current_sort_key() is not None) is keyed


@pytest.mark.parametrize(("sort", "together"), [(Alike, True), (ByName, False)])
def test_an_overridden_order_separates_pods_that_were_refused_together(sort: Any, together: bool) -> None:
    pods = (pod(name, requests={"cpu": "8"}) for name in "abc")
    host = Host(node("small"), *pods, plugins={sort.name: sort})
    host.schedule()
    host.put(node("closed", cpu=16, unschedulable=True))
    assert [isinstance(info.sub_queue, RefusedBatch) for info in host.engine.queued_pods()] == [together] * 3
