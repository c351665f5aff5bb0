"""Refusals by node selectors, node affinity, spec.nodeName and kubelet features: sentences, facts, changes, traps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, expressions, fields, node, node_affinity, pod, profile_config

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.closest import check
from stowplan.insight.explain import explain, run
from stowplan.insight.matrix import FilterMatrix

NEVER = "Never fits, as the pod and the nodes are."


def disks() -> World:
    nodes = [node(f"s{number}", labels={"disktype": "ssd"}) for number in range(3)]
    return World([*nodes, node("d", labels={"disk-type": "nvme"}), node("plain")])


def pools() -> World:
    return World(
        [
            node("a", labels={"zone": "a", "pool": "x"}),
            node("b", labels={"zone": "b", "pool": "gpu"}),
            node("c", labels={"zone": "b", "pool": "x"}),
        ]
    )


def explained(world: World, **spec: Any) -> Explanation:
    return run(explain(world.profile, world.pod(pod("p", **spec))))


def refusal(world: World, on: str, plugin: str = "NodeAffinity", **spec: Any) -> Refusal:
    info = world.cluster.nodes.get(on)
    assert info is not None
    (found,) = FilterMatrix(world.profile, world.pod(pod("p", **spec))).explain(plugin, info)
    return found


def wanting(*terms: Any) -> dict[str, Any]:
    return {"affinity": node_affinity(*terms)}


# One node
def test_another_value() -> None:
    found = refusal(pools(), "a", nodeSelector={"pool": "gpu"})
    assert (found.id, found.text) == ("affinity.node", "wants pool=gpu; the node has pool=x")
    assert (found.wanted, found.there, found.lasting) == ("pool=gpu", "pool=x", True)
    assert found.facts == {
        "selector": "pool=gpu",
        "requirements": [{"key": "pool", "operator": "In", "values": ["gpu"], "there": "x"}],
    }
    assert [(each.kind, each.text, each.effort) for each in found.changes] == [
        ("selector", "ask for pool=x", 3.0),
        ("label", "label a pool=gpu", 3.0),
        ("selector", "drop pool=gpu", 3.2),
    ]


@pytest.mark.parametrize(
    ("spec", "on", "text"),
    [
        ({"nodeSelector": {"gpu": "yes"}}, "a", "wants gpu=yes; the node has no label gpu"),
        (
            {"nodeSelector": {"pool": "gpu", "gpu": "yes"}},
            "a",
            "wants pool=gpu and gpu=yes; the node has pool=x and no label gpu",
        ),
        (wanting(expressions("pool", "In", "y", "z")), "a", "wants pool in (y, z); the node has pool=x"),
        (wanting(expressions("pool", "NotIn", "x")), "a", "wants pool notin (x); the node has pool=x"),
        (wanting(expressions("pool", "DoesNotExist")), "a", "wants !pool; the node has pool=x"),
        (
            wanting(expressions("pool", "Gt", "3")),
            "a",
            "wants pool>3; the node has pool=x, which is not a whole number",
        ),
        (
            wanting(expressions("gpu", "Exists"), expressions("pool", "In", "y")),
            "a",
            "wants gpu; the node has no label gpu (closest of 2 alternatives)",
        ),
        (wanting(fields("b")), "a", "wants metadata.name=b; the node has the name a"),
        (wanting(fields("zz")), "a", "wants metadata.name=zz; the node has the name a; there is no node zz"),
    ],
)
def test_what_a_node_has_instead(spec: dict[str, Any], on: str, text: str) -> None:
    assert refusal(pools(), on, **spec).text == text


def test_the_closest_alternative_lacks_the_least() -> None:
    far = {
        "matchExpressions": [
            *expressions("k", "Exists")["matchExpressions"],
            *expressions("l", "Exists")["matchExpressions"],
        ]
    }
    found = refusal(pools(), "a", **wanting(far, expressions("pool", "In", "gpu")))
    assert found.text == "wants pool=gpu; the node has pool=x (closest of 2 alternatives)"
    assert found.facts["alternatives"] == 2


# Changes, each applied and checked
@pytest.mark.parametrize(
    ("spec", "on", "texts"),
    [
        ({"nodeSelector": {"pool": "gpu"}}, "a", ["ask for pool=x", "label a pool=gpu", "drop pool=gpu"]),
        (
            {"nodeSelector": {"disktype": "nvme"}},
            "d",
            ["ask for disk-type=nvme", "label d disktype=nvme", "drop disktype=nvme"],
        ),
        (
            wanting(expressions("disktype", "In", "nvme")),
            "d",
            ["ask for disk-type=nvme", "label d disktype=nvme", "drop disktype=nvme"],
        ),
        (wanting(expressions("pool", "In", "y")), "a", ["allow pool x", "label a pool=y", "drop pool=y"]),
        (wanting(expressions("pool", "NotIn", "x")), "a", ["remove the label pool from a", "drop pool notin (x)"]),
        (wanting(expressions("cores", "Gt", "8")), "four", ["ask for cores>3", "label four cores=9", "drop cores>8"]),
        (wanting(expressions("cores", "Lt", "2")), "four", ["ask for cores<5", "label four cores=1", "drop cores<2"]),
        (wanting(expressions("kubernetes.io/os", "In", "windows")), "a", ["drop kubernetes.io/os=windows"]),
        (
            wanting(
                {
                    "matchExpressions": [
                        {"key": "pool", "operator": "In", "values": ["y"]},
                        {"key": "k", "operator": "Exists"},
                    ]
                }
            ),
            "a",
            ["label a pool=y and label a k=", "allow pool x and drop k", "drop pool=y and drop k"],
        ),
    ],
)
def test_changes_hold(spec: dict[str, Any], on: str, texts: list[str]) -> None:
    world = pools()
    for more in (node("d", labels={"disk-type": "nvme"}), node("four", labels={"cores": "4"})):
        world.put_node(more)
    found = refusal(world, on, **spec)
    assert [change.text for change in found.changes] == texts
    info = world.cluster.nodes.get(on)
    assert info is not None
    for change in found.changes:
        assert check(world.profile, world.pod(pod("p", **spec)), info, (change,)) is None, change.text


def test_no_change_of_a_name_that_a_daemon_set_writes() -> None:
    assert refusal(pools(), "a", **wanting(fields("b"))).changes == ()


# It dominates
@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"nodeSelector": {"disktype": "nvme"}},
            "Asks for nodes labelled disktype=nvme; no node has that label. 3 nodes have disktype=ssd, "
            "1 has disk-type=nvme.",
        ),
        ({"nodeSelector": {"gpu": "nvme"}}, "Asks for nodes labelled gpu=nvme; no node has the label gpu."),
        (
            {"nodeSelector": {"disktype": "SSD"}},
            "Asks for nodes labelled disktype=SSD; no node has that label. 3 nodes have disktype=ssd.",
        ),
        (wanting(expressions("gpu", "Exists")), "Asks for nodes with the label gpu; no node has the label gpu."),
        (
            wanting(expressions("DiskType", "Exists")),
            "Asks for nodes with the label DiskType; no node has the label DiskType. "
            "1 node has the label disk-type, 3 have the label disktype.",
        ),
        (
            wanting(expressions("kubernetes.io/hostname", "DoesNotExist")),
            "Asks for nodes without the label kubernetes.io/hostname; each of the 5 nodes has the label "
            "kubernetes.io/hostname.",
        ),
        (
            wanting(expressions("disktype", "In", "hdd"), expressions("gpu", "Exists")),
            "No node meets one of its 2 alternatives; the closest: asks for nodes labelled disktype=hdd; no node has "
            "that label. 3 nodes have disktype=ssd.",
        ),
        (wanting(fields("zz")), "Asks for node zz; there is no such node."),
    ],
)
def test_a_requirement_that_no_node_meets(spec: dict[str, Any], sentence: str) -> None:
    answer = explained(disks(), **spec)
    assert (answer.sentence, answer.verdict, answer.more) == (sentence, "never", (NEVER,))
    assert answer.because is not None
    assert answer.because.id == "affinity.node"


def test_at_most_three_other_values_and_near_ones() -> None:
    counts = {"fast": 4, "slow": 3, "other": 2, "nvm": 1, "rare": 1}
    nodes = [node(f"{value}-{i}", labels={"disk": value}) for value, number in counts.items() for i in range(number)]
    assert explained(World(nodes), nodeSelector={"disk": "nvme"}).sentence == (
        "Asks for nodes labelled disk=nvme; no node has that label. "
        "4 nodes have disk=fast, 3 have disk=slow, 2 have disk=other, 1 has disk=nvm."
    )


def test_names_of_nodes_are_not_listed() -> None:
    world = World([node(f"worker-{number}") for number in range(300)])
    assert explained(world, nodeSelector={"kubernetes.io/hostname": "other"}).sentence == (
        "Asks for nodes labelled kubernetes.io/hostname=other; no node has that label."
    )
    assert explained(world, nodeSelector={"kubernetes.io/hostname": "Worker-217"}).sentence == (
        "Asks for nodes labelled kubernetes.io/hostname=Worker-217; no node has that label. "
        "1 node has kubernetes.io/hostname=worker-217."
    )


def test_proposals_are_the_near_spelling_and_larger_groups() -> None:
    answer = explained(disks(), nodeSelector={"disktype": "nvme"})
    assert [(each.opens, each.change.text) for each in answer.proposals] == [
        (1, "ask for disk-type=nvme"),
        (3, "ask for disktype=ssd"),
    ]


def test_rare_labels_among_many_nodes_are_proposed() -> None:
    nodes = [node(f"n{number}", labels={"disktype": "ssd"}) for number in range(200)]
    world = World([*nodes[:77], node("d", labels={"disk-type": "nvme"}), *nodes[77:]])
    answer = explained(world, nodeSelector={"disktype": "nvme"})
    assert (answer.proposals[0].change.text, answer.proposals[0].best) == ("ask for disk-type=nvme", "d")


def test_the_smallest_pair_that_excludes_each_other() -> None:
    answer = explained(pools(), nodeSelector={"zone": "a", "pool": "gpu"})
    assert answer.sentence == "No node has both zone=a (1 node) and pool=gpu (1)."
    world = pools()
    world.put_node(node("d", labels={"zone": "c", "pool": "y", "disk": "ssd"}))
    answer = explained(world, nodeSelector={"zone": "b", "pool": "x", "disk": "ssd"})
    assert answer.sentence == "No node has both zone=b (2 nodes) and disk=ssd (1)."


def test_the_closest_node_meets_most_requirements() -> None:
    wanted = {"a": "1", "b": "1", "c": "1"}
    nodes = [node(f"n{number:02}", labels={"a": "1"}) for number in range(90)]
    world = World([*nodes, node("z", labels={"a": "1", "b": "1"})])
    answer = explained(world, nodeSelector=wanted)
    assert answer.because is not None
    assert (answer.because.best, answer.closest[0].node) == ("z", "z")
    assert answer.because.facts["counts"] == {"a=1": 91, "b=1": 1, "c=1": 0}


def test_three_that_exclude_each_other_only_together() -> None:
    labels = [{"a": "1", "b": "1"}, {"a": "1", "c": "1"}, {"b": "1", "c": "1"}]
    world = World([node(f"n{number}", labels=each) for number, each in enumerate(labels)])
    answer = explained(world, nodeSelector={"a": "1", "b": "1", "c": "1"})
    assert answer.sentence == "No node has all of a=1 (2 nodes), b=1 (2) and c=1 (2)."


def test_numbers() -> None:
    world = World([node("a", labels={"cores": "4"}), node("b", labels={"cores": "many"})])
    spec = wanting(expressions("cores", "Gt", "8"))
    assert explained(world, **spec).sentence == "Asks for nodes labelled cores>8; the highest value of 2 nodes is 4."
    world = World([node("a", labels={"cores": "4"}), node("b")])
    assert explained(world, **spec).sentence == ("Asks for nodes labelled cores>8; the only node with the label has 4.")
    world = World([node("b", labels={"cores": "many"})])
    assert explained(world, **spec).sentence == (
        "Asks for nodes labelled cores>8; no node has a whole number there. 1 node has cores=many."
    )


def test_a_bound_that_is_not_a_number() -> None:
    answer = explained(disks(), **wanting(expressions("cores", "Gt", "few")))
    assert answer.sentence == "Its node affinity matches no node."
    assert answer.more[0].startswith("A term of its node affinity matches no node: nodeSelectorTerms[0].")
    assert answer.more[0].endswith("the value must be an integer.")


def test_one_node_by_name_gets_the_sentence_of_that_node() -> None:
    answer = explained(pools(), **wanting(fields("a")), requests={"cpu": "7"})
    assert answer.sentence == "May use node a only, and asks for 7 CPU; the only node has 4."


def test_names_that_exclude_each_other() -> None:
    term = {"matchFields": [*fields("a")["matchFields"], *fields("b")["matchFields"]]}
    answer = explained(pools(), **wanting(term))
    assert answer.because is not None
    assert (answer.because.id, answer.verdict) == ("affinity.names", "never")
    assert answer.sentence == "Its terms name nodes that exclude each other."


def test_affinity_of_the_configuration() -> None:
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [expressions("pool", "In", "y")]}}
    world = World(
        [node("a", labels={"pool": "x"})], config=profile_config(args={"NodeAffinity": {"addedAffinity": added}})
    )
    found = refusal(world, "a")
    assert (found.id, found.lasting) == ("affinity.enforced", True)
    assert found.text == (
        "the configuration's addedAffinity wants pool=y; the node has pool=x; this is not the pod's rule"
    )
    assert [change.text for change in found.changes] == ["label a pool=y"]
    assert explained(world).sentence == (
        "The configuration's addedAffinity wants pool=y, which no node has; not the pod's rule."
    )


# The node's name, features
def test_a_node_name_without_node() -> None:
    answer = explained(World([node("worker-1"), node("worker-2")]), nodeName="worker-3")
    assert answer.because is not None
    assert answer.because.id == "node.name"
    assert answer.because.facts == {"name": "worker-3", "exists": False, "near": ["worker-1", "worker-2"]}
    assert answer.sentence == (
        "Names node worker-3 (spec.nodeName), and there is no such node; near names: worker-1 and worker-2."
    )
    assert (answer.verdict, [each.change.text for each in answer.proposals]) == ("never", ["no spec.nodeName"])


def test_a_node_name_against_the_selector() -> None:
    answer = explained(pools(), nodeName="a", nodeSelector={"pool": "gpu"})
    assert answer.sentence == "May use a only, and wants pool=gpu; the node has pool=x."
    assert answer.because is not None
    assert answer.because.id == "affinity.node"


def test_a_node_name_of_another_node() -> None:
    found = refusal(pools(), "a", "NodeName", nodeName="b")
    assert (found.id, found.text, found.lasting) == ("node.name", "the pod names node b (spec.nodeName)", True)


def test_a_feature_that_kubelets_do_not_declare() -> None:
    version = {"nodeInfo": {"kubeletVersion": "v1.34.2"}}
    world = World([node("a", status=version), node("b", status=version)])
    spec = {"hostNetwork": True, "hostUsers": False}
    found = refusal(world, "a", "NodeDeclaredFeatures", **spec)
    assert (found.id, found.lasting) == ("features.missing", True)
    assert found.text == (
        "needs a kubelet that declares UserNamespacesHostNetworkSupport; the node's (v1.34.2) does not"
    )
    assert found.facts == {"missing": ["UserNamespacesHostNetworkSupport"], "kubeletVersion": "v1.34.2"}
    assert explained(world, **spec).sentence == (
        "Needs a kubelet that declares UserNamespacesHostNetworkSupport, and no node does."
    )


def test_a_feature_that_is_out_of_order_in_the_list() -> None:
    world = World([node("a", status={"declaredFeatures": ["Z", "UserNamespacesHostNetworkSupport"]})])
    found = refusal(world, "a", "NodeDeclaredFeatures", hostNetwork=True, hostUsers=False)
    assert found.notes == (
        "UserNamespacesHostNetworkSupport is in the node's list, but out of order, and is not found there.",
    )


# Requirements and scores
def test_requirement_and_score() -> None:
    world = pools()
    preferred = [
        {"weight": 10, "preference": expressions("pool", "In", "x")},
        {"weight": 5, "preference": expressions("k", "Exists")},
    ]
    item = world.pod(pod("p", nodeSelector={"zone": "a"}, affinity=node_affinity(preferred=preferred)))
    plugin, info, other = world.plugin("NodeAffinity"), world.cluster.nodes.get("a"), world.cluster.nodes.get("b")
    found = plugin.requirement(CycleState(), item, other)
    assert (found.wanted, found.there) == ("zone=a", "zone=b")
    assert plugin.explain_score(CycleState(), item, info) == "prefers pool=x (10)"
    assert plugin.explain_score(CycleState(), item, other) == "none of 2 preferred terms"
    assert plugin.requirement(CycleState(), world.pod(pod("q")), info) is None
