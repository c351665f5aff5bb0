"""Permit, preemption and queueing of out-of-tree plugins, in process."""

from __future__ import annotations

import pytest
from tests.builders.manifests import pod_manifest

from stowplan import (
    Action,
    Cluster,
    ClusterEventWithHint,
    CycleState,
    EventResource,
    NodeInfo,
    Plugin,
    Pod,
    Status,
    on,
    pending,
    reject,
    reject_forever,
    wait,
)
from stowplan.errors import PluginError

NODE = {"kind": "Node", "metadata": {"name": "ant"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}


class Pairs(Plugin):
    """Binds pods in pairs: the first of a pair waits at Permit for the second."""

    name = "Pairs"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | tuple[Status, float] | None:
        group = pod.labels.get("pair")
        if group is None:
            return None
        for waiting in self.handle.waiting_pods():
            if waiting.pod.labels.get("pair") == group:
                waiting.allow(self.name)
                return None
        return wait(60.0, f"the other pod of {group}")


def test_permit_binds_pairs() -> None:
    run = Cluster.from_objects(
        NODE, pod_manifest("a", labels={"pair": "x"}), pod_manifest("b", labels={"pair": "x"})
    ).simulate(plugins=[Pairs])
    assert [each.node for each in run.pods] == ["ant", "ant"]


def test_a_wait_at_permit_ends_in_simulated_time() -> None:
    run = Cluster.from_objects(NODE, pod_manifest("a", labels={"pair": "x"}), pod_manifest("other")).simulate(
        plugins=[Pairs]
    )
    assert run.pod("other").node == "ant"
    assert run.pod("a").node == ""
    waited = [attempt for attempt in run.attempts if attempt.pod == "default/a"]
    assert waited[0].node == "ant"
    assert "timeout" in waited[0].message


class Licence(Plugin):
    """Rejects pods that need a licence on nodes without one; a node's label change moves them back."""

    name = "Licence"
    scope = "node"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if "licence" in pod.labels and "licence" not in node.labels:
            return reject("node(s) had no licence")
        return None

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [on(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)]


def test_rejections_and_the_queue() -> None:
    cluster = Cluster.from_objects(NODE, pod_manifest("a", labels={"licence": "1"}))
    run = cluster.simulate(plugins=[Licence])
    assert run.queue["unschedulable"] == ("default/a",)
    assert run.pending[0].message.startswith("0/1 nodes are available: 1 node(s) had no licence.")
    labelled = {**NODE, "metadata": {"name": "bee", "labels": {"licence": "1"}}}
    assert cluster.apply(labelled).simulate(plugins=[Licence]).pod("a").node == "bee"
    assert "no licence" in cluster.explain("a", plugins=[Licence]).message  # type: ignore[union-attr]


class Gate(Plugin):
    """Keeps pods with the label `hold` out of the active queue."""

    name = "Gate"

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return pending("is on hold") if "hold" in pod.labels else None


def test_pre_enqueue_gates_pods() -> None:
    run = Cluster.from_objects(NODE, pod_manifest("a", labels={"hold": "1"}), pod_manifest("b")).simulate(
        plugins=[Gate]
    )
    assert run.queue["gated"] == ("default/a",)
    assert run.pod("a").attempts == 0
    assert run.pod("b").node == "ant"


def test_preemption_evicts_and_nominates() -> None:
    before = Cluster.from_objects(NODE, pod_manifest("small", cpu="3")).simulate()
    run = before.cluster.apply(pod_manifest("urgent", cpu="2", priority=100)).simulate()
    assert [(each.preemptor, each.victim) for each in run.preemptions] == [("default/urgent", "default/small")]
    first, *_, last = [attempt for attempt in run.attempts if attempt.pod == "default/urgent"]
    assert (first.node, first.nominated) == ("", "ant")
    assert last.node == "ant"


class Alone(Plugin):
    """Rejects nodes that run other pods, for pods with the label `alone`."""

    name = "Alone"
    scope = "node+pods"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return reject("node(s) ran other pods") if "alone" in pod.labels and node.pods else None


class AloneForever(Alone):
    name = "AloneForever"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None if super().filter(state, pod, node) is None else reject_forever("node(s) ran other pods")


@pytest.mark.parametrize(("plugin", "evicted"), [(Alone, ["default/small"]), (AloneForever, [])])
def test_evictions_resolve_a_plugins_rejection_unless_it_is_for_ever(plugin: type[Plugin], evicted: list[str]) -> None:
    before = Cluster.from_objects(NODE, pod_manifest("small")).simulate()
    run = before.cluster.apply(pod_manifest("urgent", priority=100, labels={"alone": "1"})).simulate(plugins=[plugin])
    assert [each.victim for each in run.preemptions] == evicted
    assert bool(run.pod("urgent").node) is bool(evicted)


def test_names_of_plugins_in_the_tree_are_taken() -> None:
    class Imposter(Plugin):
        name = "NodeName"

        def pre_enqueue(self, pod: Pod) -> Status | None:
            return None

    with pytest.raises(PluginError, match=r'^a plugin named "NodeName" already exists$'):
        Cluster.from_objects(NODE).simulate(plugins=[Imposter])
