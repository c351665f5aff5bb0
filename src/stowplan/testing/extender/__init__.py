"""kube-scheduler as an extender meets it, without kube-scheduler: for testing any extender, in whatever language.

An extender that works with one release of kube-scheduler may fail with another: keys are spelt differently, scores are
scaled, unknown names are an error or a crash, a float loses a whole list. Here is a client that asks as kube-scheduler
asks, and reads replies as Go reads them, for each age of it.

## Asking

    from stowplan.testing.extender import KubeSchedulerClient, sample_nodes, sample_pod

    client = KubeSchedulerClient("v1.36", "http://127.0.0.1:8888", filter_verb="filter", prioritize_verb="prioritize")
    outcome = client.filter(sample_pod("web-0"), sample_nodes(3))
    assert outcome.passing == ["node-0", "node-2"]
    assert client.prioritize(sample_pod("web-0"), sample_nodes(3)).scores == {"node-0": 70}

What kube-scheduler takes for a failure raises ExtenderFailed with the words that would stand in the pod's event, and
what would make it crash SchedulerCrashed. `ERAS` has what sets the ages apart.

## Checking

    from stowplan.testing.extender import check_extender

    assert not check_extender("http://127.0.0.1:8888", filter_verb="filter", prioritize_verb="prioritize")

asks in every age and in both list modes, and returns what is wrong, or unwise, with the replies; `fuzz=1000` sends
mutilated requests as well. From a terminal:

    $ python -m stowplan.testing.extender http://127.0.0.1:8888 --filter-verb filter --fuzz 1000

Nodes that an extender is to know of can be given; by default they are made up. A bind verb is called only where it is
named, for a pod that does not exist.

## What belongs here

The protocol as kube-scheduler speaks it, written down independently of how Stowplan serves it. May import what
`stowplan.testing` may.
"""

from stowplan.testing.extender.check import Finding, check_extender
from stowplan.testing.extender.client import (
    ExtenderFailedError,
    KubeSchedulerClient,
    SchedulerCrashedError,
    VictimsReply,
)
from stowplan.testing.extender.fuzz import mutations
from stowplan.testing.extender.releases import ERAS, KubeSchedulerRelease
from stowplan.testing.extender.samples import sample_nodes, sample_pod

__all__ = [
    "ERAS",
    "ExtenderFailedError",
    "Finding",
    "KubeSchedulerClient",
    "KubeSchedulerRelease",
    "SchedulerCrashedError",
    "VictimsReply",
    "check_extender",
    "mutations",
    "sample_nodes",
    "sample_pod",
]
