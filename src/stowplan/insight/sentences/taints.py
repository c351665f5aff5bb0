"""Sentences about the state of nodes: TaintToleration and NodeUnschedulable."""

from __future__ import annotations

from stowplan.insight.sentences.dominating import Dominating, sentence_for


@sentence_for("taint.untolerated")
def untolerated(dominating: Dominating) -> str:
    count = dominating.nodes
    who = "The only node has" if count == 1 else f"All {count:,} nodes that are left have taints"
    taint = dominating.refusal.there
    if count == 1:
        return f"{who} the taint {taint}, which the pod does not tolerate."
    return f"{who} that the pod does not tolerate, such as {taint}."


@sentence_for("node.cordoned")
def cordoned(dominating: Dominating) -> str:
    count = dominating.nodes
    return (
        "The only node that would do is cordoned." if count == 1 else f"The {count:,} nodes that would do are cordoned."
    )


@sentence_for("taint.lifecycle")
def lifecycle(dominating: Dominating) -> str:
    count = dominating.nodes
    who = "The only node" if count == 1 else f"The {count:,} nodes that would do are not ready: {dominating.best.name}"
    return f"{who} {dominating.refusal.text}."
