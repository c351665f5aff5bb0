from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import QueuedPodInfo
from stowplan.plugins.priority_sort import PrioritySort

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
