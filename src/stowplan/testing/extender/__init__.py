"""A client that calls an extender as kube-scheduler does, for testing extenders in any language.

An extender that works with one release of kube-scheduler may fail with another: keys are spelled differently, scores
are scaled, unknown names are an error or a crash, a float invalidates a whole list. The client sends requests as
kube-scheduler does, and reads replies as Go does, for each group of releases.

## Calling

    from stowplan.testing.extender import KubeSchedulerClient, sample_nodes, sample_pod

    client = KubeSchedulerClient("v1.36", "http://127.0.0.1:8888", filter_verb="filter", prioritize_verb="prioritize")
    outcome = client.filter(sample_pod("web-0"), sample_nodes(3))
    assert outcome.passing == ["node-0", "node-2"]
    assert client.prioritize(sample_pod("web-0"), sample_nodes(3)).scores == {"node-0": 70}

A reply that kube-scheduler treats as a failure raises ExtenderFailedError with the text of the pod's event, and one
that crashes it raises SchedulerCrashedError. `RELEASES` lists the groups of releases and their differences.

## Checking

    from stowplan.testing.extender import check_extender

    assert not check_extender("http://127.0.0.1:8888", filter_verb="filter", prioritize_verb="prioritize")

calls the extender as every release and in both list modes, and returns errors and warnings about its replies;
`fuzz=1000` also sends malformed requests. From a terminal:

    $ python -m stowplan.testing.extender http://127.0.0.1:8888 --filter-verb filter --fuzz 1000

Nodes that the extender knows can be given; by default sample nodes are sent. A bind verb is called only if it is named,
for a pod that does not exist.

## What belongs here

kube-scheduler's side of the protocol, implemented independently of Stowplan's server. May import the rooms that
`stowplan.testing` may import.

Upstream: pkg/scheduler/extender.go, k8s.io/kube-scheduler/extender/v1
"""

from stowplan.testing.extender.check import Finding, check_extender
from stowplan.testing.extender.client import (
    ExtenderFailedError,
    KubeSchedulerClient,
    SchedulerCrashedError,
    VictimsReply,
)
from stowplan.testing.extender.fuzz import mutations
from stowplan.testing.extender.releases import RELEASES, KubeSchedulerRelease
from stowplan.testing.extender.samples import sample_nodes, sample_pod

__all__ = [
    "RELEASES",
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
