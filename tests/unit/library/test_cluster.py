"""Clusters as values: reading, changed copies, runs, answers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.builders.manifests import WEB, pod_manifest

import stowplan
from stowplan import Cluster, api
from stowplan.errors import InputError, StowplanError
from stowplan.framework import Explanation
from stowplan.framework.explanation import PendingPods, PlacedExplanation, WhyNot
from stowplan.library import UnknownObjectError
from stowplan.simulator.input.snapshot_file import encode_snapshot, make_header, sanitized

NODES = """
{kind: Node, metadata: {name: ant, labels: {zone: a}}, status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}
---
{kind: Node, metadata: {name: bee, labels: {zone: b}}, status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}
"""


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.from_objects(NODES, WEB)


def test_files_and_objects_give_the_same_run(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "web.yaml").write_text(WEB)
    read = Cluster.from_files(tmp_path / "nodes.yaml", str(tmp_path / "web.yaml"))
    assert read.simulate().report == cluster.simulate().report


def test_objects_may_be_dicts_structs_texts_and_paths(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(NODES)
    node = api.Node(metadata=api.ObjectMeta(name="cow"), status=api.NodeStatus(allocatable={"cpu": "8", "pods": "9"}))
    mixed = Cluster.from_objects(tmp_path / "nodes.yaml", pod_manifest("big", "4"), node)
    assert mixed.simulate().pod("big").node == "cow"


def test_bad_input_is_one_clear_error() -> None:
    with pytest.raises(InputError, match=r"^nowhere.yaml: No such file or directory$"):
        Cluster.from_files("nowhere.yaml")
    with pytest.raises(InputError, match="unknown field"):
        Cluster.from_objects({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containerz": []}})


def test_a_run_has_pods_nodes_and_attempts(cluster: Cluster) -> None:
    run = cluster.simulate()
    assert {p.node for p in run.pods} == {"ant", "bee"}
    assert [(node.node, node.pods) for node in run.nodes] in ([("ant", 2), ("bee", 1)], [("ant", 1), ("bee", 2)])
    assert [attempt.attempt for attempt in run.attempts] == [1, 1, 1]
    assert run.summary.placed == 3
    assert repr(run) == "<Run: 3 placed, 0 running, 0 pending>"
    with pytest.raises(UnknownObjectError, match=r"^pod default/nope is not known$"):
        run.pod("nope")


def test_a_cluster_under_the_rules_of_another_release(cluster: Cluster) -> None:
    tainted = Cluster.from_objects(
        {
            "kind": "Node",
            "metadata": {"name": "n"},
            "spec": {"taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "2", "pods": "9"}},
        },
        pod_manifest("p"),
    )
    texts = []
    for version in ("1.33", "1.34"):
        found = tainted.with_release(version).explain("p")
        assert isinstance(found, Explanation)
        texts.append(found.message)
    assert "1 node(s) had untolerated taint {gpu: a}." in texts[0]
    assert "1 node(s) had untolerated taint(s)." in texts[1]
    with pytest.raises(StowplanError, match=r"emulation version 1.32 is not between \[1.33, 1.36\]"):
        cluster.with_release("1.32")


def test_changes_return_new_clusters(cluster: Cluster) -> None:
    before = cluster.simulate().report
    assert len(cluster.without("zone=a").nodes) == 1
    assert len(cluster.add_nodes(2, like="ant").nodes) == 4
    assert len(cluster.without("deploy/web").objects) == 2
    assert cluster.scale("Deployment/web", 5).simulate().summary.pending == 1
    assert cluster.scale("default/Deployment/web", 0).simulate().summary.placed == 0
    assert cluster.apply(pod_manifest("other")).simulate().pod("other").node
    assert cluster.simulate().report == before
    assert len(cluster.nodes) == 2


def test_objects_of_a_reference_must_exist(cluster: Cluster) -> None:
    for change in (
        lambda: cluster.without("cow"),
        lambda: cluster.scale("Deployment/nope", 1),
        lambda: cluster.add_nodes(like="cow"),
    ):
        with pytest.raises(UnknownObjectError, match="no such object"):
            change()
    with pytest.raises(InputError, match=r"has no spec.replicas"):
        cluster.apply(pod_manifest("p")).scale("Pod/p", 2)


def test_added_nodes_are_named_and_labelled(cluster: Cluster) -> None:
    added = cluster.add_nodes(2, like="ant").nodes[2:]
    assert [node.metadata.name for node in added] == ["ant-new-1", "ant-new-2"]
    assert added[0].metadata.labels == {"zone": "a", "kubernetes.io/hostname": "ant-new-1"}
    again = cluster.add_nodes(1, like="ant").add_nodes(1, like="ant")
    assert [node.metadata.name for node in again.nodes] == ["ant", "bee", "ant-new-1", "ant-new-2"]
    manifest = {"kind": "Node", "metadata": {"name": "gpu"}, "status": {"allocatable": {"cpu": "8", "pods": "5"}}}
    assert cluster.add_nodes(1, like=manifest).nodes[2].metadata.name == "gpu-new-1"


def test_a_run_can_be_continued(cluster: Cluster) -> None:
    """Pods of a lost node are replaced by their controller; the others stay where they are."""
    run = cluster.simulate()
    after = run.cluster.without("ant").simulate()
    on_bee = {p.pod for p in run.pods if p.node == "bee"}
    assert on_bee <= {p.pod for p in after.pods if p.node == "bee"}
    assert after.summary.placed + after.summary.running == 2
    assert after.summary.pending == 1


def test_scaling_a_run_down_removes_pods_and_leaves_the_others(cluster: Cluster) -> None:
    run = cluster.simulate()
    after = run.cluster.scale("Deployment/web", 1).simulate()
    assert len(after.pods) == 1
    assert after.pods[0].node == run.pod(after.pods[0].pod).node


def test_what_if(cluster: Cluster) -> None:
    lost = cluster.what_if(fail="ant")
    assert lost.after.nodes == 1
    assert lost.waiting == 1
    assert lost.workloads[0].why is not None
    more = cluster.scale("Deployment/web", 6).what_if(add_nodes=1, like="ant")
    assert (more.before.pending, more.after.pending, more.on_new_nodes) == (2, 0, 2)
    assert more.sentence in more._repr_html_()  # type: ignore[attr-defined]
    assert repr(more) == f"<WhatIfAnswer: {more.sentence}>"
    assert str(more).startswith(more.sentence)
    assert cluster.what_if(scale={"Deployment/web": 5}).after.pending == 1
    assert cluster.what_if(apply=pod_manifest("one")).after.placed == 4
    assert cluster.what_if(drain=["zone=a"], delete="Deployment/web").after.placed == 0
    assert cluster.what_if(requests={"Deployment/web": {"cpu": "2"}}).after.pending == 1
    assert cluster.what_if(taint={"bee": "gpu:NoExecute"}).after.pending == 1
    assert msgspec.json.encode(cluster.what_if(apply=[pod_manifest("one")], weights={"NodeResourcesFit": 3}))
    assert cluster.simulate().summary.placed == 3


def test_how_many_fit(cluster: Cluster) -> None:
    fit = cluster.what_if(fit="Deployment/web").fit
    assert fit is not None
    assert fit.replicas == 1
    small = cluster.what_if(fit=pod_manifest("small", "500m")).fit
    assert small is not None
    assert small.replicas == 2
    (enough,) = cluster.scale("Deployment/web", 9).what_if(enough="ant").enough
    assert enough.nodes == 3
    with pytest.raises(InputError, match="`like` names the node to copy"):
        cluster.what_if(add_nodes=1)


def test_differences(cluster: Cluster) -> None:
    before = cluster.scale("Deployment/web", 6).simulate()
    after = before.cluster.add_nodes(1, like="ant").simulate()
    difference = before.diff(after)
    assert {moved.after for moved in difference.now_placed} == {"ant-new-1"}
    assert difference.sentence == "Pods: 2 placed now; 0 pending in all."
    lost = before.diff(before.cluster.without("ant").simulate())
    assert len(lost.only_before) == len(lost.only_after) == 2
    assert not before.diff(before)


def test_explanations(cluster: Cluster) -> None:
    full = cluster.scale("Deployment/web", 5)
    (group,) = full.simulate().pending
    explained = full.explain(group.pods[0])
    assert isinstance(explained, Explanation)
    assert explained.verdict == "not-now"
    assert "CPU" in explained.sentence
    assert "CPU" in explained._repr_html_()  # type: ignore[attr-defined]
    assert repr(explained) == f"<Explanation of {group.pods[0]}: not-now: {explained.sentence}>"
    assert "\nWhat would help\n" in str(explained)
    refused = full.why_not(group.pods[0], "ant")
    assert isinstance(refused, WhyNot)
    assert not refused.fits
    assert repr(refused) == f"<WhyNot: {refused.sentence}>"
    assert "\nRules\n" in str(refused)
    placed = cluster.explain(cluster.simulate().pods[0].pod)
    assert isinstance(placed, PlacedExplanation)
    assert repr(placed).startswith(f"<PlacedExplanation of {placed.pod.namespace}/{placed.pod.name} on {placed.node}: ")
    assert "\nBest nodes\n" in str(placed)
    plain = msgspec.convert(msgspec.to_builtins(explained), Explanation)
    assert msgspec.to_builtins(plain) == msgspec.to_builtins(explained)


def test_unknown_pods_and_nodes(cluster: Cluster) -> None:
    name = cluster.simulate().pods[0].pod
    with pytest.raises(StowplanError, match="nope"):
        cluster.explain("nope")
    with pytest.raises(StowplanError, match="cow"):
        cluster.why_not(name, "cow")


def test_pending_pods_are_grouped(cluster: Cluster) -> None:
    answer = cluster.scale("Deployment/web", 7).explain_pending()
    assert [group.pods for group in answer.groups] == [3]
    assert "3" in answer._repr_html_()  # type: ignore[attr-defined]
    assert repr(answer) == "<PendingPods: 3 in 1 groups>"
    assert str(answer).startswith("3 pods are pending, for 1 reason.")


def test_workloads_are_explained_by_group(cluster: Cluster) -> None:
    answer = cluster.scale("Deployment/web", 7).explain("Deployment/web")
    assert isinstance(answer, PendingPods)
    assert (answer.pods, answer.placed) == (3, 4)
    assert answer.as_of.source == "manifests"


def test_snapshots_are_taken_as_they_are(cluster: Cluster, tmp_path: Path) -> None:
    run = cluster.scale("Deployment/web", 5).simulate()
    header = make_header(1_800_000_000.0, "test", "default")
    (tmp_path / "snapshot.json.gz").write_bytes(encode_snapshot(header, sanitized(run.cluster.objects), compress=True))
    read = Cluster.from_snapshot(tmp_path / "snapshot.json.gz")
    assert [each.pod for each in read.simulate().pods] == [each.pod for each in run.pods]
    waiting = run.pending[0].pods[0]
    assert read.explain(waiting).sentence == run.explain(waiting).sentence
    assert read.explain(waiting).as_of.time == "2027-01-15T08:00:00Z"
    assert read.add_nodes(1, like="ant").simulate().pod(waiting).node == "ant-new-1"
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(InputError, match=r"broken.json: "):
        Cluster.from_snapshot(tmp_path / "broken.json")


@pytest.mark.parametrize("form", ["dict", "yaml", "file"])
def test_configurations(cluster: Cluster, form: str, tmp_path: Path) -> None:
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}
"""
    import yaml

    (tmp_path / "config.yaml").write_text(text)
    config = {"dict": yaml.safe_load(text), "yaml": text, "file": tmp_path / "config.yaml"}[form]
    assert cluster.scale("Deployment/web", 9).simulate(config=config).summary.pending == 0


def test_seeds_break_ties(cluster: Cluster) -> None:
    one = cluster.simulate(seed=0)
    differences = [one.diff(cluster.simulate(seed=seed)) for seed in range(8)]
    assert not differences[0]
    assert any(differences)


def test_names_of_the_package() -> None:
    assert stowplan.Cluster is Cluster
